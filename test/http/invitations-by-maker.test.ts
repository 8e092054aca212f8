import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { isRefused } from '#contract/outcome.js'
import { createServiceClient, ServiceError } from '#service/service.js'
import { openRoomsForCommand } from '../../src/commands/open-for-commands.js'
import { operatorClient } from '../../src/http/request-origin.js'
import { days, minutes } from '../../src/lib/durations.js'
import { newServiceKey } from '../../src/programs/service-keys.js'
import { readEmail } from '../../src/users/names.js'
import { idOf, signedUpInGroup } from '../support/administrators.js'
import type { Browser } from '../support/client.js'
import { createEmailChanges } from '../support/email-changes.js'
import { goodPassword, type Latchkey } from '../support/latchkey.js'
import { signInWith, startProviders, startService, type TestProviders } from '../support/providers/test-providers.js'
import { latchkey as run } from '../support/terminal.js'

const scopes = ['invitations', 'groups'] as const
const keys = {
  acme: newServiceKey('acme', { scopes }),
  birch: newServiceKey('birch', { scopes }),
  small: newServiceKey('small', { scopes: ['invitations'] }),
}
const secret = 'c6M0xkq2Vw9nYb4RtL8sHd3PzJ7gFa5EuN1oKi0WvTqXyBmCrGhSlDjZfUeApIxO'
const application = 'https://app.example.com'
const root = operatorClient('root')

let folder: string
let providers: TestProviders
let latchkey: Latchkey
let admin: Awaited<ReturnType<typeof signedUpInGroup>>
const clientOf = ({ key }: { key: string }) => createServiceClient({ url: latchkey.url, key }).invitations
let acme: ReturnType<typeof clientOf>
let birch: ReturnType<typeof clientOf>

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'latchkey-keys-'))
  await writeFile(join(folder, 'keys'), [keys.acme, keys.birch, keys.small].map(({ line }) => line).join('\n'))
  providers = await startProviders()
  latchkey = await startService(providers, {
    REGISTRATION: 'invited',
    JWT_SECRET: secret,
    SERVICE_KEYS_FILE: join(folder, 'keys'),
    ADMIN_GROUP: 'admins',
    ALLOWED_ORIGINS: application,
    PRODUCT_NAME: 'Meadow',
  })
  acme = clientOf(keys.acme)
  birch = clientOf(keys.birch)
  admin = await signedUpInGroup(latchkey, 'root1', 'admins')
  for (const name of ['acme', 'birch', 'staff']) await latchkey.app.rooms.groups.add(name, root)
})
afterAll(async () => {
  await latchkey?.stop()
  await providers?.close()
  await rm(folder, { recursive: true })
})

const command = (...args: string[]) =>
  run({ openRooms: (role) => openRoomsForCommand(latchkey.config, role) }, ['invite', ...args])
const administer = (method: string, body?: object) =>
  admin.tab.send(method, '/api/auth/admin/api/invitations', body, { csrf: true })
const emailOf = (address: string) => {
  const email = readEmail(address)
  if (isRefused(email)) throw new Error(`${address} is no address`)
  return email
}
/** As the command does, by the clock of the service. */
const inviteByCommand = async (address: string, groups: string[]) => {
  const made = await latchkey.app.rooms.invitations.invite(emailOf(address), root, { groups })
  if (isRefused(made)) throw new Error(`${address} was not invited: ${made.refused}`)
  return made.token
}
/** The error of a call of the package. */
const errorOf = async (call: Promise<unknown>) => {
  const error = await call.then(
    () => undefined,
    (thrown: unknown) => thrown,
  )
  if (!(error instanceof ServiceError)) throw new Error('The call was not refused')
  return error
}
const post = (key: { key: string }, body: object) =>
  latchkey
    .browser()
    .send('POST', '/api/service/invitations', body, { headers: { authorization: `Bearer ${key.key}`, origin: '' } })

/** Invites, and returns the newest mail with the token of its link. */
const mailed = async (address: string, invite: () => Promise<unknown>) => {
  const before = [...latchkey.mails()]
  await invite()
  const mail = await latchkey.mailTo(address, /invite#token=/, before)
  return { ...mail, token: /#token=([\w-]+)/.exec(mail.text)?.[1] ?? '' }
}
const check = async (token: string, tab = latchkey.browser()) =>
  (await tab.post('/api/auth/invite/check', { token })).body
const accept = (tab: Browser, token: string) => tab.act('/api/auth/invite/accept', { token })
const register = (username: string, invite: string, tab = latchkey.browser()) => {
  const body = { username, email: `${username}@example.com`, password: goodPassword, invite, signIn: true }
  return tab.post('/api/auth/register', body)
}
const groupsOf = async (username: string) => (await latchkey.app.rooms.users.findByLogin(username))?.groups
const openFor = async (email: string) =>
  (await acme.list()).filter((invitation) => invitation.email === email).map(({ madeBy }) => madeBy)

describe('two programs that invite one address', () => {
  it('have an invitation each, which its user accepts one after the other', async () => {
    const eve = 'eve@example.com'
    const first = await mailed(eve, () => acme.create({ email: eve, groups: ['acme'] }))
    const second = await mailed(eve, () => birch.create({ email: eve, groups: ['birch'] }))
    expect(await openFor(eve)).toEqual(['service key acme', 'service key birch'])

    const tab = latchkey.browser()
    expect((await register('eve', first.token, tab)).status).toBe(200)
    expect(await groupsOf('eve')).toEqual(['acme'])
    expect(await openFor(eve)).toEqual(['service key birch'])
    expect(await check(second.token, tab)).toMatchObject({ next: 'join', groups: ['birch'] })

    const other = latchkey.browser()
    await other.post('/login', { username: 'eve', password: goodPassword })
    expect((await accept(tab, second.token)).body).toEqual({ groups: ['birch'] })
    expect(await groupsOf('eve')).toEqual(['acme', 'birch'])
    // The tokens of every session have the groups after the next refresh, and those from before are refused.
    for (const session of [tab, other]) {
      expect((await session.get('/api/auth/verify?group=birch')).status).toBe(401)
      expect((await session.post('/api/auth/refresh')).status).toBe(200)
      expect((await session.get('/api/auth/verify?group=birch')).status).toBe(204)
    }
    const { events } = (await tab.get('/api/auth/events')).body as { events: { kind: string; reason: string }[] }
    // The two of one change are written together, so either may come first.
    const ofInvitations = events.filter(({ kind }) => /^(group|invitation)_/.test(kind))
    expect(ofInvitations.map(({ kind, reason }) => `${kind} ${reason}`).toSorted()).toEqual([
      'group_joined acme by service key acme',
      'group_joined birch by service key birch',
      'invitation_used null',
      'invitation_used null',
    ])
    for (const { token } of [first, second]) {
      expect((await accept(tab, token)).body.code).toBe('invalid_invitation')
      expect((await check(token, tab)).code).toBe('invalid_invitation')
    }
  })

  it('replace and withdraw only their own', async () => {
    const cy = 'cy@example.com'
    const first = await mailed(cy, () => acme.create({ email: cy, groups: ['acme'], invitedBy: 'Ada', returnTo: '/a' }))
    const other = await mailed(cy, () => birch.create({ email: cy, groups: ['birch'] }))
    const again = await mailed(cy, () => acme.create({ email: cy }))
    expect((await check(first.token)).code).toBe('invalid_invitation')
    // What the second request leaves out is as it was.
    expect(await check(again.token)).toMatchObject({ groups: ['acme'], invitedBy: 'Ada', returnTo: '/a' })
    expect(await check(other.token)).toMatchObject({ groups: ['birch'], invitedBy: null, returnTo: null })
    expect((await birch.list({ mine: true })).map(({ madeBy }) => madeBy)).toEqual(['service key birch'])

    await birch.delete('CY@example.com')
    expect(await openFor(cy)).toEqual(['service key acme'])
    expect((await errorOf(birch.delete(cy))).code).toBe('not_found')
    await acme.delete(cy)
  })

  it('share the five mails of a mailbox, and the sixth is told when to come back', async () => {
    const address = (tag: number) => `flood+${tag}@example.com`
    for (const tag of [1, 2]) await acme.create({ email: address(tag), groups: ['acme'] })
    for (const tag of [3, 4]) await birch.create({ email: address(tag), groups: ['birch'] })
    await latchkey.signedUp('flood', { email: 'flood@example.com' })
    await acme.create({ email: 'flood@example.com', groups: ['acme'] })
    const refused = await errorOf(birch.create({ email: 'flood@example.com', groups: ['birch'] }))
    expect([refused.code, refused.status]).toEqual(['too_many_mails', 409])
    const { retryAfter = 0 } = refused
    expect(retryAfter).toBeGreaterThan(86_300)
    expect(retryAfter).toBeLessThanOrEqual(86_400)
    const answer = await post(keys.birch, { email: 'flood@example.com', groups: ['birch'] })
    expect(answer.body).toMatchObject({ code: 'too_many_mails', retryAfter: Number(answer.headers.get('retry-after')) })
    expect(await openFor('flood@example.com')).toEqual(['service key acme'])

    await latchkey.sql.query(
      `update outgoing_mail set created_at = created_at - make_interval(secs => $1) where recipient = $2`,
      [retryAfter, address(1)],
    )
    expect((await birch.create({ email: 'flood@example.com', groups: ['birch'] })).groups).toEqual(['birch'])
  })

  it('are told about what nobody can send: a name that is no name, a page elsewhere, a property without a meaning', async () => {
    const email = 'fay@example.com'
    const messageOf = async (body: object) => {
      const { status, body: answered } = await post(keys.acme, { email, ...body })
      expect([status, answered.code]).toEqual([400, 'bad_request'])
      return String(answered.message)
    }
    for (const invitedBy of ['', ' Ada', 'Ada\n', 'a'.repeat(65), '<b>Ada</b>', 'A\u202eda', 'A\u200bda', 'A\u0007da'])
      expect(await messageOf({ invitedBy })).toContain('invitedBy must be one line of at most 64 characters')
    for (const returnTo of ['https://evil.example/', '//evil.example', '/\\evil.example', 'javascript:alert(1)', ''])
      expect(await messageOf({ returnTo })).toContain('returnTo must be a path of this site')
    expect(await messageOf({ invitedBy: 7 })).toContain('invitedBy must be a')
    expect(await messageOf({ invited_by: 'Ada' })).toMatch(/^invited_by is not known in the body/)
    expect(await messageOf({ __proto__x: 1 })).toMatch(/^__proto__x is not known in the body/)
    const withdrawal = await latchkey
      .browser()
      .send(
        'DELETE',
        '/api/service/invitations',
        { email, madeBy: 'service key birch' },
        { headers: { authorization: `Bearer ${keys.acme.key}`, origin: '' } },
      )
    expect(withdrawal.status).toBe(400)
    expect(withdrawal.body.message).toMatch(/^madeBy is not known in the body/)
    expect(await openFor(email)).toEqual([])
    const created = await acme.create({
      email,
      invitedBy: 'Zoë van “Acme” 東京',
      returnTo: `${application}/welcome?a=1`,
    })
    expect(created).toMatchObject({
      invitedBy: 'Zoë van “Acme” 東京',
      returnTo: `${application}/welcome?a=1`,
      groups: [],
    })
  })
})

describe('an account that is invited to groups', () => {
  it('gets a mail in its language that names the product and the inviter, and joins on its own request', async () => {
    const tab = await latchkey.signedUp('kim')
    await latchkey.sql.query("update users set language = 'de' where username = 'kim'")
    const kim = 'kim@example.com'
    // The program learns nothing: the answer is that for an address without an account.
    const wishes = { groups: ['acme', 'staff'], invitedBy: 'acme.example', returnTo: '/wiki' }
    const strangers = await acme.create({ email: 'nobody@example.com', ...wishes })
    let created: unknown
    const mail = await mailed(kim, async () => {
      created = await acme.create({ email: kim, ...wishes })
    })
    const moments = { createdAt: expect.any(String), expiresAt: expect.any(String) }
    expect(created).toEqual({ ...strangers, ...moments, email: kim })
    expect(mail.subject).toBe('Einladung in eine Gruppe bei Meadow')
    const plainText = mail.text.replaceAll('\u200b', '')
    expect(plainText).toContain(
      'acme.example lädt Sie ein, mit Ihrem Konto bei Meadow beizutreten (Gruppen: acme, staff).',
    )
    // Mail programs make no link of the name.
    expect(mail.text).not.toContain('acme.example')
    expect(await groupsOf('kim')).toEqual([])

    const asInvited = { email: kim, provesAddress: true, printed: false, ...wishes }
    expect(await check(mail.token, tab)).toEqual({ ...asInvited, next: 'join' })
    expect(await check(mail.token)).toEqual({ ...asInvited, next: 'sign_in' })
    const answer = await accept(tab, mail.token)
    expect([answer.status, answer.body]).toEqual([200, { groups: ['acme', 'staff'] }])
    expect(await groupsOf('kim')).toEqual(['acme', 'staff'])
    const joined = await latchkey.sql.query(
      "select 1 from events where kind = 'group_joined' and reason like 'acme,staff by%'",
    )
    expect(joined).toHaveLength(1)
    await acme.delete('nobody@example.com')
  })

  it('without groups has nothing to accept, and is refused', async () => {
    await latchkey.signedUp('lou')
    const refused = await errorOf(acme.create({ email: 'lou@example.com' }))
    expect([refused.status, refused.code]).toEqual([409, 'has_account'])
    expect((await errorOf(clientOf(keys.small).create({ email: 'lou@example.com' }))).code).toBe('has_account')
    expect((await administer('POST', { email: 'lou@example.com' })).body.code).toBe('has_account')
    expect(await command('lou@example.com')).toMatchObject({ code: 1, err: expect.stringContaining('--group') })
  })

  it('is the only one that joins: no other account, no link alone, no forged request, and one of twenty at once', async () => {
    const max = 'max@example.com'
    const tab = await latchkey.signedUp('max')
    const other = await latchkey.signedUp('mallory')
    const { token } = await mailed(max, () => acme.create({ email: max, groups: ['acme'] }))
    expect(await check(token, other)).toMatchObject({ next: 'sign_in', email: max })
    expect((await accept(other, token)).body.code).toBe('invalid_invitation')
    expect((await latchkey.browser().post('/api/auth/invite/accept', { token })).status).toBe(401)
    expect((await tab.post('/api/auth/invite/accept', { token })).body.code).toBe('invalid_csrf_token')
    for (const wrong of ['', 'nonsense', `${token}x`])
      expect((await accept(tab, wrong)).body.code).toBe('invalid_invitation')
    const left = tab.copy()
    await left.act('/api/auth/logout')
    expect(await check(token, tab)).toMatchObject({ next: 'sign_in' })

    const fresh = latchkey.browser()
    await fresh.post('/login', { username: 'max', password: goodPassword })
    await fresh.csrfToken()
    const answers = await Promise.all(Array.from({ length: 20 }, () => accept(fresh.copy(), token)))
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(1)
    const joined = await latchkey.sql.query(
      "select 1 from events where kind = 'group_joined' and user_id = (select id from users where username = 'max')",
    )
    expect(joined).toHaveLength(1)
  })

  it('may accept by the link of an operator, which says nothing about accounts, if its address is proven', async () => {
    const noa = 'noa@example.com'
    const tab = await latchkey.signedUp('noa')
    const prove = (proven: boolean) =>
      latchkey.sql.query("update users set email_proven = $1 where username = 'noa'", [proven])
    await prove(false)
    let printed = ''
    const { token } = await mailed(noa, async () => {
      printed = await inviteByCommand(noa, ['staff'])
    })
    for (const reader of [latchkey.browser(), tab])
      expect(await check(printed, reader)).toMatchObject({ next: 'register', provesAddress: false })
    expect((await accept(tab, printed)).body.code).toBe('invalid_invitation')
    // The link of the mail proves the address, as in a registration.
    expect(await check(token, tab)).toMatchObject({ next: 'join' })
    expect((await accept(tab, token)).status).toBe(200)
    expect((await latchkey.app.rooms.users.findByLogin('noa'))?.emailProven).toBe(true)

    await latchkey.app.rooms.groupChanges.change(
      { userId: await idOf(latchkey, 'noa'), client: root },
      { remove: ['staff'] },
    )
    await tab.post('/api/auth/refresh')
    printed = await inviteByCommand(noa, ['staff'])
    expect(await check(printed, tab)).toMatchObject({ next: 'join' })
    expect((await accept(tab, printed)).status).toBe(200)
    expect(await groupsOf('noa')).toEqual(['staff'])
  })

  it('is disabled: nothing joins', async () => {
    const oli = 'oli@example.com'
    const tab = await latchkey.signedUp('oli')
    const { token } = await mailed(oli, () => acme.create({ email: oli, groups: ['acme'] }))
    await latchkey.app.rooms.operatorChanges.disable({ userId: await idOf(latchkey, 'oli'), client: root })
    expect((await accept(tab, token)).status).toBe(401)
    expect(await groupsOf('oli')).toEqual([])
  })

  it('joins what still exists, and nothing that makes an administrator', async () => {
    const pia = 'pia@example.com'
    const tab = await latchkey.signedUp('pia')
    for (const name of ['renewed', 'gone']) await latchkey.app.rooms.groups.add(name, root)
    const some = await mailed(pia, () => acme.create({ email: pia, groups: ['staff', 'renewed', 'gone'] }))
    const none = await mailed(pia, () => birch.create({ email: pia, groups: ['gone'] }))
    for (const name of ['renewed', 'gone']) await latchkey.app.rooms.groups.remove(name, root)
    await latchkey.advance(1 * minutes)
    await tab.post('/api/auth/refresh')
    await latchkey.app.rooms.groups.add('renewed', root)
    expect(await check(some.token, tab)).toMatchObject({ groups: ['staff'], next: 'join' })
    expect(await check(none.token, tab)).toMatchObject({ groups: [], next: 'nothing' })
    expect((await accept(tab, none.token)).body.code).toBe('invalid_invitation')
    // A group that a setting names only since then.
    await latchkey.sql.query("update invitations set groups = '{admins,staff}' where email_key = $1 and made_by = $2", [
      pia,
      'service key acme',
    ])
    expect((await accept(tab, some.token)).body).toEqual({ groups: ['staff'] })
    expect(await groupsOf('pia')).toEqual(['staff'])
  })

  it('in too many groups is told whether it is their number or their length, and can accept later', async () => {
    const { groups, groupChanges } = latchkey.app.rooms
    const prefixes = { many: 'g', long: 'long-group-'.padEnd(28, 'x') }
    const namesOf = (prefix: string) => Array.from({ length: 16 }, (_, index) => `${prefix}${index}`)
    for (const name of Object.values(prefixes).flatMap(namesOf)) await groups.add(name, root)
    const email = (name: string) => `${name}@${'d'.repeat(60)}.${'e'.repeat(60)}.${'f'.repeat(50)}.example.com`
    const full = {
      many: { username: 'qui', email: 'qui@example.com', message: 'A user can be in at most 16 groups' },
      long: {
        username: '漢'.repeat(64),
        email: email('qua'),
        message:
          'With this, the access tokens of the account would be too long. Fewer groups, or groups with shorter names, would fit.',
      },
    }
    for (const kind of ['many', 'long'] as const) {
      const { username, email: address, message } = full[kind]
      const tab = await latchkey.signedUp(username, { email: address })
      const context = { userId: await idOf(latchkey, username), client: root }
      // As many as fit.
      for (const name of namesOf(prefixes[kind])) await groupChanges.change(context, { add: [name] })
      const last = kind === 'many' ? 'acme' : `${prefixes.long}15`
      const { token } = await mailed(address, () => acme.create({ email: address, groups: [last] }))
      await tab.post('/api/auth/refresh')
      const refused = await accept(tab, token)
      expect([refused.status, refused.body.code, refused.body.message]).toEqual([409, 'too_many_groups', message])
      await groupChanges.change(context, { remove: [`${prefixes[kind]}0`] })
      await tab.post('/api/auth/refresh')
      expect((await accept(tab, token)).body).toEqual({ groups: [last] })
    }
    const promised = await acme.create({ email: 'x@example.com', groups: namesOf('g') })
    expect(promised.groups).toHaveLength(16)
    await acme.delete('x@example.com')
  })

  it('keeps the invitation when it takes the invited address later', async () => {
    const changes = createEmailChanges(latchkey)
    const tab = await latchkey.signedUp('rae')
    const work = 'rae@work.example.com'
    const invited = await mailed(work, () => acme.create({ email: work, groups: ['acme'] }))
    await mailed(work, () => clientOf(keys.small).create({ email: work }))
    await changes.change(tab, work)
    // The one that only opens the gate is of no use any more.
    expect(await openFor(work)).toEqual(['service key acme'])
    expect((await accept(tab, invited.token)).body).toEqual({ groups: ['acme'] })
  })
})

describe('a new account', () => {
  it('without a link joins the groups of every open invitation, as far as they fit', async () => {
    const sam = 'sam@example.com'
    const names = Array.from({ length: 15 }, (_, index) => `h${index}`)
    for (const name of names) await latchkey.app.rooms.groups.add(name, root)
    await acme.create({ email: sam, groups: ['acme', 'staff'] })
    await latchkey.advance(1 * minutes)
    const tooMany = await mailed(sam, () => birch.create({ email: sam, groups: names }))
    await latchkey.advance(1 * minutes)
    await inviteByCommand(sam, ['birch'])
    providers.issuer.become({ sub: 'subject-sam', email: sam, name: 'Sam' })
    const tab = latchkey.browser()
    expect((await signInWith(tab, 'provider-a')).location).toBe('/dashboard')
    const { username } = ((await tab.get('/api/auth/me')).body.user ?? {}) as { username: string }
    expect(await groupsOf(username)).toEqual(['acme', 'birch', 'staff'])
    expect(await openFor(sam)).toEqual(['service key birch'])
    expect(await check(tooMany.token, tab)).toMatchObject({ next: 'join' })
    expect((await accept(tab, tooMany.token)).body.code).toBe('too_many_groups')
  })

  it('is deleted, and every invitation of its address goes with it', async () => {
    const tia = 'tia@example.com'
    const tab = await latchkey.signedUp('tia')
    await acme.create({ email: tia, groups: ['acme'], invitedBy: 'Ada' })
    await inviteByCommand(tia, ['staff'])
    const exported = (await tab.get('/api/auth/export')).body as { invitations: object[] }
    expect(exported.invitations).toMatchObject([
      { email: tia, groups: ['acme'], invitedBy: 'Ada' },
      { email: tia, groups: ['staff'], invitedBy: null },
    ])
    await latchkey.app.rooms.operatorChanges.remove({ userId: await idOf(latchkey, 'tia'), client: root })
    expect(await latchkey.sql.query('select 1 from invitations where email_key = $1', [tia])).toEqual([])
  })
})

describe('an administrator and the command line', () => {
  it('invite beside the programs, each withdraws what it names, and the name of the administrator goes with the account', async () => {
    const uma = 'uma@example.com'
    await admin.tab.send('PATCH', '/api/auth/account', { name: 'Ruth Root' }, { csrf: true })
    await mailed(uma, () => acme.create({ email: uma, groups: ['acme'] }))
    const sent = await mailed(uma, () => administer('POST', { email: uma, groups: ['staff'], returnTo: '/wiki' }))
    expect(sent.text).toContain('Ruth Root has invited you to create an account at Meadow.')
    const made = await command(uma, '--invited-by', 'The operator', '--return-to', `${application}/`, '--json')
    expect(JSON.parse(made.out)).toMatchObject({ invitedBy: 'The operator', returnTo: `${application}/`, groups: [] })
    const listed = async () =>
      (await acme.list())
        .filter(({ email }) => email === uma)
        .map(({ madeBy, invitedBy, returnTo }) => [madeBy, invitedBy, returnTo])
        .sort()
    expect(await listed()).toEqual([
      ['administrator', 'Ruth Root', '/wiki'],
      ['command line', 'The operator', `${application}/`],
      ['service key acme', null, null],
    ])
    expect((await command('--list')).out).toMatch(/uma@example\.com .* staff +administrator +Ruth Root +\/wiki\n/)

    // Another administrator goes on with what the first has begun, and that account is deleted.
    const second = await signedUpInGroup(latchkey, 'root2', 'admins')
    const again = await second.tab.send('POST', '/api/auth/admin/api/invitations', { email: uma }, { csrf: true })
    expect(again.body).toMatchObject({ groups: ['staff'], invitedBy: null, returnTo: '/wiki', madeBy: 'administrator' })
    await second.tab.send('PATCH', '/api/auth/account', { name: 'Sid Second' }, { csrf: true })
    expect((await listed())[0]).toEqual(['administrator', 'Sid Second', '/wiki'])
    await latchkey.app.rooms.operatorChanges.remove({ userId: second.id, client: root })
    expect((await listed())[0]).toEqual(['administrator', null, '/wiki'])

    expect((await administer('DELETE', { email: uma, madeBy: 'service key acme' })).status).toBe(204)
    expect((await command('--revoke', uma, '--made-by', 'service key acme')).code).toBe(1)
    expect((await listed()).map(([madeBy]) => madeBy)).toEqual(['administrator', 'command line'])
    expect(await command('--revoke', uma)).toMatchObject({ code: 0, out: `Withdrew 2 invitations of ${uma}.\n` })
    const reasons = await latchkey.sql.query(
      "select reason from events where kind = 'invitation_revoked' and reason is not null order by reason",
    )
    expect(reasons).toEqual([{ reason: 'administrator' }, { reason: 'service key acme' }])
  })

  it('of a name and a page that cannot be say why', async () => {
    const wrong = {
      '--invited-by=<b>': '--invited-by must be',
      '--return-to=https://evil.example': '--return-to must be',
    }
    for (const [option, sentence] of Object.entries(wrong))
      expect(await command('vic@example.com', option)).toMatchObject({
        code: 1,
        err: expect.stringContaining(sentence),
      })
    expect((await command('--list', '--made-by', 'administrator')).code).toBe(2)
    const elsewhere = await administer('POST', { email: 'vic@example.com', returnTo: 'https://evil.example' })
    expect([elsewhere.status, elsewhere.body.code]).toEqual([400, 'bad_request'])
  })

  it('have invitations that end after seven days, also for an account', async () => {
    const wim = 'wim@example.com'
    const tab = await latchkey.signedUp('wim')
    const { token } = await mailed(wim, () => inviteByCommand(wim, ['staff']))
    await latchkey.advance(7 * days)
    await tab.post('/api/auth/refresh')
    expect((await accept(tab, token)).body.code).toBe('invalid_invitation')
  })
})

import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { type AdminUserDetails, adminPath } from '#contract/admin/admin-bodies.js'
import { securityEventKinds } from '#contract/events.js'
import { serviceScopes } from '#contract/service.js'
import { accountChangeTable, type ChangeKind, consequencesOf } from '../../src/account-changes/account-change-table.js'
import type { DatabaseRole } from '../../src/commands/command.js'
import { outsideChecks } from '../../src/commands/doctor/outside.js'
import { openRoomsForCommand } from '../../src/commands/open-for-commands.js'
import { operatorClient } from '../../src/http/request-origin.js'
import { hours, minutes } from '../../src/lib/durations.js'
import { newServiceKey } from '../../src/programs/service-keys.js'
import { startApp } from '../../src/service/open-service.js'
import { idOf, signedUpInGroup } from '../support/administrators.js'
import { addAuthenticator, createAuthenticator } from '../support/authenticator.js'
import { type Answer, type Browser, createBrowser } from '../support/client.js'
import { goodPassword, type Latchkey, sharedParts } from '../support/latchkey.js'
import {
  signInWith,
  startProviders,
  startService,
  type TestProviders,
  usersOf,
} from '../support/providers/test-providers.js'
import { addUser } from '../support/sign-up-directly.js'
import { latchkey as run } from '../support/terminal.js'

const jwtSecret = 'c6M0xkq2Vw9nYb4RtL8sHd3PzJ7gFa5EuN1oKi0WvTqXyBmCrGhSlDjZfUeApIxO'
const otherPassword = 'zither-Lagoon-84-crumpet'
const mailIsOff = { code: 'mail_is_off', error: 'Mail is off', message: expect.any(String) }
const key = newServiceKey('hr', { scopes: serviceScopes })

let folder: string
let providers: TestProviders
let latchkey: Latchkey
/** The same service a year later, with a mail server. */
let withMail: Awaited<ReturnType<typeof startApp>>

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'latchkey-keys-'))
  await writeFile(join(folder, 'keys'), key.line)
  providers = await startProviders()
  const settings = {
    JWT_SECRET: jwtSecret,
    ADMIN_GROUP: 'admins',
    SERVICE_KEYS_FILE: join(folder, 'keys'),
    SUPPORT_URL: 'mailto:help@example.com',
  }
  latchkey = await startService(providers, settings, { mailIsOff: true })
  const { clock, config, app } = latchkey
  const options = { clock, log: app.log, onFatal: () => undefined, ...(await sharedParts()) }
  const later = { ...config, port: 0, mailIsOff: false, registration: 'open' as const, mailSignIn: 'on' as const }
  withMail = await startApp(later, options)
})
afterAll(async () => {
  await withMail.close()
  await latchkey.stop()
  await providers.close()
  await rm(folder, { recursive: true, force: true })
})

const command = (...args: string[]) =>
  run({ openRooms: (role: DatabaseRole) => openRoomsForCommand(latchkey.config, role) }, args)
/** The link that the command prints, and nothing else. */
const printed = async (page: string, ...args: string[]) => {
  const { code, out, err } = await command(...args)
  expect([code, err]).toEqual([0, ''])
  expect(out).toMatch(new RegExp(`^${latchkey.url}/${page}#token=[\\w-]+\\n$`))
  return out.trim().split('#token=')[1] ?? ''
}
const printedInvitation = (...args: string[]) => printed('invite', 'invite', ...args, '--print')
const printedReset = (username: string) => printed('reset-password', 'user', 'reset-link', username)

const register = (invite: string, username: string, email = `${username}@example.com`, tab = latchkey.browser()) =>
  tab.post('/api/auth/register', { username, email, password: goodPassword, invite })
/** A user who has registered with a printed invitation. */
const invited = async (username: string) => {
  const tab = latchkey.browser()
  const { status } = await register(await printedInvitation(`${username}@example.com`), username, undefined, tab)
  expect(status).toBe(201)
  return tab
}
const added = (username: string) =>
  addUser(latchkey.app, { username, email: `${username}@example.com`, password: goodPassword })
const login = (username: string, password = goodPassword, tab = latchkey.browser()) =>
  tab.post('/login', { username, password })
const accountOf = async (tab: Browser) => (await tab.get('/api/auth/account')).body.user as Record<string, unknown>
const eventsNamed = (kind: string) =>
  latchkey.sql.query<{ user_agent: string; reason: string | null; ip: string }>(
    'select user_agent, reason, ip from events where kind = $1 order by id',
    [kind],
  )

/** Nothing in this file may leave one behind, whoever asked for it. */
afterEach(async () => {
  const queued = await latchkey.sql.query(
    "select kind from outgoing_mail where kind <> all('{reset-password,confirm-email}')",
  )
  expect(queued).toEqual([])
})

const seenIn = ({ status, body, setCookies }: Answer) => ({ status, body, setCookies })

describe('what needs a mailbox', () => {
  it('is refused alike for every account, whether it exists or not, before anything is counted', async () => {
    await added('known')
    const disabled = await added('disabled')
    await latchkey.app.rooms.operatorChanges.disable({ userId: disabled.id, client: operatorClient('root') })
    for (const path of ['/reset-password', '/api/auth/reset-password', '/api/auth/mail-login']) {
      const answers = []
      for (const email of ['known@example.com', 'nobody@example.com', 'disabled@example.com', 'known', 'no address'])
        answers.push(await latchkey.browser().post(path, { email }))
      for (const answer of answers) {
        expect(seenIn(answer), path).toEqual({ status: 403, body: mailIsOff, setCookies: [] })
        expect(answer.text).toBe(answers[0]?.text)
        expect([...answer.headers.keys()]).toEqual([...(answers[0]?.headers.keys() ?? [])])
        expect(answer.headers.get('ratelimit-limit')).toBeNull()
      }
    }
  })

  it('has nothing behind it: what would follow after the mail does not exist', async () => {
    for (const path of ['mail-login/confirm', 'mail-login/check', 'mail-login/registration', 'second-factor/password'])
      expect((await latchkey.browser().post(`/api/auth/${path}`, {})).status, path).toBe(404)
  })

  it('is refused alike for those who are signed in, and who are not', async () => {
    const known = await latchkey.signedUp('kim')
    for (const path of ['/api/auth/email', '/api/auth/step-up/mail', '/api/auth/second-factor/mail'])
      for (const tab of [known, latchkey.browser()]) {
        const answer = await tab.act(path, { email: 'kim@example.org' })
        expect(seenIn(answer), path).toEqual({ status: 403, body: mailIsOff, setCookies: [] })
      }
    expect((await latchkey.browser().post('/api/auth/verify-email/resend')).body).toEqual(mailIsOff)
  })

  it('nobody registers without an invitation', async () => {
    const person = { username: 'new', email: 'new@example.com', password: goodPassword }
    const answer = await latchkey.browser().post('/api/auth/register', person)
    expect([answer.status, answer.body.code]).toEqual([403, 'registration_closed'])
  })

  it('the pages say so, and whom to ask', async () => {
    const page = (await latchkey.browser().get('/forgot-password')).text
    expect(page).toContain('Ask your administrator for a link to choose a new password')
    expect(page).toContain('help@example.com')
    expect(page).not.toContain('<input')
    expect((await latchkey.browser().get('/login')).text).not.toContain('href="/register"')
  })

  it('doctor warns', async () => {
    const [mail] = outsideChecks(latchkey.config).checks
    expect(await mail?.run()).toEqual({ level: 'warning', says: expect.stringContaining('mail is off') })
  })
})

describe('a printed link to choose a password', () => {
  it('works once, for 24 hours, proves no address, and its event has the operator', async () => {
    const user = await added('ada')
    await latchkey.sql.query('update users set email_proven = false where id = $1', [user.id])
    const first = await printedReset('ada')
    const token = await printedReset('ada')
    const confirm = (link: string) =>
      latchkey
        .browser()
        .post('/api/auth/reset-password/confirm', { token: link, password: otherPassword, signIn: true })
    expect((await confirm(first)).body.code).toBe('invalid_link')
    expect((await latchkey.browser().post('/api/auth/reset-password/check', { token })).body).toEqual({
      username: 'ada',
    })
    const [{ left } = { left: 0 }] = await latchkey.sql.query<{ left: number }>(
      "select extract(epoch from expires_at - now())::int as left from one_time_tokens where purpose = 'printed_reset'",
    )
    expect(left).toBeGreaterThan(24 * 3600 - 60)
    expect(left).toBeLessThanOrEqual(24 * 3600)
    const done = await confirm(token)
    expect([done.status, (done.body.user as { username: string }).username]).toEqual([200, 'ada'])
    expect((await confirm(token)).body.code).toBe('invalid_link')
    expect(await latchkey.sql.query('select email_proven, email_claimed from users where id = $1', [user.id])).toEqual([
      { email_proven: false, email_claimed: false },
    ])
    expect(await eventsNamed('reset_link_printed')).toMatchObject([{ ip: 'command line' }, { ip: 'command line' }])

    const late = await printedReset('ada')
    await latchkey.sql.query("update one_time_tokens set expires_at = now() where purpose = 'printed_reset'")
    expect((await confirm(late)).body.code).toBe('invalid_link')
  })

  it('leaves a proven address proven, is not replaced by a stranger, and ends with a change of the password', async () => {
    await added('ben')
    const token = await printedReset('ben')
    const asked = await createBrowser(`http://localhost:${withMail.config.port}`).post(
      '/reset-password',
      { email: 'ben' },
      { headers: { origin: latchkey.url } },
    )
    expect(asked.status).toBe(202)
    const confirmed = await latchkey
      .browser()
      .post('/api/auth/reset-password/confirm', { token, password: otherPassword })
    expect(confirmed.status).toBe(204)
    expect(await latchkey.sql.query("select email_proven from users where username = 'ben'")).toEqual([
      { email_proven: true },
    ])
    const waiting = await printedReset('ben')
    const tab = latchkey.browser()
    await login('ben', otherPassword, tab)
    await tab.act('/api/auth/change-password', { currentPassword: otherPassword, newPassword: goodPassword })
    expect((await tab.post('/api/auth/reset-password/check', { token: waiting })).body.code).toBe('invalid_link')
  })

  it('is refused with a sentence for a disabled account and for one whose owner is in doubt', async () => {
    const user = await added('cam')
    const actor = { userId: user.id, client: operatorClient('root') }
    await latchkey.app.rooms.operatorChanges.disable(actor)
    expect(await command('user', 'reset-link', 'cam')).toMatchObject({ code: 1, out: '', err: /Enable the account/ })
    await latchkey.app.rooms.operatorChanges.enable(actor)
    await latchkey.sql.query('update users set password_hash = null, password_distrusted = true where id = $1', [
      user.id,
    ])
    expect(await command('user', 'reset-link', 'cam')).toMatchObject({ code: 1, out: '', err: /user set-email/ })
    expect(await command('user', 'reset-link', 'nobody')).toMatchObject({ code: 1, out: '' })
  })
})

describe('a printed invitation', () => {
  it('makes the account at once, signed in, with an address that stays unproven', async () => {
    const token = await printedInvitation('Dan@example.com')
    const shown = (await latchkey.browser().post('/api/auth/invite/check', { token })).body
    expect(shown).toMatchObject({ provesAddress: false, printed: true, next: 'register' })
    const tab = latchkey.browser()
    const answer = await register(token, 'dan', 'dan@example.com', tab)
    expect([answer.status, answer.body]).toEqual([
      201,
      { user: expect.objectContaining({ username: 'dan' }), accessTokenExpiresAt: expect.any(String) },
    ])
    expect((await tab.get('/api/auth/me')).status).toBe(200)
    expect(await accountOf(tab)).toMatchObject({ email: 'dan@example.com', emailProven: false })
    expect((await eventsNamed('user_invited')).at(-1)).toMatchObject({ reason: 'printed', ip: 'command line' })
    expect((await register(token, 'dan2', 'dan@example.com')).body.code).toBe('invalid_invitation')
  })

  it('is used once by twenty at once, is for its address only, and expires after 24 hours', async () => {
    const token = await printedInvitation('eve@example.com')
    expect((await register(token, 'eve', 'mallory@example.com')).body.code).toBe('invalid_invitation')
    const tries = await Promise.all(
      Array.from({ length: 20 }, (_, index) => register(token, `eve${index}`, 'eve@example.com')),
    )
    expect(tries.map(({ status }) => status).sort()).toEqual([201, ...Array(19).fill(403)])
    const late = await printedInvitation('fay@example.com')
    const row = "where email = 'fay@example.com'"
    expect(
      await latchkey.sql.query(
        `select extract(epoch from expires_at - created_at)::int as lifetime from invitations ${row}`,
      ),
    ).toEqual([{ lifetime: 24 * 3600 }])
    await latchkey.sql.query(`update invitations set expires_at = now() ${row}`)
    expect((await register(late, 'fay')).body.code).toBe('invalid_invitation')
  })

  it('gives its groups, and only to a new account or one with a proven address', async () => {
    await latchkey.app.rooms.groups.add('wiki', operatorClient('root'))
    const tab = latchkey.browser()
    await register(await printedInvitation('gil@example.com', '--group', 'wiki'), 'gil', undefined, tab)
    expect(await accountOf(tab)).toMatchObject({ groups: ['wiki'] })
    expect(await command('invite', 'gil@example.com', '--print')).toMatchObject({ code: 1, out: '' })
    expect(await command('invite', 'gil@example.com', '--group', 'wiki', '--print')).toMatchObject({
      code: 1,
      err: expect.stringContaining('never proven'),
    })
    const hal = await latchkey.signedUp('hal')
    const token = await printedInvitation('hal@example.com', '--group', 'wiki')
    expect((await hal.act('/api/auth/invite/accept', { token })).body).toEqual({ groups: ['wiki'] })
  })

  it('is the only kind that the command makes here, and a link from the time with mail says that mail is off', async () => {
    expect(await command('invite', 'ida@example.com')).toMatchObject({ code: 1, out: '', err: /--print/ })
    expect(await command('invite', 'ida@example.com', '--print', '--language', 'de')).toMatchObject({ code: 2 })
    const { rooms } = withMail
    const email = { email: 'ida@example.com', key: 'ida@example.com' }
    const made = await rooms.invitations.invite(email, operatorClient('root'))
    if ('refused' in made) throw new Error(made.refused)
    expect((await register(made.token, 'ida')).body.code).toBe('mail_is_off')
    await latchkey.sql.query('delete from outgoing_mail')
  })
})

describe('an address that was never proven', () => {
  it('does not link the identity of a provider that has it', async () => {
    const tab = await invited('jo')
    providers.issuer.become({ sub: 'jo-there', email: 'jo@example.com', email_verified: true })
    const refused = await signInWith(latchkey.browser(), 'provider-a')
    expect(refused.location).toBe('/login?error=provider_a_auth_failed')
    expect(await usersOf(latchkey)).toContainEqual(expect.objectContaining({ username: 'jo', provider_a_id: null }))
    expect((await tab.get('/api/auth/me')).status).toBe(200)
  })

  it('gets no reset and no mail to sign in once there is mail, until its owner has proven it', async () => {
    const tab = await invited('lea')
    await added('max')
    const later = (jar?: Browser['jar']) => createBrowser(`http://localhost:${withMail.config.port}`, jar)
    const headers = { origin: latchkey.url }
    const mailbox = () => withMail.platform.mailbox?.mails() ?? []
    for (const [path, email] of [
      ['/reset-password', 'lea'],
      ['/api/auth/mail-login', 'lea@example.com'],
      ['/reset-password', 'max'],
    ] as const)
      expect((await later().post(path, { email }, { headers })).status).toBe(202)
    await expect.poll(() => mailbox().map(({ to }) => to)).toContain('max@example.com')
    expect(mailbox().filter(({ to, text }) => to === 'lea@example.com' && text.includes('#'))).toEqual([])
    const userId = await idOf(latchkey, 'lea')
    const sent = await withMail.rooms.resetLinks.sendByOperator({ userId, client: operatorClient('root') })
    expect(sent).toMatchObject({ refused: 'address_not_proven' })

    const browser = later(tab.jar)
    const csrf = await browser.csrfToken()
    const asked = await browser.post(
      '/api/auth/email',
      { email: 'Lea@example.com' },
      { headers: { ...headers, 'x-csrf-token': csrf } },
    )
    expect(asked.status).toBe(202)
    const codeMail = () =>
      mailbox().find(({ to, text }) => to === 'lea@example.com' && /^\s*[A-Z2-9]{4}-[A-Z2-9]{4}\s*$/m.test(text))
    await expect.poll(codeMail).toBeDefined()
    const code = /^\s*([A-Z2-9]{4}-[A-Z2-9]{4})\s*$/m.exec(codeMail()?.text ?? '')?.[1]
    const proven = await browser.post(
      '/api/auth/email/code',
      { code },
      { headers: { ...headers, 'x-csrf-token': csrf } },
    )
    expect(proven.status).toBe(204)
    expect(await accountOf(tab)).toMatchObject({ email: 'lea@example.com', emailProven: true })
    expect(await eventsNamed('email_proven')).toHaveLength(1)
    await later().post('/reset-password', { email: 'lea' }, { headers })
    await expect
      .poll(() => mailbox().some(({ to, text }) => to === 'lea@example.com' && text.includes('/reset-password#')))
      .toBe(true)
    await latchkey.sql.query('delete from outgoing_mail')
  })

  it('is mailed no change and no link to undo one, so its reader gets nothing from a new address of the account', async () => {
    const tab = await invited('mo')
    const later = createBrowser(`http://localhost:${withMail.config.port}`, tab.jar)
    const act = async (path: string, body: object) => {
      const headers = { origin: latchkey.url, 'x-csrf-token': await later.csrfToken() }
      return later.post(path, body, { headers })
    }
    const changed = await act('/api/auth/change-password', {
      currentPassword: goodPassword,
      newPassword: otherPassword,
    })
    expect(changed.status).toBe(204)
    expect((await act('/api/auth/email', { email: 'mo@example.org' })).status).toBe(202)
    const mailbox = () => withMail.platform.mailbox?.mails() ?? []
    const codeMail = () => mailbox().find(({ to }) => to === 'mo@example.org')
    await expect.poll(codeMail).toBeDefined()
    const code = /^\s*([A-Z2-9]{4}-[A-Z2-9]{4})\s*$/m.exec(codeMail()?.text ?? '')?.[1]
    expect((await act('/api/auth/email/code', { code })).status).toBe(204)
    const userId = await idOf(latchkey, 'mo')
    expect(await latchkey.sql.query('select kind from undos where user_id = $1', [userId])).toEqual([])
    expect(await latchkey.sql.query('select email, email_proven from users where id = $1', [userId])).toEqual([
      { email: 'mo@example.org', email_proven: true },
    ])
    await login('mo', otherPassword)
    const { events } = (await tab.get('/api/auth/events?security=true')).body as { events: { kind: string }[] }
    expect(events.map(({ kind }) => kind)).toEqual(expect.arrayContaining(['password_changed', 'email_changed']))
    expect(mailbox().filter(({ to }) => to === 'mo@example.com')).toEqual([])
    await latchkey.sql.query('delete from outgoing_mail')
  })

  it('is vouched for by an operator who names it again', async () => {
    await invited('ned')
    const { recoverAccount } = latchkey.app.rooms
    const email = { email: 'ned@example.com', key: 'ned@example.com' }
    await recoverAccount({ userId: await idOf(latchkey, 'ned'), email, operator: operatorClient('root') })
    expect(await latchkey.app.rooms.users.findByLogin('ned')).toMatchObject({ emailClaimed: false, emailProven: false })
  })
})

describe('changes of an account', () => {
  it('mail nobody and leave no link to undo them; the account page lists them, and sign-ins in new browsers', async () => {
    const tab = await latchkey.signedUp('oda')
    await tab.act('/api/auth/change-password', { currentPassword: goodPassword, newPassword: otherPassword })
    await addAuthenticator(tab, latchkey)
    expect(
      await latchkey.sql.query('select kind from undos where user_id = $1', [await idOf(latchkey, 'oda')]),
    ).toEqual([])
    const { events } = (await tab.get('/api/auth/events?security=true')).body as { events: { kind: string }[] }
    expect(events.map(({ kind }) => kind)).toEqual(['totp_added', 'password_changed'])

    await latchkey.signedUp('pam')
    const stranger = latchkey.browser()
    await login('pam', goodPassword, stranger)
    const seen = (await stranger.get('/api/auth/events?security=true')).body as { events: { kind: string }[] }
    expect(seen.events.map(({ kind }) => kind)).toEqual(['new_device'])
    const all = (await stranger.get('/api/auth/events')).body as { events: { kind: string }[] }
    expect(all.events.map(({ kind }) => kind)).toContain('signed_in')
  })

  it('are on that list if a mail would tell of them, and the list has nothing else but wrong codes and printed links', () => {
    const insteadOfMails = {
      new_device: 'new_device',
      new_program: 'new_device',
      device_trusted: 'device_trusted',
      sign_in_unfinished: 'sign_in_unfinished',
      // The event is recorded for each refused proof, at most once a minute.
      device_proofs_refused: 'device_proof_refused',
    }
    const noEvent = ['wrong_codes', 'email_withdrawn', 'account_deleted', 'user_deleted']
    const mailed = (Object.keys(accountChangeTable) as ChangeKind[]).filter(
      (kind) => consequencesOf(kind).mail !== null,
    )
    const kinds = mailed.flatMap((kind) =>
      noEvent.includes(kind) ? [] : [consequencesOf(kind).event ?? insteadOfMails[kind as keyof typeof insteadOfMails]],
    )
    expect([...new Set([...kinds, 'second_factor_failed', 'reset_link_printed'])].sort()).toEqual(
      [...securityEventKinds].sort(),
    )
  })

  it('by operators work: another address, an end of the factors, an account given back after a lock-down', async () => {
    const user = await added('quin')
    const set = await command('user', 'set-email', 'quin', 'quin@example.org', '--yes')
    expect(set).toMatchObject({ code: 0, out: expect.not.stringContaining('mail to') })
    expect((await command('user', 'lock-down', 'quin')).code).toBe(0)
    const enabled = await command('user', 'enable', 'quin')
    expect(enabled).toMatchObject({ code: 0, out: expect.stringContaining('latchkey user reset-link quin') })
    const token = await printedReset('quin')
    const confirmed = await latchkey
      .browser()
      .post('/api/auth/reset-password/confirm', { token, password: otherPassword })
    expect(confirmed.status).toBe(204)
    expect((await login('quin', otherPassword)).status).toBe(200)
    expect((await command('user', 'expire-password', 'quin', '--yes')).out).toContain('latchkey user reset-link quin')
    expect(await latchkey.sql.query('select 1 from undos where user_id = $1', [user.id])).toEqual([])
    const recovered = await command('user', 'recover', 'quin', 'quin@example.net', '--yes')
    expect(recovered).toMatchObject({ code: 0, out: expect.stringContaining('latchkey user reset-link quin') })
    expect(await command('user', 'send-reset', 'quin')).toMatchObject({ code: 1, err: /reset-link/ })
  })
})

describe('administrators and programs', () => {
  it('are told that mail is off when they invite or mail a link, and can lock down and enable', async () => {
    const root = await signedUpInGroup(latchkey, 'root1', 'admins')
    const send = (path: string, body: object) => root.tab.send('POST', `${adminPath}${path}`, body, { csrf: true })
    expect((await send('/invitations', { email: 'rex@example.com' })).body).toEqual(mailIsOff)
    const { id } = await added('rex')
    const act = (action: string) => send(`/users/${id}/${action}`, { reason: 'asked by phone' })
    expect((await act('send-reset')).body).toEqual(mailIsOff)
    expect((await act('lock-down')).status).toBe(204)
    const details = async () => (await root.tab.get(`${adminPath}/users/${id}`)).body as AdminUserDetails
    expect(await details()).toMatchObject({ enablingSendsReset: false, enablingNeedsLink: true })
    expect((await act('enable')).status).toBe(204)
    expect((await details()).why).toMatchObject([{ code: 'no_password', solvedBy: null, message: /reset-link/ }])

    const invitation = await fetch(`${latchkey.url}/api/service/invitations`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key.key}`, 'content-type': 'application/json' },
      body: JSON.stringify({ email: 'sam@example.com' }),
    })
    expect([invitation.status, await invitation.json()]).toEqual([403, mailIsOff])
  })
})

describe('an account with neither password nor factor', () => {
  it('steps up by a new sign-in with its provider, which is asked to prove its user again', async () => {
    const made = await command('invite', 'tess@example.com', '--print')
    expect(made.code).toBe(0)
    providers.issuer.become({ sub: 'tess-there', email: 'tess@example.com', email_verified: true })
    const tab = latchkey.browser()
    expect((await signInWith(tab, 'provider-a')).location).toBe('/dashboard')
    latchkey.clock.advance(11 * minutes)
    await tab.post('/api/auth/refresh')
    const refused = await tab.act('/api/auth/totp')
    expect([refused.status, refused.body]).toMatchObject([403, { code: 'fresh_sign_in_required', methods: [] }])
    expect((await tab.get('/api/auth/step-up')).body).toEqual({ methods: [] })
    const begun = await tab.get('/api/auth/provider-a?fresh=true&returnTo=/dashboard')
    expect(new URL(begun.headers.get('location') ?? '').searchParams.get('max_age')).toBe('0')
    // The provider's clock is the real one, and it has just asked its user again.
    const at = Math.floor(latchkey.clock.now().getTime() / 1000)
    providers.issuer.behave({ idToken: (claims) => ({ ...claims, iat: at, exp: at + 300, auth_time: at }) })
    expect((await signInWith(tab, 'provider-a', '?fresh=true')).location).toBe('/dashboard')
    expect((await tab.act('/api/auth/totp')).status).toBe(200)
  })
})

describe('where a second factor is required', () => {
  let strict: Latchkey
  beforeAll(async () => {
    strict = await startService(providers, { SECOND_FACTOR: 'required', JWT_SECRET: jwtSecret }, { mailIsOff: true })
  })
  afterAll(() => strict.stop())

  // By the rooms and not by commands, whose clock is that of the machine.
  const resetTokenFor = async (userId: string) => {
    const made = await strict.app.rooms.resetLinks.printByOperator({ userId, client: operatorClient('root') })
    if ('refused' in made) throw new Error(made.refused)
    return made.token
  }
  const path = '/api/auth/second-factor'
  const begin = async (username: string, password = goodPassword) => {
    const tab = strict.browser()
    const answer = await tab.post('/login', { username, password })
    expect([answer.status, answer.body.next]).toEqual([202, 'enrolment'])
    return tab
  }
  const addFactor = async (tab: Browser) => {
    const begun = await tab.act('/api/auth/totp')
    if (begun.status !== 200) return begun
    const app = createAuthenticator(String(begun.body.secret), strict)
    return tab.act('/api/auth/totp/confirm', { code: app.code() })
  }

  it('an invited account adds its first one at once, or within a day; a code is never asked for', async () => {
    const tab = strict.browser()
    const person = { username: 'uma', email: 'uma@example.com', password: goodPassword }
    const email = { email: 'uma@example.com', key: 'uma@example.com' }
    const made = await strict.app.rooms.invitations.print(email, operatorClient('root'))
    if ('refused' in made) throw new Error(made.refused)
    const registered = await tab.post('/api/auth/register', { ...person, invite: made.token })
    expect([registered.status, registered.body.next]).toEqual([202, 'enrolment'])
    expect((await tab.get(path)).body).toMatchObject({ mailedCodeRequired: false, linkRequired: false })

    strict.clock.advance(23 * hours)
    const again = await begin('uma')
    expect((await again.get(path)).body).toMatchObject({ mailedCodeRequired: false, linkRequired: false })
    expect((await addFactor(again)).status).toBe(200)
  })

  it('later, and for accounts that operators have added, a printed link is needed first', async () => {
    const { id } = await addUser(strict.app, { username: 'vic', email: 'vic@example.com', password: goodPassword })
    const early = await begin('vic')
    expect((await early.get(path)).body).toMatchObject({ mailedCodeRequired: false, linkRequired: true })
    for (const answer of [
      await addFactor(early),
      await early.post(path, { mailedCode: 'ABCD-EFGH' }),
      await early.post(path, { code: '123456' }),
    ])
      expect([answer.status, answer.body.code]).toEqual([403, 'link_required'])
    expect((await early.post(`${path}/mail`)).body).toEqual(mailIsOff)

    const token = await resetTokenFor(id)
    const reset = await strict.browser().post('/api/auth/reset-password/confirm', { token, password: otherPassword })
    expect(reset.status).toBe(204)
    strict.clock.advance(25 * hours)
    expect((await (await begin('vic', otherPassword)).get(path)).body).toMatchObject({ linkRequired: true })

    const second = await resetTokenFor(id)
    const tab = strict.browser()
    await tab.post('/api/auth/reset-password/confirm', { token: second, password: goodPassword, signIn: true })
    expect((await addFactor(tab)).status).toBe(200)
  })

  it('a lock-down ends the day', async () => {
    const user = await addUser(strict.app, { username: 'wim', email: 'wim@example.com', password: goodPassword })
    const token = await resetTokenFor(user.id)
    await strict.browser().post('/api/auth/reset-password/confirm', { token, password: otherPassword })
    const actor = { userId: user.id, client: operatorClient('root') }
    await strict.app.rooms.operatorChanges.lockDown(actor)
    await strict.app.rooms.operatorChanges.enable(actor, { keepsPassword: true })
    expect((await (await begin('wim', otherPassword)).get(path)).body).toMatchObject({ linkRequired: true })
  })
})

import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type ServiceScope, serviceScopes } from '#contract/service.js'
import { createServiceClient, type ServiceClient } from '#service/service.js'
import { eventsAsTable } from '../../src/commands/operations/events.js'
import { minutes } from '../../src/lib/durations.js'
import { newServiceKey } from '../../src/programs/service-keys.js'
import { idOf, joinGroup } from '../support/administrators.js'
import { documentedOperations } from '../support/api-document.js'
import { addAuthenticator } from '../support/authenticator.js'
import type { Browser } from '../support/client.js'
import { goodPassword, type Latchkey, startLatchkey } from '../support/latchkey.js'
import { profileFieldsFile } from '../support/profile-fields.js'

const everything = newServiceKey('hr', { scopes: serviceScopes })
const usual = newServiceKey('usual')
const inviting = newServiceKey('inviting', { scopes: ['invitations'] })
const writing = newServiceKey('writing', { scopes: ['users:write', 'groups'] })
const expired = newServiceKey('expired', { scopes: serviceScopes, expiresAt: new Date(Date.now() - 1 * minutes) })
const without = Object.fromEntries(
  serviceScopes.map((scope) => [
    scope,
    newServiceKey(`no-${scope.replace(':', '-')}`, { scopes: serviceScopes.filter((each) => each !== scope) }),
  ]),
) as Record<ServiceScope, ReturnType<typeof newServiceKey>>

let folder: string
let fields: Awaited<ReturnType<typeof profileFieldsFile>>
let latchkey: Latchkey
let service: ServiceClient
let ada: Browser
let adaId: string
let root: string

const clientWith = ({ key }: { key: string }) => createServiceClient({ url: latchkey.url, key })
const codeOf = (call: Promise<unknown>) =>
  call.then(
    () => 'done',
    (error) => `${error.status} ${error.code}`,
  )

/** As a program without our package sends it. */
const send = async (method: string, path: string, body?: object) => {
  const answer = await fetch(`${latchkey.url}/api/service/${path}`, {
    method,
    headers: { authorization: `Bearer ${everything.key}`, ...(body && { 'content-type': 'application/json' }) },
    ...(body && { body: JSON.stringify(body) }),
  })
  return { status: answer.status, headers: answer.headers, body: JSON.parse((await answer.text()) || '{}') }
}

// With its own database.
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'latchkey-keys-'))
  fields = await profileFieldsFile()
  const keys = [everything, usual, inviting, writing, expired, ...Object.values(without)]
  await writeFile(join(folder, 'keys'), keys.map(({ line }) => line).join('\n'))
  const groups = { ADMIN_GROUP: 'admins', SUPPORT_GROUP: 'helpdesk' }
  const settings = { SERVICE_KEYS_FILE: join(folder, 'keys'), PROFILE_FIELDS_FILE: fields.path, ...groups }
  latchkey = await startLatchkey({ stores: 'own', settings })
  service = clientWith(everything)
  // As if these accounts were made before the operator asked for fields.
  await latchkey.sql.query(
    `insert into users (id, email, email_key, username, username_key, created_at)
     select gen_random_uuid(), 'mail' || n || '@example.org', 'mail' || n || '@example.org', 'many' || n, 'many' || n, now()
     from generate_series(100, 104) as n`,
  )
  const signedUp = async (username: string) => {
    const tab = latchkey.browser()
    const email = `${username}@example.com`
    const body = { username, email, password: goodPassword, fields: { department: 'sales' } }
    await tab.post('/api/auth/register', body)
    const { text } = await latchkey.mailTo(email, /verify-email#token=/)
    const entered = await tab.post('/api/auth/verify-email', { token: /#token=([\w-]+)/.exec(text)?.[1] })
    expect(entered.status).toBe(200)
    return tab
  }
  ada = await signedUp('ada')
  adaId = await idOf(latchkey, 'ada')
  await joinGroup(latchkey, await signedUp('root1'), 'root1', 'admins')
  await joinGroup(latchkey, await signedUp('helper'), 'helper', 'helpdesk')
  root = await idOf(latchkey, 'root1')
})
afterAll(async () => {
  await latchkey?.stop()
  await fields?.remove()
  await rm(folder, { recursive: true, force: true })
})

/** Every route of other programs, with the scope that it needs. */
const routes = () => latchkey.app.routes.list().filter(({ url }) => url.startsWith('/api/service/'))

describe('every route of other programs', () => {
  it('is refused without its key, with a wrong or expired one, without the scope, with a cookie, and by another method', async () => {
    expect(routes().length).toBe(16)
    for (const { method, url, serviceScope } of routes()) {
      const ask = (headers: Record<string, string> = {}, by = method) =>
        fetch(latchkey.url + url.replace(':id', adaId), {
          method: by,
          headers: { 'x-forwarded-for': '198.51.100.7', ...headers },
        })
      const place = `${method} ${url}`
      if (!serviceScope) throw new Error(`${place} has no scope`)
      const cookie = `access_token=${ada.jar.get('access_token')}; refresh_token=${ada.jar.get('refresh_token')}`
      const wrong: Record<string, string>[] = [
        {},
        { cookie },
        { authorization: `Bearer ${ada.jar.get('access_token')}` },
        { authorization: `Bearer ${newServiceKey('other').key}` },
        { authorization: `Bearer ${expired.key}` },
      ]
      for (const headers of wrong) {
        const answer = await ask(headers)
        expect([answer.status, await answer.json()], place).toMatchObject([401, { code: 'not_authenticated' }])
      }
      const lacking = await ask({ authorization: `Bearer ${without[serviceScope].key}` })
      expect([lacking.status, await lacking.json()], place).toMatchObject([403, { code: 'scope_required' }])
      const other = await ask({ authorization: `Bearer ${everything.key}` }, 'PUT')
      expect([404, 405], place).toContain(other.status)
    }
  })

  it('that changes users, groups or invitations is closed for a key without named scopes', async () => {
    const client = clientWith(usual)
    expect((await client.users.find(adaId))?.username).toBe('ada')
    for (const call of [
      () => client.users.disable(adaId, { reason: 'x' }),
      () => client.users.enable(adaId),
      () => client.users.changeFields(adaId, { fields: {} }),
      () => client.users.changeGroups(adaId, {}),
      () => client.invitations.list(),
      () => client.groups.list(),
    ])
      expect(await codeOf(call())).toBe('403 scope_required')
  })
})

describe('users', () => {
  it('are found by how a name begins, by group and by a missing factor, a page at a time', async () => {
    const first = await service.users.list({ search: 'many', limit: 2 })
    expect(first.users.map(({ username }) => username)).toEqual(['many100', 'many101'])
    const second = await service.users.list({ search: 'many', limit: 2, after: first.next ?? '' })
    expect(second.users.map(({ username }) => username)).toEqual(['many102', 'many103'])
    expect(await codeOf(service.users.list({ after: 'nonsense' }))).toBe('400 bad_request')
    expect((await service.users.list({ group: 'admins' })).users).toEqual([
      {
        ...(await service.users.find(root)),
        factors: [],
        lastSignInAt: expect.stringMatching(/Z$/),
      },
    ])
    await addAuthenticator(ada, latchkey)
    const names: string[] = []
    for await (const { username } of service.users.each({ secondFactor: 'none' })) names.push(username)
    expect(names).toEqual(['helper', 'many100', 'many101', 'many102', 'many103', 'many104', 'root1'])
    expect((await service.users.list({ search: adaId })).users).toMatchObject([{ username: 'ada', factors: ['totp'] }])
    expect((await service.users.findByEmail('ADA@example.com'))?.fields).toEqual({ department: 'sales' })
    expect(await service.users.findByEmail('nobody@example.com')).toBeUndefined()
  })

  it('are disabled with a reason and enabled again; the event has the key, and the user hears of an administrator', async () => {
    const id = await idOf(latchkey, 'many100')
    expect(await codeOf(service.users.disable(id, {} as { reason: string }))).toBe('400 reason_required')
    expect(await codeOf(service.users.disable(id, { reason: '\u200b\u202e' }))).toBe('400 bad_request')
    // The second time nothing changes, and nobody is told.
    for (const _ of [1, 2])
      expect(await service.users.disable(id, { reason: ' le\u001bft\r\n\u202eus ' })).toEqual({ id, disabled: true })
    const { text } = await latchkey.mailTo('mail100@example.org', /disabled/)
    expect(text).not.toContain('left')
    const seen = (await latchkey.app.rooms.events.allOf(id, 10)).filter(({ kind }) => kind === 'user_disabled')
    expect(seen).toMatchObject([{ ip: 'command line', userAgent: '', actorKey: 'hr' }])
    const span = { since: new Date(0), until: new Date('2100-01-01'), limit: 1 }
    const listed = await latchkey.app.rooms.events.between({ ...span, kinds: ['user_disabled'] })
    expect(eventsAsTable(listed)).toContain('(service key hr)')
    const written = "select actor_reason, actor_key from events where user_id = $1 and kind = 'user_disabled'"
    expect(await latchkey.sql.query(written, [id])).toEqual([{ actor_reason: 'left us', actor_key: 'hr' }])
    for (const _ of [1, 2]) expect(await service.users.enable(id)).toEqual({ id, disabled: false })
    const told = 'select kind from outgoing_mail where user_id = $1 order by id'
    expect(await latchkey.sql.query(told, [id])).toEqual([{ kind: 'account-disabled' }, { kind: 'account-enabled' }])
    expect(await codeOf(service.users.enable(crypto.randomUUID()))).toBe('404 not_found')
  })

  it('get values of profile fields, also of those that only administrators edit', async () => {
    const changed = await service.users.changeFields(adaId, { fields: { staffnumber: '17', nickname: null } })
    expect(changed).toEqual({ id: adaId, fields: { staffnumber: '17' } })
    expect((await service.users.find(adaId))?.fields).toEqual({ department: 'sales', staffnumber: '17' })
    const wrong = service.users.changeFields(adaId, { fields: { nothing: 'x', department: 'no' } })
    await expect(wrong).rejects.toMatchObject({
      code: 'invalid_fields',
      fields: [
        { key: 'nothing', fault: 'unknown' },
        { key: 'department', fault: 'choice' },
      ],
    })
  })

  it('are not read with a key that only changes them', async () => {
    const { users } = clientWith(writing)
    expect(await codeOf(users.changeGroups(adaId, {}))).toBe('400 bad_request')
    expect(await codeOf(users.changeGroups(adaId, { add: [], remove: [] }))).toBe('400 bad_request')
    expect(await codeOf(users.changeFields(adaId, { fields: {} }))).toBe('400 bad_request')
    expect(await users.changeFields(adaId, { fields: { nickname: null } })).toEqual({ id: adaId, fields: {} })
    expect(await users.enable(adaId)).toEqual({ id: adaId, disabled: false })
  })

  it('who are administrators or support are left alone, but for signing them out', async () => {
    const helper = await idOf(latchkey, 'helper')
    await service.groups.add('staff')
    for (const id of [root, helper]) {
      const before = await service.users.find(id)
      for (const call of [
        () => service.users.disable(id, { reason: 'x' }),
        () => service.users.enable(id),
        () => service.users.changeFields(id, { fields: { nickname: 'Rooty' } }),
        // Nothing would change.
        () => service.users.changeFields(id, { fields: { nickname: null } }),
        () => service.users.changeGroups(id, { remove: ['staff'], reason: 'x' }),
        () => service.users.changeGroups(id, { add: ['staff'] }),
      ])
        expect(await codeOf(call())).toBe('403 administrators_account')
      expect(await service.users.find(id)).toEqual(before)
      expect(await codeOf(service.users.signOut(id))).toBe('done')
    }
  })
})

describe('groups', () => {
  it('are made, given, taken with a reason, and deleted when they are empty', async () => {
    expect(await service.groups.add('billing.eu')).toMatchObject({ name: 'billing.eu', members: 0, role: null })
    expect(await service.users.changeGroups(adaId, { add: ['billing.eu'] })).toEqual({
      id: adaId,
      groups: ['billing.eu'],
    })
    expect((await service.groups.list()).find(({ name }) => name === 'billing.eu')?.members).toBe(1)
    expect(await codeOf(service.groups.delete('billing.eu'))).toBe('409 group_has_members')
    expect(await codeOf(service.users.changeGroups(adaId, { remove: ['billing.eu'] }))).toBe('400 reason_required')
    expect(await codeOf(service.users.changeGroups(adaId, { add: ['nothing'] }))).toBe('409 no_group')
    const moved = await service.users.changeGroups(adaId, { remove: ['billing.eu'], reason: 'moved' })
    expect(moved.groups).toEqual([])
    await service.groups.delete('billing.eu')
    expect(await codeOf(service.groups.delete('billing.eu'))).toBe('404 not_found')
  })

  it('of administrators are neither given nor taken, in no way', async () => {
    for (const name of ['admins', 'helpdesk']) {
      expect(await codeOf(service.users.changeGroups(adaId, { add: [name] }))).toBe('409 group_of_administrators')
      const taken = service.users.changeGroups(root, { remove: [name], reason: 'x' })
      expect(await codeOf(taken)).toBe('409 group_of_administrators')
      const invited = service.invitations.create({ email: 'new@example.com', groups: [name] })
      expect(await codeOf(invited)).toBe('409 group_of_administrators')
      expect(await codeOf(service.groups.delete(name))).toBe('409 group_in_use')
    }
    expect((await service.groups.list()).filter(({ role }) => role !== null).map(({ name }) => name)).toEqual([
      'admins',
      'helpdesk',
    ])
  })
})

describe('invitations', () => {
  it('are mailed, listed and withdrawn, and never say their link', async () => {
    await service.groups.add('staff')
    const invitation = await service.invitations.create({ email: 'Eve@example.com', groups: ['staff'], language: 'de' })
    expect(invitation).toEqual({
      email: 'Eve@example.com',
      groups: ['staff'],
      madeBy: 'service key hr',
      invitedBy: null,
      returnTo: null,
      createdAt: expect.stringMatching(/Z$/),
      expiresAt: expect.stringMatching(/Z$/),
    })
    await latchkey.mailTo('Eve@example.com', /invite#token=/)
    expect(await service.invitations.list()).toEqual([invitation])
    await service.invitations.delete('eve@example.com')
    expect(await service.invitations.list()).toEqual([])
    expect(await codeOf(service.invitations.delete('eve@example.com'))).toBe('404 not_found')
    expect(await codeOf(service.invitations.create({ email: 'ada@example.com' }))).toBe('409 has_account')
    expect(await codeOf(service.invitations.create({ email: 'nonsense' }))).toBe('400 email_shape')
  })

  it('with groups need the scope of groups too', async () => {
    const { invitations } = clientWith(inviting)
    const email = 'own@example.com'
    expect(await codeOf(invitations.create({ email, groups: ['staff'] }))).toBe('403 scope_required')
    expect(await codeOf(invitations.create({ email }))).toBe('done')
  })

  it('again keep the groups unless others are named, and a key that may not give groups any more takes none', async () => {
    const email = 'again@example.com'
    await service.invitations.create({ email, groups: ['staff'] })
    expect((await service.invitations.create({ email })).groups).toEqual(['staff'])
    // As if the key had had the scope before.
    await latchkey.sql.query("update invitations set made_by = 'service key inviting' where email_key = $1", [email])
    expect(await codeOf(clientWith(inviting).invitations.create({ email }))).toBe('403 scope_required')
    expect(await codeOf(clientWith(inviting).invitations.create({ email, groups: [] }))).toBe('403 scope_required')
    expect((await service.invitations.create({ email, groups: [] })).groups).toEqual([])
    await clientWith(inviting).invitations.delete(email)
    expect(await codeOf(clientWith(inviting).invitations.create({ email }))).toBe('done')
  })

  it('do not flood a mailbox: after five in a day the invitation stays as it is', async () => {
    const invite = (tag: number) => codeOf(service.invitations.create({ email: `mailbox+${tag}@example.com` }))
    for (let tag = 1; tag <= 5; tag += 1) expect(await invite(tag)).toBe('done')
    const before = await service.invitations.list()
    expect([await invite(6), await invite(1)]).toEqual(['409 too_many_mails', '409 too_many_mails'])
    expect(await service.invitations.list()).toEqual(before)
  })

  it('that are too many say when the mailbox gets the next one, and it does', async () => {
    const create = (tag: number) => service.invitations.create({ email: `later+${tag}@example.com` })
    await create(1)
    await latchkey.advance(60 * minutes)
    for (const tag of [2, 3, 4, 5]) await create(tag)
    const { status, headers, body } = await send('POST', 'invitations', { email: 'later@example.com' })
    expect([status, body.code, headers.get('retry-after')]).toEqual([409, 'too_many_mails', String(body.retryAfter)])
    // The first one was an hour ago, and a mailbox gets five in a day.
    expect(body.retryAfter).toBeGreaterThan(23 * 3600 - 60)
    expect(body.retryAfter).toBeLessThanOrEqual(23 * 3600)
    await expect(create(6)).rejects.toMatchObject({ code: 'too_many_mails', retryAfter: expect.any(Number) })
    await latchkey.advance((Number(body.retryAfter) - 60) * 1000)
    expect(await codeOf(create(7))).toBe('409 too_many_mails')
    await latchkey.advance(60 * 1000)
    expect(await codeOf(create(8))).toBe('done')
    expect(await codeOf(create(9))).toBe('409 too_many_mails')
  })
})

describe('a request with something that it does not take', () => {
  it('is refused by every route, in the body and in the query, and the message names it', async () => {
    for (const { method, url } of routes()) {
      const path = url.replace('/api/service/', '').replace(':id', adaId)
      const place = `${method} ${url}`
      const query = await send(method, `${path}?mispelt=1`)
      expect([query.status, query.body.code], place).toEqual([400, 'bad_request'])
      expect(query.body.message, place).toMatch(/^mispelt is not known in the query of this request: it takes \w/)
      if (method === 'GET') continue
      const { status, body } = await send(method, path, { mispelt: 1, reason: 'x', name: 'x', email: 'x', token: 'x' })
      expect([status, body.code], place).toEqual([400, 'bad_request'])
      expect(body.message, place).toMatch(/^mispelt is not known in the body of this request: it takes \w/)
    }
    const { body } = await send('POST', 'groups', { name: 'sales', members: ['ada'] })
    expect(body.message).toBe('members is not known in the body of this request: it takes name')
    const silent = await send('POST', `users/${adaId}/sign-out`, { reason: 'x' })
    expect(silent.body.message).toBe('reason is not known in the body of this request: it takes nothing')
    expect((await service.groups.list()).map(({ name }) => name)).not.toContain('sales')
  })

  it('does not fit the API document', async () => {
    const { body: document } = await latchkey.browser().get('/api/openapi.json')
    const { schemas } = document.components as { schemas: Record<string, object> }
    const bodies = documentedOperations(document).flatMap(({ path, requestBody }) =>
      path.startsWith('/api/service/') && requestBody ? [requestBody.content['application/json'].schema] : [],
    )
    expect(bodies.length).toBeGreaterThan(6)
    for (const schema of bodies) {
      const named = '$ref' in schema ? schemas[String(schema.$ref).replace('#/components/schemas/', '')] : schema
      expect(named, JSON.stringify(schema)).toHaveProperty('additionalProperties', false)
    }
  })

  it('and one that is not understood is told in plain words', async () => {
    const names = Array.from({ length: 17 }, (_, index) => `group-${index}`)
    expect((await send('PATCH', `users/${adaId}/groups`, { add: names })).body.message).toBe(
      'add has more than 16 groups',
    )
    expect((await send('POST', 'groups', { name: 'No Group' })).body.message).toMatch(
      /^name must be the name of a group: 1 to 32 characters, small letters, digits/,
    )
    expect((await send('GET', 'users?limit=0')).body.message).toMatch(/^limit is not valid: .* 1 to 200/)
    expect((await send('GET', 'revocations?wait=26')).body.message).toMatch(/^wait is not valid: .* 0 to 25/)
    for (const name of names) await service.groups.add(name)
    await service.users.changeGroups(adaId, { add: names.slice(0, 16) })
    const { status, body } = await send('PATCH', `users/${adaId}/groups`, { add: names.slice(16) })
    expect([status, body.code, body.message]).toEqual([409, 'too_many_groups', 'A user can be in at most 16 groups'])
    const remove = names.slice(0, 16)
    await service.users.changeGroups(adaId, { remove, reason: 'end of the test' })
  })
})

it('a program learns when the service is away, or something else answers', async () => {
  const client = createServiceClient({ url: 'http://127.0.0.1:1', key: 'x' })
  expect(await codeOf(client.groups.list())).toBe('0 no_answer')
  const page = async () => new Response('<h1>Bad gateway</h1>', { status: 502 })
  const behind = createServiceClient({ url: 'http://x.example', key: 'x', fetch: page })
  expect(await codeOf(behind.groups.list())).toBe('502 unknown')
  const { entries, complete } = await service.revocations({ wait: 0 })
  expect([Array.isArray(entries), complete]).toEqual([true, true])
})

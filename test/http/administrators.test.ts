import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import {
  type AdminApplication,
  type AdminEvent,
  type AdminOverview,
  type AdminUser,
  type AdminUserDetails,
  adminPath,
  type UserOrder,
} from '#contract/admin/admin-bodies.js'
import { openRoomsForCommand } from '../../src/commands/open-for-commands.js'
import { operatorClient } from '../../src/http/request-origin.js'
import { createUserSearch } from '../../src/users/search.js'
import { idOf, signedUpInGroup } from '../support/administrators.js'
import { addApplication } from '../support/applications.js'
import { addAuthenticator } from '../support/authenticator.js'
import { goodPassword, type Latchkey, startLatchkey } from '../support/latchkey.js'
import { openidApplication } from '../support/openid-application.js'
import { everyField, profileFieldsFile } from '../support/profile-fields.js'
import { latchkey as run } from '../support/terminal.js'
import { noticesOf, sessionOf } from '../support/used-applications.js'

let latchkey: Latchkey
let root: Awaited<ReturnType<typeof signedUpInGroup>>
let file: Awaited<ReturnType<typeof profileFieldsFile>>
beforeAll(async () => {
  file = await profileFieldsFile(everyField.filter(({ required }) => !required))
  const settings = { ADMIN_GROUP: 'admins', SUPPORT_GROUP: 'helpdesk', PROFILE_FIELDS_FILE: file.path }
  latchkey = await startLatchkey({ settings })
  root = await signedUpInGroup(latchkey, 'root1', 'admins')
  await latchkey.app.rooms.groups.add('staff', operatorClient('root'))
})
afterAll(async () => {
  await latchkey.stop()
  await file.remove()
})

const get = async <Body>(path: string) => (await root.tab.get(`${adminPath}${path}`)).body as Body
const send = (method: string, path: string, body?: object) =>
  root.tab.send(method, `${adminPath}${path}`, body, { csrf: true })
const act = (id: string, action: string, body: object = { reason: 'asked by phone' }) =>
  send('POST', `/users/${id}/${action}`, body)
const detailsOf = (id: string) => get<AdminUserDetails>(`/users/${id}`)
const eventsOf = async (id: string, kind: string) =>
  (await get<{ events: AdminEvent[] }>(`/events?user=${id}&kind=${kind}`)).events
const signIn = async (username: string) => {
  const tab = latchkey.browser()
  return { tab, status: (await tab.post('/login', { username, password: goodPassword })).status }
}

it('a start says that the groups are missing', () => {
  expect(latchkey.logLines.join('')).toContain('"groups":["admins","helpdesk"]')
})

describe('users', () => {
  it('are found by how a name begins, by address, last name and id, a page at a time', async () => {
    await latchkey.sql.query(
      `insert into users (id, email, email_key, username, username_key, name, created_at)
       select gen_random_uuid(), 'mail' || n || '@example.org', 'mail' || n || '@example.org', 'many' || n, 'many' || n,
         case when n = 107 then 'Zoë Zander' end, now()
       from generate_series(100, 219) as n`,
    )
    const names = async (query: string) =>
      (await get<{ users: AdminUser[] }>(`/users?${query}`)).users.map(({ username }) => username)
    expect(await names('search=MANY107')).toEqual(['many107'])
    expect(await names('search=mail107')).toEqual(['many107'])
    for (const search of ['zoë', 'Zander', 'zoë%20zan']) expect(await names(`search=${search}`)).toEqual(['many107'])
    expect(await names('search=%25')).toEqual([])
    expect(await names(`search=${(await idOf(latchkey, 'many107')).toUpperCase()}`)).toEqual(['many107'])
    const seen: string[] = []
    let after = ''
    do {
      const { users, next } = await get<{ users: AdminUser[]; next: string | null }>(`/users?search=ma${after}`)
      expect(users.length).toBeLessThanOrEqual(50)
      seen.push(...users.map(({ username }) => username))
      after = next === null ? '' : `&after=${next}`
    } while (after !== '')
    expect(seen).toHaveLength(120)
    expect(new Set(seen).size).toBe(120)
    expect((await send('GET', '/users?after=nonsense')).body.code).toBe('bad_request')
    expect(await names('group=admins')).toEqual(['root1'])

    await latchkey.sql.query(`update users set disabled_at = now() where username in ('many150', 'many151')`)
    await latchkey.sql.query(
      `update users set groups = groups || '{staff}' where username in ('many100', 'many101', 'many150', 'root1')`,
    )
    expect(await names('state=disabled')).toEqual(['many150', 'many151'])
    expect(await names('state=disabled&search=mail151')).toEqual(['many151'])
    expect(await names('state=disabled&group=staff')).toEqual(['many150'])
    expect(await names('group=staff&factor=none&state=active')).toEqual(['many100', 'many101'])
    expect(await names('factor=none&search=root1')).toEqual([])
    expect((await names('factor=none')).length).toBe(50)
    // A page ends where too many were looked at, and the next one goes on there.
    const { page } = createUserSearch({ database: latchkey.sql, scannedAtOnce: 7 })
    const active: string[] = []
    let next: string | null = ''
    for (let pages = 0; next !== null; pages += 1) {
      const answer = await page({ search: 'many', state: 'active', ...(next && { after: next }) })
      if ('refused' in answer) throw new Error(answer.refused)
      active.push(...answer.users.map(({ username }) => username))
      next = answer.next
      expect(answer.users.length).toBeLessThanOrEqual(7)
      expect(pages).toBeLessThan(30)
    }
    expect(active).toHaveLength(118)
    for (const query of ['state=gone', 'factor=totp'])
      expect((await send('GET', `/users?${query}`)).body.code, query).toBe('bad_request')
    await latchkey.sql.query(`update users set groups = array_remove(groups, 'staff') where 'staff' = any(groups)`)
  })

  // The key of a username has the same sign for i, l and 1, so that no name looks like another one. In its order lena comes before ada.
  it('are listed in the order of the alphabet', async () => {
    await latchkey.sql.query(
      `insert into users (id, email, email_key, username, username_key, created_at)
       select gen_random_uuid(), name || '@abc.example', name || '@abc.example', name, key, now()
       from (values ('Lena', '1ena'), ('mia', 'm1a'), ('Abel', 'abe1'), ('maria', 'mar1a'), ('ida', '1da')) as names (name, key)`,
    )
    await latchkey.app.rooms.groups.add('choir', operatorClient('root'))
    const singers = "update users set groups = groups || '{choir}' where email like '%@abc.example'"
    await latchkey.sql.query(singers)
    const sorted = ['Abel', 'ida', 'Lena', 'maria', 'mia']
    const names = async (query: string) =>
      (await get<{ users: AdminUser[] }>(`/users?${query}`)).users.map(({ username }) => username)
    expect(await names('group=choir')).toEqual(sorted)
    expect(await names('group=choir&state=active')).toEqual(sorted)
    const { page } = createUserSearch({ database: latchkey.sql })
    const seen: string[] = []
    let after: string | undefined
    do {
      const answer = await page({ after, group: 'choir', limit: 2 })
      if ('refused' in answer) throw new Error(answer.refused)
      seen.push(...answer.users.map(({ username }) => username))
      after = answer.next ?? undefined
    } while (after !== undefined)
    expect(seen).toEqual(sorted)
    expect(await names('group=choir&order=-username')).toEqual(sorted.toReversed())
    // What looks alike comes after what is alike.
    expect(await names('search=i&group=choir')).toEqual(['ida', 'Lena'])
    await latchkey.sql.query("update users set disabled_at = now() where email like '%@abc.example'")
    expect((await names('state=disabled')).filter((name) => sorted.includes(name))).toEqual(sorted)
    await latchkey.sql.query("delete from users where email like '%@abc.example'")
  })

  it('are listed by their age too, in both directions, and their number is said unless it is too large', async () => {
    await latchkey.app.rooms.groups.add('tenors', operatorClient('root'))
    await latchkey.sql.query(
      `insert into users (id, email, email_key, username, username_key, groups, created_at)
       select gen_random_uuid(), 't' || n || '@abc.example', 't' || n || '@abc.example', 'tenor' || n, 'tenor' || n, '{tenors}',
         timestamptz '1999-12-31 23:59:59.123456Z' + n / 2 * interval '700 days'
       from generate_series(1, 9) as n`,
    )
    const search = createUserSearch({ database: latchkey.sql })
    const all = async (order: UserOrder) => {
      const seen: string[] = []
      let after: string | undefined
      do {
        const answer = await search.page({ after, order, group: 'tenors', limit: 2 })
        if ('refused' in answer) throw new Error(answer.refused)
        seen.push(...answer.users.map(({ username }) => username))
        after = answer.next ?? undefined
      } while (after !== undefined)
      return seen
    }
    const oldest = await all('created')
    // Two of each age but for the first: only the id decides between them.
    expect(oldest.map((name) => Math.floor(Number(name.slice(5)) / 2))).toEqual([0, 1, 1, 2, 2, 3, 3, 4, 4])
    expect(await all('-created')).toEqual(oldest.toReversed())
    const { count, next } = await get<{ count: number; next: null }>('/users?group=tenors&state=active&search=ten')
    expect([count, next]).toEqual([9, null])
    const { page, count: countFew } = createUserSearch({ database: latchkey.sql, scannedAtOnce: 7 })
    expect(await countFew({ group: 'tenors' })).toBeNull()
    expect(await countFew({ group: 'tenors', search: 'tenor9' })).toBe(1)
    // The cursor of one order is none of another one.
    const first = await page({ order: 'username', limit: 1 })
    if ('refused' in first) throw new Error(first.refused)
    const wrong = await send('GET', `/users?order=-created&after=${first.next}`)
    expect(wrong.body.code).toBe('bad_request')
    await latchkey.sql.query("delete from users where email like '%@abc.example'")
  })

  it('are shown with their factors, groups, sessions, events and why they cannot sign in, and without a secret', async () => {
    const tab = await latchkey.signedUp('ann')
    await addAuthenticator(tab, latchkey)
    const id = await idOf(latchkey, 'ann')
    const details = await detailsOf(id)
    expect(details).toMatchObject({
      username: 'ann',
      self: false,
      disabled: false,
      factors: ['totp'],
      hasPassword: true,
    })
    expect(details.lastSignInAt).not.toBeNull()
    expect(details.sessions).toHaveLength(1)
    expect(details.events.map(({ kind }) => kind)).toContain('totp_added')
    expect(JSON.stringify(details)).not.toMatch(/\$2[aby]\$|secret/i)
    await act(id, 'disable')
    expect((await detailsOf(id)).why).toContainEqual(
      expect.objectContaining({ code: 'disabled', message: 'The account is disabled.', solvedBy: 'enable' }),
    )
    expect((await root.tab.get(`${adminPath}/users/${crypto.randomUUID()}`)).status).toBe(404)
  })

  it('are disabled, enabled, signed out and get their factors reset, with a reason, an event and a mail', async () => {
    const tab = await latchkey.signedUp('ben')
    await addAuthenticator(tab, latchkey)
    const id = await idOf(latchkey, 'ben')
    const email = 'ben@example.com'
    for (const action of ['disable', 'end-sessions', 'reset-factors', 'lock-down'])
      expect((await act(id, action, {})).body.code, action).toBe('reason_required')
    expect((await act(id, 'disable', { reason: 'x'.repeat(201) })).body.code).toBe('bad_request')
    expect((await act(id, 'disable', { reason: ' ' })).body.code).toBe('bad_request')

    for (const _ of [1, 2]) expect((await act(id, 'reset-factors')).status).toBe(204)
    await latchkey.mailTo(email, /An administrator/)
    for (const _ of [1, 2]) expect((await act(id, 'disable', { reason: 'left the company' })).status).toBe(204)
    await latchkey.mailTo(email, /was disabled/)
    expect((await signIn('ben')).status).toBe(401)
    expect((await act(id, 'send-reset')).body.code).toBe('account_disabled')
    for (const _ of [1, 2]) expect((await act(id, 'enable', {})).status).toBe(204)
    await latchkey.mailTo(email, /can be used again/)
    expect((await signIn('ben')).status).toBe(200)
    expect((await act(id, 'end-sessions')).status).toBe(204)
    expect((await detailsOf(id)).sessions).toEqual([])
    expect((await act(id, 'send-reset', {})).status).toBe(204)
    await latchkey.mailTo(email, /reset-password#token=/)

    const [disabled] = await eventsOf(id, 'user_disabled')
    expect(disabled).toMatchObject({
      actorId: root.id,
      actor: 'root1',
      actorReason: 'left the company',
      username: 'ben',
    })
    for (const kind of ['user_enabled', 'sessions_ended', 'factors_reset', 'reset_requested'])
      expect(await eventsOf(id, kind), kind).toMatchObject([{ actorId: root.id }])
    // The user sees that it was an administrator, and neither why nor from where.
    const { tab: own } = await signIn('ben')
    const seen = JSON.stringify((await own.get('/api/auth/events')).body) + (await own.get('/api/auth/export')).text
    expect(seen).toContain('command line')
    expect(seen).not.toMatch(/left the company|root1/)
  })

  it('get values of profile fields: administrators change all, support what users change themselves', async () => {
    await latchkey.signedUp('flo')
    const id = await idOf(latchkey, 'flo')
    const patch = (tab: typeof root.tab, fields: object) =>
      tab.send('PATCH', `${adminPath}/users/${id}/fields`, { fields }, { csrf: true })
    const changed = await patch(root.tab, { staffnumber: '42', website: 'https://example.com/flo', newsletter: true })
    expect([changed.status, changed.body.fields]).toEqual([
      200,
      { website: 'https://example.com/flo', newsletter: true, staffnumber: '42' },
    ])
    const wrong = await patch(root.tab, { website: 'javascript:alert(1)', shoes: '44' })
    expect([wrong.status, wrong.body.fields]).toEqual([
      422,
      [
        { key: 'website', fault: 'url' },
        { key: 'shoes', fault: 'unknown' },
      ],
    ])
    const sue = await signedUpInGroup(latchkey, 'sue', 'helpdesk')
    expect((await patch(sue.tab, { staffnumber: '43' })).body.fields).toEqual([
      { key: 'staffnumber', fault: 'administrators_only' },
    ])
    expect((await patch(sue.tab, { nickname: 'Flo', website: null })).status).toBe(200)
    const { fields, fieldDefinitions } = await detailsOf(id)
    expect(fields).toEqual({ nickname: 'Flo', newsletter: true, staffnumber: '42' })
    expect(fieldDefinitions.map(({ key }) => key)).toContain('birthday')
    expect(await eventsOf(id, 'fields_changed')).toMatchObject([
      { reason: 'nickname,website', actor: 'sue' },
      { reason: 'staffnumber,website,newsletter', actor: 'root1' },
    ])
    expect((await send('PATCH', `/users/${crypto.randomUUID()}/fields`, { fields: {} })).status).toBe(404)
  })

  it('get and lose groups, and are deleted, which leaves neither a reason nor the name of the deleted user', async () => {
    const dan = await signedUpInGroup(latchkey, 'dan', 'admins')
    await latchkey.signedUp('eve')
    const id = await idOf(latchkey, 'eve')
    const patch = (body: object) => send('PATCH', `/users/${id}/groups`, body)
    expect((await patch({ add: ['staff'] })).body).toMatchObject({ id, groups: ['staff'] })
    expect((await patch({ add: ['nothing'] })).body.code).toBe('no_group')
    expect((await patch({ remove: ['staff'] })).body.code).toBe('reason_required')
    expect((await patch({ remove: ['staff'], reason: 'moved' })).body.groups).toEqual([])
    expect((await patch({ add: ['staff', 'admins'] })).body.code).toBe('reason_required')
    expect((await patch({ add: ['admins'], reason: 'moved' })).body.groups).toEqual(['admins'])
    await dan.tab.send('POST', `${adminPath}/users/${id}/disable`, { reason: 'by dan' }, { csrf: true })
    await latchkey.sql.query(`update users set username = 'hr', username_key = 'hr' where id = $1`, [dan.id])
    expect((await eventsOf(id, 'user_disabled'))[0]).toMatchObject({ actor: 'dan' })
    expect((await act(dan.id, 'delete', { username: 'eve' })).body.code).toBe('other_username')
    expect((await act(dan.id, 'delete', { username: 'hr' })).status).toBe(204)
    const withoutName = { actorId: null, actor: null, actorReason: 'by dan', ip: '' }
    expect((await eventsOf(id, 'user_disabled'))[0]).toMatchObject(withoutName)
    expect((await act(id, 'delete', { username: 'eve' })).status).toBe(204)
    const left = `select kind, actor_id, actor_reason from events where reason = $1 or actor_reason in ('by dan', 'moved')`
    const deletion = { kind: 'user_deleted', actor_id: root.id, actor_reason: null }
    expect(await latchkey.sql.query(left, [id])).toEqual([deletion])
    expect((await act(id, 'delete', { username: 'eve' })).status).toBe(404)
  })
})

it('without Redis the service says which of its own limits refuses, and clears those of a user', async () => {
  const settings = { ADMIN_GROUP: 'admins', LOGIN_LIMIT: '2/15m', ACCOUNT_LIMIT: '3/1h', REDIS_URL: '' }
  const small = await startLatchkey({ settings })
  const { tab, prove } = await signedUpInGroup(small, 'root2', 'admins')
  await small.signedUp('hal')
  for (const password of ['wrong 1', 'wrong 2', 'wrong 3'])
    await small.browser().post('/login', { username: 'hal', password }, { address: '192.0.2.77' })
  const whyNot = async (username: string) =>
    ((await tab.get(`${adminPath}/users/${await idOf(small, username)}`)).body as AdminUserDetails).why
  expect(await whyNot('hal')).toMatchObject([{ code: 'network_limit', subject: '192.0.2.77', solvedBy: null }])

  await small.signedUp('ivy')
  const id = await idOf(small, 'ivy')
  const signInFrom = async (address: string, password: string) =>
    (await small.browser().post('/login', { username: 'ivy', password }, { address })).status
  for (const last of [1, 2, 3]) expect(await signInFrom(`198.51.100.${last}`, 'wrong')).toBe(401)
  expect(await signInFrom('198.51.100.4', goodPassword)).toBe(429)
  expect(await whyNot('ivy')).toMatchObject([
    { code: 'wrong_passwords_for_name', subject: 'ivy', solvedBy: 'clear-limits' },
  ])
  await prove()
  const cleared = await tab.send('POST', `${adminPath}/users/${id}/clear-limits`, {}, { csrf: true })
  expect([cleared.status, await whyNot('ivy')]).toEqual([204, []])
  expect(await signInFrom('198.51.100.5', goodPassword)).toBe(200)
  const { events } = (await tab.get(`${adminPath}/events?kind=limits_cleared`)).body as { events: AdminEvent[] }
  expect(events).toMatchObject([{ userId: id, actor: 'root2', reason: expect.stringMatching(/^user: .*account/) }])
  await small.stop()
})

it('the overview names what waits too long, and not how much waits', async () => {
  const codes = async () =>
    (await get<{ attention: { code: string }[] }>('/overview')).attention.map(({ code }) => code)
  await latchkey.sql.query(
    `insert into outgoing_webhooks (type, user_id, data, created_at, next_attempt_at)
     select 'user.updated', gen_random_uuid(), '{}', $1, $2 from generate_series(1, 150)`,
    [latchkey.clock.now(), new Date('2100-01-01')],
  )
  await latchkey.sql.query(
    `insert into outgoing_mail (id, recipient_key, kind, created_at, next_attempt_at) values ($1, 'x', 'welcome', $2, $3)`,
    [crypto.randomUUID(), latchkey.clock.now(), new Date('2100-01-01')],
  )
  expect(await codes()).toEqual([])
  await latchkey.sql.query(
    `update outgoing_mail set created_at = created_at - interval '6 minutes' where recipient_key = 'x'`,
  )
  await latchkey.sql.query(`update outgoing_webhooks set created_at = created_at - interval '14 minutes'`)
  expect(await codes()).toEqual(['mails_failing'])
  await latchkey.sql.query(`update outgoing_webhooks set created_at = created_at - interval '2 minutes'`)
  expect(await codes()).toEqual(['mails_failing', 'webhooks_waiting'])
  await latchkey.sql.query(`update outgoing_mail set last_error = 'connect ECONNREFUSED' where recipient_key = 'x'`)
  expect((await get<AdminOverview>('/overview')).attention[0]).toMatchObject({
    message: '1 mail has waited for more than 5 minutes. The last attempt failed: connect ECONNREFUSED.',
    detail: 'connect ECONNREFUSED',
  })
  await latchkey.sql.query('delete from outgoing_webhooks')
  await latchkey.sql.query(`delete from outgoing_mail where recipient_key = 'x'`)
})

it('invitations are made and withdrawn, and make no administrators', async () => {
  const email = 'new@example.com'
  const invited = await send('POST', '/invitations', { email, groups: ['staff'], language: 'de' })
  expect([invited.status, invited.body.groups]).toEqual([201, ['staff']])
  expect(invited.text).not.toContain('token')
  await latchkey.mailTo(email)
  for (const group of ['admins', 'helpdesk'])
    expect((await send('POST', '/invitations', { email, groups: [group] })).body.code).toBe('group_of_administrators')
  expect((await send('POST', '/invitations', { email: 'root1@example.com' })).body.code).toBe('has_account')
  expect((await get<{ invitations: object[] }>('/invitations')).invitations).toMatchObject([{ email }])
  expect((await send('DELETE', '/invitations', { email })).status).toBe(204)
  expect((await send('DELETE', '/invitations', { email })).status).toBe(404)
})

it('groups are made and deleted, but not one that a setting or an application names', async () => {
  const made = await send('POST', '/groups', { name: 'guests' })
  expect([made.status, made.body]).toMatchObject([201, { name: 'guests', members: 0, role: null }])
  expect((await send('POST', '/groups', { name: 'guests' })).status).toBe(200)
  await latchkey.signedUp('gus')
  await send('PATCH', `/users/${await idOf(latchkey, 'gus')}/groups`, { add: ['guests'] })
  expect((await send('DELETE', '/groups', { name: 'guests' })).body.code).toBe('group_has_members')
  expect((await send('DELETE', '/groups', { name: 'guests', members: true })).body.code).toBe('reason_required')
  const body = { name: 'guests', members: true, reason: 'no more guests' }
  expect((await send('DELETE', '/groups', body)).status).toBe(204)
  expect((await eventsOf(await idOf(latchkey, 'gus'), 'group_left'))[0]).toMatchObject({ actorId: root.id })
  expect((await send('DELETE', '/groups', { name: 'admins', members: true, reason: 'x' })).body.code).toBe(
    'group_in_use',
  )
  expect((await get<{ groups: object[] }>('/groups')).groups).toContainEqual(
    expect.objectContaining({ name: 'admins', role: 'admin' }),
  )
})

it('a user who may not use an application any more loses it at once, and it is told', async () => {
  const backchannelLogout = 'https://notes.example.com/logout'
  const notes = await openidApplication(latchkey, { backchannelLogout })
  const native = { kind: 'native', home: 'tv.example:/', redirectAddresses: ['tv.example:/cb'] } as const
  await addApplication(latchkey, { name: 'Television', ...native, deviceFlow: true })
  expect((await get<{ applications: object[] }>('/applications')).applications).toEqual([
    expect.objectContaining({ name: 'Notes', device: false }),
    expect.objectContaining({ name: 'Television', device: true }),
  ])
  const path = `/applications/${notes.application.id}`
  const tab = await latchkey.signedUp('kim')
  const tokens = await notes.signIn(tab)
  const { sid, userId } = sessionOf(tab)
  expect((await notes.userInfo(tokens)).sub).toBe(userId)
  expect((await detailsOf(userId)).applications).toMatchObject([{ name: 'Notes' }])

  await root.prove()
  const patch = async (body: object) => {
    const { applications } = await get<{ applications: AdminApplication[] }>('/applications')
    const version = applications.find(({ id }) => id === notes.application.id)?.version
    const headers = { 'if-match': `"${version}"` }
    return root.tab.send('PATCH', `${adminPath}${path}`, body, { csrf: true, headers })
  }
  expect((await patch({ allow: ['staff'] })).body.code).toBe('reason_required')
  expect((await patch({ allow: ['nothing'], reason: 'x' })).body.code).toBe('no_group')
  expect((await detailsOf(userId)).applications).toHaveLength(1)
  const changed = await patch({ allow: ['staff'], reason: 'for the staff' })
  expect(changed.body).toMatchObject({ allow: ['staff'] })

  expect((await detailsOf(userId)).applications).toEqual([])
  await expect(notes.refresh(tokens)).rejects.toThrow()
  expect(await noticesOf(latchkey.sql, notes.application.id)).toEqual([{ sid, userId }])
  expect((await eventsOf(userId, 'application_access_ended'))[0]).toMatchObject({ actorId: root.id })
  // The session at the service goes on, and so would the access of another application.
  expect((await tab.get('/api/auth/account')).status).toBe(200)
  expect((await notes.ask(tab)).state.next).toBe('no_access')
  await send('PATCH', `/users/${userId}/groups`, { add: ['staff'] })
  await tab.post('/api/auth/refresh')
  expect((await notes.userInfo(await notes.signIn(tab))).sub).toBe(userId)
  expect((await patch({ allow: 'everyone' })).body.allow).toBe('everyone')
  const headers = { 'if-match': '"x"' }
  const unknown = await root.tab.send('PATCH', `${adminPath}/applications/unknown`, {}, { csrf: true, headers })
  expect(unknown.status).toBe(404)
})

it('the overview counts sign-ins by day, and the first use of a session as an administrator is told and shown', async () => {
  const { days, attention } = await get<{ days: Record<string, number>[]; attention: object[] }>('/overview')
  expect(days).toHaveLength(30)
  expect(days.at(-1)?.newUsers).toBeGreaterThan(1)
  const dayBefore = (back: number) =>
    new Date(latchkey.clock.now().getTime() - back * 86_400_000).toISOString().slice(0, 10)
  const between = (from: number, to: number) =>
    get<AdminOverview>(`/overview?from=${dayBefore(from)}&to=${dayBefore(to)}`)
  const yesterdayAndToday = await between(1, 0)
  expect(yesterdayAndToday.days.map(({ day }) => day)).toEqual([dayBefore(1), dayBefore(0)])
  expect(yesterdayAndToday.before).toEqual({ signIns: 0, failures: 0, newUsers: 0 })
  // Events are not kept longer than 90 days, so there is nothing to compare with.
  expect((await between(89, 0)).before).toBeNull()
  for (const [from, to] of [
    [90, 0],
    [0, 1],
    [0, -1],
  ] as const) {
    const query = `from=${dayBefore(from)}&to=${dayBefore(to)}`
    expect((await send('GET', `/overview?${query}`)).body.code, query).toBe('bad_request')
  }
  expect(attention).toEqual([])
  await latchkey.mailTo('root1@example.com', /used as an administrator/)
  const { sessions } = (await root.tab.get('/api/auth/sessions')).body as { sessions: { administers: boolean }[] }
  expect(sessions.map(({ administers }) => administers)).toContain(true)
  const exported = (await root.tab.get('/api/auth/export')).body as { sessions: object[] }
  expect(exported.sessions).toContainEqual(expect.objectContaining({ administers: true, application: null }))
  const store = { openRooms: (role: 'service role' | 'table owner') => openRoomsForCommand(latchkey.config, role) }
  const listed = (await run(store, ['user', 'sessions', 'list', 'root1', '--json'])).out.trim().split('\n')
  expect(listed.map((line) => JSON.parse(line))).toContainEqual(expect.objectContaining({ administers: true }))
  expect(await get('/self')).toEqual({
    id: root.id,
    username: 'root1',
    role: 'admin',
    adminGroup: 'admins',
    supportGroup: 'helpdesk',
  })
})

it('events are filtered, and a page ends where the next one begins', async () => {
  const page = await get<{ events: AdminEvent[]; next: string | null }>('/events')
  expect(page.events).toHaveLength(Math.min(100, page.events.length))
  const next = await get<{ events: AdminEvent[] }>(`/events?after=${page.next ?? page.events.at(-1)?.id}`)
  expect(next.events.filter(({ id }) => page.events.some((event) => event.id === id))).toEqual([])
  const kinds = new Set(
    (await get<{ events: AdminEvent[] }>('/events?kind=signed_in,registered')).events.map((e) => e.kind),
  )
  expect([...kinds].filter((kind) => !['signed_in', 'registered'].includes(kind))).toEqual([])
  for (const query of ['kind=nothing', 'ip=nowhere', 'after=x', 'since=yesterday', 'since=2027-02-28T23:59:60Z'])
    expect((await send('GET', `/events?${query}`)).body.code, query).toBe('bad_request')
  for (const early of ['0001-01-01T00:00:00Z', '1969-01-01T00:00:00Z'])
    expect((await get<{ events: AdminEvent[] }>(`/events?since=${early}`)).events.length).toBeGreaterThan(0)
  const [newest] = page.events
  const before = await get<{ events: AdminEvent[] }>(`/events?until=${newest?.createdAt}`)
  expect(before.events.map(({ id }) => id)).not.toContain(newest?.id)
  expect((await send('GET', '/events?until=2027-02-28T23:59:60Z')).body.code).toBe('bad_request')
  expect((await get<{ events: AdminEvent[] }>('/events?ip=command%20line')).events.length).toBeGreaterThan(0)
})

import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type AdminEvent, adminPath } from '#contract/admin/admin-bodies.js'
import { minutes } from '../../src/lib/durations.js'
import { idOf, signedUpInGroup } from '../support/administrators.js'
import type { Browser } from '../support/client.js'
import { type Latchkey, startLatchkey } from '../support/latchkey.js'

type Reader = Awaited<ReturnType<typeof signedUpInGroup>>

let latchkey: Latchkey
let root: Reader
let helper: Reader
let ada: Browser
let adaId: string
beforeAll(async () => {
  latchkey = await startLatchkey({ settings: { ADMIN_GROUP: 'admins', SUPPORT_GROUP: 'helpdesk' } })
  root = await signedUpInGroup(latchkey, 'root1', 'admins')
  helper = await signedUpInGroup(latchkey, 'helper', 'helpdesk')
  ada = await latchkey.signedUp('ada', { email: 'secret-address@example.com' })
  adaId = await idOf(latchkey, 'ada')
})
afterAll(() => latchkey.stop())

const get = (reader: Reader, path: string) => reader.tab.get(`${adminPath}${path}`)
const search = (reader: Reader, list: 'users' | 'events', query: object) =>
  reader.tab.act(`${adminPath}/${list}/search`, query)
const passMinutes = async (count: number) => {
  await latchkey.advance(count * minutes)
  for (const tab of [root.tab, helper.tab, ada]) await tab.post('/api/auth/refresh')
}
const readings = (...kinds: string[]) =>
  latchkey.sql.query(
    `select kind, user_id, reason, actor_name, session_id from events where kind = any($1::text[]) order by id`,
    [kinds],
  )
const requestLines = () =>
  latchkey.logLines
    .map((line) => JSON.parse(line))
    .filter(({ msg, path }) => msg === 'request' && String(path).startsWith(adminPath))

describe('what administrators and support read', () => {
  it('is an event with the reader for each user whose details they open, once in 15 minutes', async () => {
    for (const reader of [helper, helper, root]) expect((await get(reader, `/users/${adaId}`)).status).toBe(200)
    const byHelper = { kind: 'user_viewed', user_id: adaId, reason: null, actor_name: 'helper', session_id: null }
    expect(await readings('user_viewed')).toEqual([byHelper, { ...byHelper, actor_name: 'root1' }])
    await passMinutes(16)
    await get(helper, `/users/${adaId}`)
    expect(await readings('user_viewed')).toHaveLength(3)
    // Administrators see who has looked, and the user is not told: it is nothing that has happened to the account.
    const { events } = (await get(helper, `/users/${adaId}`)).body as { events: AdminEvent[] }
    expect(events.map(({ kind, actor }) => `${kind} ${actor}`)).toContain('user_viewed root1')
    expect(JSON.stringify((await ada.get('/api/auth/events')).body)).not.toContain('viewed')
  })

  it('is an event for a search and a list, by either form, with the names of the filters and no value', async () => {
    await search(root, 'users', { search: 'secret-addr', state: 'active' })
    await get(root, '/users?search=secret-addr&state=active')
    await search(root, 'users', {})
    await search(helper, 'events', { user: 'secret-address@example.com', kind: 'signed_in' })
    await search(helper, 'events', { user: 'unknown-secret@example.com', ip: '192.0.2.7' })
    expect(await readings('users_searched', 'events_searched')).toEqual([
      { kind: 'users_searched', user_id: null, reason: 'search state', actor_name: 'root1', session_id: null },
      { kind: 'users_searched', user_id: null, reason: null, actor_name: 'root1', session_id: null },
      { kind: 'events_searched', user_id: adaId, reason: 'kind user', actor_name: 'helper', session_id: null },
      { kind: 'events_searched', user_id: null, reason: 'ip user', actor_name: 'helper', session_id: null },
    ])
    const texts = await latchkey.sql.query<{ text: string }>('select events::text as text from events')
    expect(texts.map(({ text }) => text).join()).not.toMatch(/secret-addr|unknown-secret/)
    expect(
      requestLines()
        .map((line) => JSON.stringify(line))
        .join(),
    ).not.toMatch(/secret/)
  })

  it('is in the line of the request, with the id of the reader, also if it is refused', async () => {
    const before = requestLines().length
    await get(root, '/overview')
    await get(helper, '/users/nobody')
    await helper.tab.send('POST', `${adminPath}/groups`, { name: 'x' }, { csrf: true })
    await ada.get(`${adminPath}/overview`)
    expect(
      requestLines()
        .slice(before)
        .map(({ status, actorId }) => [status, actorId]),
    ).toEqual([
      [200, root.id],
      [404, helper.id],
      [403, helper.id],
      [404, undefined],
    ])
  })

  it('is not shown if the event cannot be written', async () => {
    await passMinutes(16)
    const constraint = `no_trace check (kind not in ('user_viewed', 'users_searched', 'events_searched')) not valid`
    await latchkey.sql.query(`alter table events add constraint ${constraint}`)
    const answers = [
      await get(root, `/users/${adaId}`),
      await get(root, '/users'),
      await search(root, 'users', {}),
      await search(root, 'events', {}),
    ]
    expect(answers.map(({ status }) => status)).toEqual([500, 500, 500, 500])
    await latchkey.sql.query('alter table events drop constraint no_trace')
    expect((await get(root, `/users/${adaId}`)).status).toBe(200)
  })
})

it('a search in a body answers as the same one in the address', async () => {
  const queries: Record<string, string>[] = [
    { search: 'ada' },
    { group: 'admins' },
    { state: 'active', factor: 'none' },
  ]
  for (const query of queries) {
    const [byBody, byAddress] = [
      await search(helper, 'users', query),
      await get(helper, `/users?${new URLSearchParams(query)}`),
    ]
    expect([byBody.status, byBody.body]).toEqual([200, byAddress.body])
  }
  const { body } = await search(root, 'events', { user: 'ada', kind: 'registered,user_viewed' })
  expect(body).toEqual((await get(root, '/events?user=ada&kind=registered,user_viewed')).body)
  expect(body.events).not.toEqual([])
  for (const [list, query] of [
    ['users', { search: 7 }],
    ['users', { after: 'nonsense' }],
    ['users', []],
    ['events', { kind: 'unknown' }],
    ['events', { since: 'yesterday' }],
  ] as const)
    expect((await search(root, list, query)).status, JSON.stringify(query)).toBe(400)
})

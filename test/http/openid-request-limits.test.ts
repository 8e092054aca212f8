import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { limiterKey, limiters, userSubject } from '../../src/http/limiters.js'
import { minutes, seconds } from '../../src/lib/durations.js'
import { addApplication } from '../support/applications.js'
import { parametersFor } from '../support/authorization-requests.js'
import { callerOf } from '../support/authorizations.js'
import type { Browser } from '../support/client.js'
import { goodPassword, type Latchkey, startLatchkey } from '../support/latchkey.js'

let latchkey: Latchkey
let id: string
beforeAll(async () => {
  latchkey = await startLatchkey()
  id = (await addApplication(latchkey, { name: 'Grafana' })).id
})
afterAll(() => latchkey.stop())

type Changed = Record<string, string | null>
type State = { request?: string; next: string; location?: string }
const path = '/api/auth/authorization'
const begin = async (tab: Browser, changed: Changed = {}) => {
  const { status, text, body } = await tab.post(path, { parameters: parametersFor(id, changed) })
  if (status !== 200) throw new Error(`${status}: ${text}`)
  return body as State
}
const told = ({ location = '' }: State) => Object.fromEntries(new URL(location).searchParams)

describe('300 new requests in 15 minutes', () => {
  const { limit } = limiters.authorization_requests
  const use = (subject: string) => {
    const key = limiterKey('authorization_requests', subject)
    const { cache } = latchkey.app.platform
    return Promise.all(Array.from({ length: limit.maximum }, () => cache.reserve(key, limit)))
  }
  const stored = async () =>
    (await latchkey.sql.query<{ count: number }>('select count(*)::int from authorization_requests'))[0]?.count

  it('are enough for the strangers of a network, and a signed-in user there has an own count, of all sessions together', async () => {
    const member = await latchkey.signedUp('member')
    const elsewhere = latchkey.browser()
    await elsewhere.post('/login', { username: 'member', password: goodPassword })
    const tab = latchkey.browser()
    await use('127.0.0.1')
    const before = await stored()
    for (const changed of [{}, { prompt: 'none' }] as Changed[]) {
      const busy = await begin(tab, changed)
      expect([busy.next, busy.request]).toEqual(['done', undefined])
      expect(told(busy)).toMatchObject({
        error: 'temporarily_unavailable',
        state: 'the state',
        iss: `${latchkey.url}/api/auth`,
      })
    }
    for (const changed of [{ redirect_uri: 'https://evil.example/' }, { client_id: 'nobody' }] as Changed[]) {
      const refused = await tab.post(path, { parameters: parametersFor(id, changed) })
      expect([refused.status, refused.body.location]).toEqual([429, undefined])
      expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0)
    }
    expect(await stored()).toBe(before)
    expect(told(await begin(member)).code).toEqual(expect.any(String))
    expect((await begin(member, { prompt: 'login' })).next).toBe('prove')
    await use(userSubject((await callerOf(latchkey, 'member')).userId))
    const stranger = await latchkey.signedUp('neighbour')
    for (const browser of [member, elsewhere]) expect(told(await begin(browser)).error).toBe('temporarily_unavailable')
    expect(told(await begin(stranger)).code).toEqual(expect.any(String))
    await latchkey.advance(15 * minutes + 1)
    expect((await begin(tab)).next).toBe('sign_in')
  })

  it('are not stored if they ask nothing', async () => {
    const tab = await latchkey.signedUp('quiet')
    const before = await stored()
    for (let time = 0; time < 3; time += 1)
      expect(told(await begin(tab, { prompt: 'none' })).code).toEqual(expect.any(String))
    expect(told(await begin(latchkey.browser(), { prompt: 'none' })).error).toBe('login_required')
    expect(told(await begin(tab, { prompt: 'none', max_age: '0' })).error).toBe('interaction_required')
    expect(await stored()).toBe(before)
    expect(tab.jar.get('attempt_browser')).toBeUndefined()
  })
})

it('a network that sends many forms gets a page that asks to wait, and links still work', async () => {
  const { limit } = limiters.posted_pages
  const post = (address: string, headers: Record<string, string> = {}) =>
    fetch(`${latchkey.url}/api/auth/${address}`, { method: 'POST', headers, body: new URLSearchParams({ state: 'x' }) })
  const posted = await post('authorize', { 'accept-encoding': 'br, gzip' })
  expect([posted.status, posted.headers.get('content-encoding')]).toEqual([200, null])
  const key = limiterKey('posted_pages', '127.0.0.1')
  await Promise.all(Array.from({ length: limit.maximum - 2 }, () => latchkey.app.platform.cache.reserve(key, limit)))
  expect((await post('end-session')).status).toBe(200)
  for (const address of ['authorize', 'end-session']) {
    const refused = await post(address, { 'accept-language': 'de' })
    expect([refused.status, refused.headers.get('content-type')]).toEqual([429, 'text/html; charset=utf-8'])
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0)
    expect(await refused.text()).toContain('<h1>Zu viele Anfragen</h1>')
    expect((await latchkey.browser().get(`/api/auth/${address}`)).status).toBe(200)
  }
  expect((await begin(latchkey.browser())).next).toBe('sign_in')
  await latchkey.advance(15 * minutes + 1)
  expect((await post('authorize')).status).toBe(200)
})

it('a browser signs in anew if it has an access token alone, or of another session, or one that the database has ended', async () => {
  const tab = await latchkey.signedUp('half')
  const alone = tab.copy()
  alone.jar.delete('refresh_token')
  const mixed = tab.copy()
  mixed.jar.set('refresh_token', (await latchkey.signedUp('otherhalf')).jar.get('refresh_token') ?? '')
  for (const half of [alone, mixed]) {
    expect((await begin(half)).next).toBe('sign_in')
    expect(told(await begin(half, { prompt: 'none' })).error).toBe('login_required')
  }
  expect((await begin(tab)).next).toBe('done')
  await latchkey.sql.query('delete from sessions where id = $1', [(await callerOf(latchkey, 'half')).sessionId])
  expect((await begin(tab)).next).toBe('sign_in')
})

describe('a code needs a refresh token that a refresh would accept', () => {
  const refresh = async (tab: Browser) => expect((await tab.post('/api/auth/refresh')).status).toBe(200)
  const rows = async (statement: string, username: string) =>
    (await latchkey.sql.query(`${statement} in (select id from users where username = $1)`, [username])).length
  const traces = async (name: string) => ({
    codes: await rows(
      `select 1 from authorization_codes as c join application_sessions as s on s.id = c.application_session_id where s.user_id`,
      name,
    ),
    thefts: await rows("select 1 from events where kind = 'refresh_theft' and user_id", name),
  })
  const access = async (tab: Browser) => (await tab.get('/api/auth/me')).status

  it.each<[string, string, Changed, (owner: Browser, thief: Browser) => void]>([
    ['with the other cookies of that time', 'copied', {}, () => undefined],
    ['in silence', 'copied-silently', { prompt: 'none' }, () => undefined],
    [
      'beside the newest access token',
      'copied-half',
      {},
      (owner, thief) => thief.jar.set('access_token', owner.jar.get('access_token') ?? ''),
    ],
  ])('one that was copied before a refresh ends the session and tells its owner: %s', async (_, name, changed, mix) => {
    const owner = await latchkey.signedUp(name)
    const thief = owner.copy()
    await refresh(owner)
    await latchkey.advance(31 * seconds)
    mix(owner, thief)
    expect(await access(thief)).toBe(200)
    const answer = await begin(thief, changed)
    if (changed.prompt === 'none') expect(told(answer)).toMatchObject({ error: 'login_required' })
    else expect(answer.next).toBe('sign_in')
    // No page finds a session any more: the sign-in page cannot lead back here by itself.
    expect([await access(thief), await access(owner)]).toEqual([401, 401])
    expect(await traces(name)).toEqual({ codes: 0, thefts: 1 })
    await latchkey.mailTo(`${name}@example.com`, /may have been copied/)
  })

  it('another tab may have refreshed a moment ago', async () => {
    const tab = await latchkey.signedUp('tabs')
    const other = tab.copy()
    await refresh(tab)
    for (const changed of [{}, { prompt: 'none' }] as Changed[]) {
      expect(told(await begin(other, changed)).code).toEqual(expect.any(String))
      expect(told(await begin(tab, changed)).code).toEqual(expect.any(String))
    }
    expect(await traces('tabs')).toEqual({ codes: 4, thefts: 0 })
  })

  it('one that another tab has replaced a moment ago gets no code and ends nothing', async () => {
    const tab = await latchkey.signedUp('replaced')
    const other = tab.copy()
    expect((await tab.act('/api/auth/step-up', { password: goodPassword })).status).toBe(200)
    other.jar.set('access_token', tab.jar.get('access_token') ?? '')
    expect((await begin(other)).next).toBe('sign_in')
    expect(told(await begin(tab)).code).toEqual(expect.any(String))
    expect(await traces('replaced')).toEqual({ codes: 1, thefts: 0 })
  })

  it('one that is newer than its row is good: the database has lost a write', async () => {
    const tab = await latchkey.signedUp('newer')
    await refresh(tab)
    await latchkey.sql.query(
      `update sessions set generation = 0, token_hash = previous_hash, previous_hash = null where id = $1`,
      [(await callerOf(latchkey, 'newer')).sessionId],
    )
    expect(told(await begin(tab)).code).toEqual(expect.any(String))
  })
})

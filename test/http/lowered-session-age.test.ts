import { afterAll, beforeAll, expect, it } from 'vitest'
import { createGuard } from '#verify/guard.js'
import { createVerifier } from '#verify/verifier.js'
import { createStats } from '../../src/admin/stats.js'
import { days, hours, minutes } from '../../src/lib/durations.js'
import { type Browser, createBrowser } from '../support/client.js'
import { goodPassword, type Latchkey, startLatchkey } from '../support/latchkey.js'

const secret = '7e4f3a1c9e07b5d482693ae10cf7d86b24e5908d1f7a63bc4e2971d05f8ab36c'
let latchkey: Latchkey
/** The same service, started again with a lower SESSION_MAX_AGE. */
let lowered: Latchkey

beforeAll(async () => {
  latchkey = await startLatchkey({ settings: { JWT_SECRET: secret } })
  const { databaseUrl, redisUrl = '', redisPrefix } = latchkey.config
  const stores = { DATABASE_URL: databaseUrl, REDIS_URL: redisUrl, REDIS_PREFIX: redisPrefix }
  const settings = { ...stores, JWT_SECRET: secret, PUBLIC_URL: latchkey.url, SESSION_MAX_AGE: '1d' }
  lowered = await startLatchkey({ settings, clock: latchkey.clock })
})
afterAll(async () => {
  await lowered?.stop()
  await latchkey?.stop()
})

const loweredUrl = () => `http://localhost:${lowered.config.port}`
/** A copy of this browser that asks the other instance. */
const atLowered = (tab: Browser) => createBrowser(loweredUrl(), tab.copy().jar)
const signIn = async (username: string) => {
  const tab = latchkey.browser()
  expect((await tab.post('/login', { username, password: goodPassword })).status).toBe(200)
  return tab
}
const cleared = (cookies: readonly string[]) => cookies.filter((line) => line.includes('; Max-Age=0; ')).length

it('ends the sessions that are older, wherever the service checks whether a session is live', async () => {
  const old = await latchkey.signedUp('ada')
  await latchkey.advance(1 * days + 1 * hours)
  const unused = old.copy()
  expect((await old.post('/api/auth/refresh')).status).toBe(200)
  const young = await signIn('ada')
  const me = (await young.get('/api/auth/me')).body as { user: { id: string }; sessionId: string }

  const refreshed = await atLowered(old).post('/api/auth/refresh')
  expect([refreshed.status, cleared(refreshed.setCookies)]).toEqual([401, 2])
  const expired = atLowered(old)
  expired.jar.delete('access_token')
  const renewed = await expired.get('/api/auth/verify?renew=1')
  expect([renewed.status, renewed.setCookies]).toEqual([401, []])
  // Within the grace time, the previous token gets its successor again, but not in a session that is over.
  expect((await atLowered(unused).post('/api/auth/refresh')).status).toBe(401)
  expect((await unused.copy().post('/api/auth/refresh')).status).toBe(200)

  expect((await atLowered(old).act('/api/auth/step-up', { password: goodPassword })).status).toBe(401)
  expect((await atLowered(old).remove(`/api/auth/sessions/${me.sessionId}`)).status).toBe(401)
  const passwords = { currentPassword: goodPassword, newPassword: 'copper-Lagoon-47-meadow' }
  expect((await atLowered(old).act('/api/auth/change-password', passwords)).status).toBe(401)
  const listed = async (tab: Browser) => ((await tab.get('/api/auth/sessions')).body.sessions as unknown[]).length
  expect([await listed(young), await listed(atLowered(young))]).toEqual([2, 1])
  expect(await lowered.app.rooms.sessionLookups.list(me.user.id)).toHaveLength(1)
  const counted = async (session: number) => {
    const lifetimes = { ...latchkey.config.lifetimes, session }
    const stats = createStats({ database: latchkey.sql, clock: latchkey.clock, lifetimes })
    return (await stats.since(new Date(0))).sessions
  }
  expect([await counted(365 * days), await counted(1 * days)]).toEqual([2, 1])

  expect((await old.post('/api/auth/refresh')).status).toBe(200)
  expect((await atLowered(young).post('/api/auth/refresh')).status).toBe(200)
})

it('gives a session that is nearly over tokens and cookies for the rest of it', async () => {
  const tab = await latchkey.signedUp('bea')
  await latchkey.advance(1 * days - 5 * minutes)
  const { status, setCookies, body } = await atLowered(tab).post('/api/auth/refresh')
  expect(status).toBe(200)
  const ages = setCookies.map((line) => Number(/^\w+=[\w.-]+; Max-Age=(\d+)/.exec(line)?.[1])).filter((age) => age > 0)
  expect(ages).toHaveLength(2)
  for (const age of ages) expect(age).toBeLessThanOrEqual(300)
  const left = Date.parse(String(body.accessTokenExpiresAt)) - latchkey.clock.now().getTime()
  expect(left).toBeLessThanOrEqual(5 * minutes)
  // The parent of a token that was signed for longer, within the grace time.
  const parent = await signIn('bea')
  await latchkey.advance(1 * days - 5 * minutes)
  const copy = parent.copy()
  await parent.post('/api/auth/refresh')
  const again = await atLowered(copy).post('/api/auth/refresh')
  expect(again.status).toBe(200)
  const shown = again.setCookies.map((line) => Number(/^\w+=[\w.-]+; Max-Age=(\d+)/.exec(line)?.[1]))
  expect(Math.max(...shown.filter((age) => age > 0))).toBeLessThanOrEqual(300)
})

it('is a sign-out for the guard of an application', async () => {
  const tab = await latchkey.signedUp('cy')
  const now = () => latchkey.clock.now().getTime()
  const verifier = createVerifier({ publicUrl: latchkey.url, serviceUrl: loweredUrl(), secret, now })
  const guard = createGuard(verifier)
  const ask = async () => {
    const headers = { cookie: `refresh_token=${tab.copy().jar.get('refresh_token')}` }
    const decision = await guard({ method: 'GET', path: '/', headers })
    return 'answer' in decision ? decision.answer.status : 'passed'
  }
  await latchkey.advance(1 * days + 1 * minutes)
  expect(await ask()).toBe(401)
})

it('lets housekeeping delete them, which refuses their access tokens too', async () => {
  const old = await latchkey.signedUp('dot')
  await latchkey.advance(1 * days)
  expect((await old.post('/api/auth/refresh')).status).toBe(200)
  const copy = atLowered(old)
  expect((await copy.get('/api/auth/me')).status).toBe(200)
  await lowered.app.rooms.sessions.purge(latchkey.sql, 1_000)
  await expect.poll(async () => (await copy.get('/api/auth/me')).status).toBe(401)
  expect((await old.post('/api/auth/refresh')).status).toBe(401)
})

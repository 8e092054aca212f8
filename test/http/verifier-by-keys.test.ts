import { afterAll, beforeAll, expect, it } from 'vitest'
import { fetchGuard } from '#verify/fetch.js'
import { createVerifier, type Verifier } from '#verify/verify.js'
import { minutes } from '../../src/lib/durations.js'
import { type Browser, createBrowser } from '../support/client.js'
import { createMovableClock } from '../support/clock.js'
import { createCookieJar } from '../support/cookie-jar.js'
import { type Latchkey, startLatchkey } from '../support/latchkey.js'

// Two instances of one service: one still signs with the secret, and the other begins to sign with keys.
const clock = createMovableClock()
let bySecret: Latchkey
let byKey: Latchkey
let serviceUrl: string
/** The verifiers of two programs: one has the secret, the other reads the published keys. */
let withSecret: Verifier
let withKeys: Verifier
const problems: string[] = []

beforeAll(async () => {
  bySecret = await startLatchkey({ clock })
  const { databaseUrl, redisUrl = '', redisPrefix } = bySecret.config
  const secret = bySecret.app.platform.secrets.join(',')
  const stores = { DATABASE_URL: databaseUrl, REDIS_URL: redisUrl, REDIS_PREFIX: redisPrefix, JWT_SECRET: secret }
  const settings = { ...stores, PUBLIC_URL: bySecret.url, ACCESS_TOKEN_ALGORITHM: 'ES256' }
  byKey = await startLatchkey({ settings, clock })
  serviceUrl = `http://localhost:${byKey.config.port}`
  const publicUrl = bySecret.url
  const now = () => clock.now().getTime()
  withSecret = createVerifier({ publicUrl, secret, now })
  withKeys = createVerifier({ publicUrl, serviceUrl, jwks: true, now, onProblem: (message) => problems.push(message) })
  await withKeys.ready()
})
afterAll(async () => {
  await byKey?.stop()
  await bySecret?.stop()
})

const requestOf = ({ jar }: Browser) => new Request(serviceUrl, { headers: { cookie: jar.header() } })
const codeOf = async (verifier: Verifier, tab: Browser) => {
  const result = await verifier.verify(requestOf(tab))
  return result.ok ? result.user.username : result.code
}
/** The same browser at the instance that signs with keys. */
const atKeys = ({ jar }: Browser) => createBrowser(serviceUrl, createCookieJar(jar))
const refreshed = async (browser: Browser) => {
  const tab = atKeys(browser)
  expect((await tab.post('/api/auth/refresh')).status).toBe(200)
  return tab
}

it('each of two programs accepts the tokens of its own algorithm only', async () => {
  const before = await bySecret.signedUp('ada')
  expect([await codeOf(withSecret, before), await codeOf(withKeys, before)]).toEqual(['ada', 'unknown_key'])
  const after = await refreshed(before)
  expect([await codeOf(withSecret, after), await codeOf(withKeys, after)]).toEqual(['unknown_key', 'ada'])
  expect(await withKeys.verifyToken(after.jar.get('refresh_token'))).toEqual({ ok: false, code: 'unknown_key' })
})

it('a guard renews a good token of the other algorithm, so that a change of it refuses no user', async () => {
  const tab = await bySecret.signedUp('grace')
  tab.jar.set('theme', 'dark')
  const decision = await fetchGuard(withKeys)(requestOf(tab))
  if (!decision.goOn) throw new Error(`The guard answered with ${decision.response.status}`)
  expect(decision.auth?.user.username).toBe('grace')
  expect(await withKeys.verify({ headers: decision.headers })).toMatchObject({ ok: true, user: { username: 'grace' } })
  expect(decision.headers.get('cookie')?.match(/\w+(?==)/g)).toEqual([
    'known_device',
    'theme',
    'access_token',
    'refresh_token',
  ])
  tab.jar.keep(decision.finish(new Response('')).headers.getSetCookie())
  expect(await codeOf(withKeys, tab)).toBe('grace')
  expect(problems).toEqual([])
})

it('a withdrawn key is refused when the keys are read again, and its users are renewed', async () => {
  const tab = await refreshed(await bySecret.signedUp('hopper'))
  expect(await codeOf(withKeys, tab)).toBe('hopper')
  await byKey.app.rooms.signingKeys.replaceAll()
  await expect.poll(async () => (await atKeys(tab).get('/api/auth/me')).status).toBe(401)
  clock.advance(5 * minutes)
  expect(await codeOf(withKeys, tab)).toBe('unknown_key')
  const decision = await fetchGuard(withKeys)(requestOf(tab))
  expect(decision.goOn && decision.auth?.user.username).toBe('hopper')
})

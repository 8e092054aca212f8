import { generateKeyPairSync, sign } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { seconds } from '../../src/lib/durations.js'
import { type BoundBrowser, createBoundBrowser, newDeviceKey, signProof } from '../support/bound-browser.js'
import type { Answer } from '../support/client.js'
import { goodPassword, type Latchkey, startLatchkey } from '../support/latchkey.js'
import { answerOf, comeBack, startProviders, type TestProviders } from '../support/providers/test-providers.js'

const path = '/api/auth/bound/register'

let providers: TestProviders
let latchkey: Latchkey
/** Another instance on the same database, where nothing is offered. */
let off: Latchkey
beforeAll(async () => {
  providers = await startProviders()
  latchkey = await startLatchkey({ settings: { ...providers.settings, BOUND_SESSIONS: 'on' } })
  const { databaseUrl, redisUrl = '', redisPrefix, publicUrl } = latchkey.config
  const stores = { DATABASE_URL: databaseUrl, REDIS_URL: redisUrl, REDIS_PREFIX: redisPrefix }
  const shared = { ...stores, PUBLIC_URL: publicUrl, JWT_SECRET: latchkey.app.platform.secrets.join(',') }
  off = await startLatchkey({ settings: { ...shared, GENERAL_LIMIT: '3/15m' }, clock: latchkey.clock })
  await latchkey.signedUp('ada')
})
afterAll(async () => {
  await off.stop()
  await latchkey.stop()
  await providers.close()
})

const offerIn = ({ headers }: Answer) => headers.get('secure-session-registration')
const challengeOf = (offer: string | null) => /;challenge="([\w-]{43})"$/.exec(offer ?? '')?.[1] ?? ''

/** Signed in, and not bound yet: what the browser would sign. */
const signedIn = async (tab = createBoundBrowser(latchkey)) => {
  tab.device.binds = false
  const answer = await tab.post('/login', { username: 'ada', password: goodPassword })
  expect(answer.status).toBe(200)
  return { tab, challenge: challengeOf(offerIn(answer)) }
}

const proofFor = (challenge: string, key = newDeviceKey(), header: object = {}) =>
  signProof(key, challenge, { jwk: key.jwk, ...header })

const register = (tab: BoundBrowser, proof: string | undefined, options: object = {}) =>
  tab.send('POST', path, undefined, {
    byBrowser: true,
    headers: proof === undefined ? {} : { 'secure-session-response': proof },
    ...options,
  })

const isBound = async (tab: BoundBrowser) => {
  const { sessions } = (await tab.get('/api/auth/sessions')).body as {
    sessions: { bound: boolean; current: boolean }[]
  }
  return sessions.find(({ current }) => current)?.bound
}
const thefts = async () => (await latchkey.sql.query("select 1 from events where kind = 'refresh_theft'")).length

describe('a session that begins', () => {
  it('is offered to be bound, and the browser gets instructions that repeat the attributes of the cookie', async () => {
    const { tab, challenge } = await signedIn()
    const answer = await register(tab, proofFor(challenge))
    expect(answer.status).toBe(200)
    const [access = '', refresh = ''] = answer.setCookies.slice(-2)
    expect([access.split('=')[0], refresh.split('=')[0]]).toEqual(['access_token', 'refresh_token'])
    const { sessionId } = (await tab.get('/api/auth/me')).body
    expect(answer.body).toEqual({
      session_identifier: sessionId,
      refresh_url: '/api/auth/bound/refresh',
      scope: { include_site: false },
      credentials: [{ type: 'cookie', name: 'access_token', attributes: access.replace(/^.*?; Max-Age=\d+; /, '') }],
    })
    expect(answer.body.credentials).toEqual([
      { type: 'cookie', name: 'access_token', attributes: 'Path=/; HttpOnly; SameSite=Strict' },
    ])
    expect(await isBound(tab)).toBe(true)
  })

  it('is offered it once: neither a refusal, nor a refresh, nor `me` has the header', async () => {
    const tab = latchkey.browser()
    const wrong = await tab.post('/login', { username: 'ada', password: 'wrong' })
    await tab.post('/login', { username: 'ada', password: goodPassword })
    const others = [wrong, await tab.get('/api/auth/me'), await tab.post('/api/auth/refresh')]
    expect(others.map(offerIn)).toEqual([null, null, null])
  })

  it('after the redirect of a provider is offered it by the first request of a page, for a minute', async () => {
    const tab = createBoundBrowser(latchkey)
    const begun = await tab.get('/api/auth/provider-a')
    const callback = await answerOf(begun.headers.get('location') ?? '')
    const back = await comeBack(tab, callback)
    expect(back.setCookies?.some((line) => line.startsWith('access_token='))).toBe(true)
    expect(back.headers.get('secure-session-registration')).toBeNull()
    const late = tab.copy()
    expect(tab.device.sessions.size).toBe(0)
    const me = await tab.get('/api/auth/me')
    expect([me.status, offerIn(me)]).toEqual([200, expect.stringContaining(path)])
    expect(tab.device.sessions.size).toBe(1)
    expect(offerIn(await tab.get('/api/auth/me'))).toBeNull()
    // Whoever has the token from before is offered it, too, and cannot take it: the copy is old.
    expect(offerIn(await late.get('/api/auth/me'))).toContain(path)
    await latchkey.advance(61 * seconds)
    expect(offerIn(await late.get('/api/auth/me'))).toBeNull()
  })
})

describe('a registration is refused', () => {
  it('with 404 while the setting is off, whatever else is wrong', async () => {
    const { tab, challenge } = await signedIn()
    const elsewhere = createBoundBrowser(latchkey, { jar: tab.jar, reached: `http://127.0.0.1:${off.config.port}` })
    for (let round = 0; round < 5; round += 1)
      expect((await register(elsewhere, proofFor(challenge), { byBrowser: false })).status).toBe(404)
    expect(await isBound(tab)).toBe(false)
    expect(offerIn(await elsewhere.post('/login', { username: 'ada', password: goodPassword }))).toBeNull()
  })

  it('if a script sends it, whose browser adds headers', async () => {
    const { tab, challenge } = await signedIn()
    for (const headers of [{ origin: latchkey.url }, { 'sec-fetch-site': 'same-origin' }]) {
      const proof = { 'secure-session-response': proofFor(challenge) }
      expect((await register(tab, undefined, { headers: { ...proof, ...headers } })).body.code).toBe('cross_site')
    }
    expect(await isBound(tab)).toBe(false)
  })

  it('without exactly one refresh cookie that is the newest of its session, and never with an alarm', async () => {
    const { tab, challenge } = await signedIn()
    const before = tab.copy()
    await tab.post('/api/auth/refresh')
    const proof = { 'secure-session-response': proofFor(challenge) }
    const cookieOf = (name: string) => `${name}=${before.jar.get(name)}`
    const withCookies = (cookie: string) =>
      latchkey.browser().send('POST', path, undefined, { byBrowser: true, headers: { ...proof, cookie } })
    const cookies = [
      cookieOf('access_token'),
      `${cookieOf('refresh_token')}; ${cookieOf('refresh_token')}`,
      'refresh_token=not.of.ours',
      cookieOf('refresh_token'),
    ]
    await latchkey.advance(31 * seconds)
    for (const cookie of cookies) {
      const answer = await withCookies(cookie)
      expect([answer.status, answer.setCookies, answer.body.code], cookie).toEqual([401, [], 'not_authenticated'])
    }
    expect(await thefts()).toBe(0)
    expect((await tab.post('/api/auth/refresh')).status).toBe(200)
  })

  it('with 409 once it is bound, and the owner goes on', async () => {
    const { tab, challenge } = await signedIn()
    const first = await register(tab, proofFor(challenge))
    expect(first.status).toBe(200)
    const second = await register(tab, proofFor(challenge))
    expect([second.status, second.body.code, second.setCookies]).toEqual([409, 'session_bound', []])
  })

  const rsa = generateKeyPairSync('rsa', { modulusLength: 2048 })
  const [p256, p384, other] = [newDeviceKey(), newDeviceKey('P-384'), newDeviceKey()]
  const part = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url')
  const unsigned = (challenge: string) =>
    `${part({ alg: 'none', typ: 'dbsc+jwt', jwk: p256.jwk })}.${part({ jti: challenge })}.`
  const byRsa = (challenge: string) => {
    const jwk = rsa.publicKey.export({ format: 'jwk' })
    const text = `${part({ alg: 'RS256', typ: 'dbsc+jwt', jwk })}.${part({ jti: challenge })}`
    return `${text}.${sign('sha256', Buffer.from(text), rsa.privateKey).toString('base64url')}`
  }
  const zero = Buffer.alloc(32).toString('base64url')
  it.each<[string, (challenge: string) => string | undefined]>([
    ['without a proof', () => undefined],
    ['without a signature', unsigned],
    ['with an empty algorithm and a signature', (challenge) => proofFor(challenge, p256, { alg: '' })],
    ['by RS256', byRsa],
    ['by a key of P-384', (challenge) => proofFor(challenge, p384)],
    ['by P-384 that says it is ES384', (challenge) => proofFor(challenge, p384, { alg: 'ES384' })],
    ['of another type', (challenge) => proofFor(challenge, p256, { typ: 'JWT' })],
    ['by another key than the one it names', (challenge) => proofFor(challenge, p256, { jwk: other.jwk })],
    ['without a key', (challenge) => signProof(p256, challenge)],
    [
      'with a point that is not on the curve',
      (challenge) => proofFor(challenge, p256, { jwk: { ...p256.jwk, y: zero } }),
    ],
    [
      'with another challenge',
      (challenge) => proofFor(challenge.replace(/^./, (first) => (first === 'A' ? 'B' : 'A'))),
    ],
    ['with no challenge', () => proofFor('')],
    ['of more than 2 KB', (challenge) => proofFor(challenge, p256, { more: 'x'.repeat(2000) })],
  ])('for a proof %s, and the session stays as it was', async (_, make) => {
    const { tab, challenge } = await signedIn()
    const answer = await register(tab, make(challenge))
    expect([answer.status, answer.setCookies, answer.body.code]).toEqual([401, [], 'not_authenticated'])
    expect(await isBound(tab)).toBe(false)
    // Nothing was lost: the right proof still works.
    expect((await register(tab, `"${proofFor(challenge)}"`)).status).toBe(200)
  })

  it('with the challenge of another session, and with its own after a minute', async () => {
    const [one, two] = [await signedIn(), await signedIn()]
    expect((await register(one.tab, proofFor(two.challenge))).status).toBe(401)
    await latchkey.advance(61 * seconds)
    expect((await register(one.tab, proofFor(one.challenge))).status).toBe(401)
    expect(await isBound(one.tab)).toBe(false)
  })

  it('with 429 when there are too many, which is the limit of refreshes', async () => {
    const { publicUrl, databaseUrl, redisUrl = '' } = latchkey.config
    const stores = { DATABASE_URL: databaseUrl, REDIS_URL: redisUrl, REDIS_PREFIX: 'few:', PUBLIC_URL: publicUrl }
    const JWT_SECRET = latchkey.app.platform.secrets.join(',')
    const settings = { ...stores, JWT_SECRET, BOUND_SESSIONS: 'on', GENERAL_LIMIT: '2/15m' }
    const strict = await startLatchkey({ settings, clock: latchkey.clock })
    const { tab, challenge } = await signedIn()
    const elsewhere = createBoundBrowser(latchkey, { jar: tab.jar, reached: `http://127.0.0.1:${strict.config.port}` })
    const statuses = []
    // A script is refused only behind the limit.
    for (let round = 0; round < 3; round += 1)
      statuses.push((await register(elsewhere, proofFor(challenge), { byBrowser: false })).status)
    statuses.push((await register(elsewhere, proofFor(challenge))).status)
    expect(statuses).toEqual([403, 403, 429, 429])
    expect((await register(tab, proofFor(challenge))).status).toBe(200)
    await strict.stop()
  })
})

describe('a registration', () => {
  it('that is raced by another one binds one key, and the other gets 409', async () => {
    const { tab, challenge } = await signedIn()
    const thief = newDeviceKey()
    const raced = await Promise.all([register(tab, proofFor(challenge)), register(tab, proofFor(challenge, thief))])
    const statuses = raced.map(({ status }) => status).sort()
    // The later one finds the session bound, or its own token replaced.
    expect(statuses[0]).toBe(200)
    expect([401, 409]).toContain(statuses[1])
    expect(await thefts()).toBe(0)
  })

  it('makes a copy of the cookies from before old', async () => {
    const { tab, challenge } = await signedIn()
    const thief = tab.copy()
    expect((await register(tab, proofFor(challenge))).status).toBe(200)
    thief.jar.delete('access_token')
    expect((await thief.post('/api/auth/refresh')).body.code).toBe('device_proof_missing')
    expect((await tab.get('/api/auth/me')).status).toBe(200)
  })

  it('after a copy of the cookies was renewed is refused, and the session goes on unbound', async () => {
    const { tab, challenge } = await signedIn()
    const thief = tab.copy()
    await thief.post('/api/auth/refresh')
    expect((await register(tab, proofFor(challenge))).status).toBe(401)
    expect((await tab.post('/api/auth/refresh')).status).toBe(200)
    expect(await isBound(tab)).toBe(false)
  })
})

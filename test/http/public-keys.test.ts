import { createRemoteJWKSet, decodeProtectedHeader, jwtVerify } from 'jose'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createVerifier } from '#verify/verify.js'
import { openRoomsForCommand } from '../../src/commands/open-for-commands.js'
import { minutes } from '../../src/lib/durations.js'
import { startApp } from '../../src/service/open-service.js'
import { type Browser, createBrowser } from '../support/client.js'
import { createMovableClock } from '../support/clock.js'
import { goodPassword, type Latchkey, sharedParts, startLatchkey } from '../support/latchkey.js'
import { secretOf } from '../support/site/instance.js'
import { latchkey } from '../support/terminal.js'
import { until } from '../support/until.js'

// Two instances of one service: one still signs with the secret, and the other begins to sign with keys.
const clock = createMovableClock()
let bySecret: Latchkey
let byKey: Latchkey
beforeAll(async () => {
  bySecret = await startLatchkey({ clock })
  const { databaseUrl, redisUrl = '', redisPrefix } = bySecret.config
  const JWT_SECRET = bySecret.app.platform.secrets.join(',')
  const stores = { DATABASE_URL: databaseUrl, REDIS_URL: redisUrl, REDIS_PREFIX: redisPrefix, JWT_SECRET }
  expect(await keySetAt(bySecret)).toMatchObject({ status: 200, body: { keys: [] } })
  const settings = { ...stores, PUBLIC_URL: bySecret.url, ACCESS_TOKEN_ALGORITHM: 'ES256' }
  byKey = await startLatchkey({ settings, clock })
})
afterAll(async () => {
  await byKey.stop()
  await bySecret.stop()
})

/** The same browser at one of the instances. */
const at = ({ config }: Latchkey, jar: ReadonlyMap<string, string> = new Map()) => {
  const tab = createBrowser(`http://localhost:${config.port}`)
  for (const [name, value] of jar) tab.jar.set(name, value)
  return tab
}
const keySetAt = (instance: Latchkey) => at(instance).get('/.well-known/jwks.json')
const kidsAt = async (instance: Latchkey) =>
  ((await keySetAt(instance)).body.keys as { kid: string }[]).map(({ kid }) => kid)
const accessTokenOf = ({ jar }: Browser) => jar.get('access_token') ?? ''
const meAt = async (instance: Latchkey, { jar }: Browser) => (await at(instance, jar).get('/api/auth/me')).status
const signIn = async (instance: Latchkey) => {
  const tab = at(instance)
  expect((await tab.post('/login', { username: 'ada', password: goodPassword })).status).toBe(200)
  return tab
}

describe('access tokens that are signed with keys', () => {
  it('are accepted at once where no key was known before, and tokens of the secret where keys sign', async () => {
    const first = await bySecret.signedUp('ada')
    expect(decodeProtectedHeader(accessTokenOf(first)).alg).toBe('HS256')
    expect(await meAt(byKey, first)).toBe(200)
    const second = await signIn(byKey)
    expect(decodeProtectedHeader(accessTokenOf(second))).toMatchObject({ alg: 'ES256', typ: 'at+jwt' })
    expect(decodeProtectedHeader(second.jar.get('refresh_token') ?? '').alg).toBe('HS256')
    expect(await meAt(bySecret, second)).toBe(200)
    // The second time it is the access check in front of the framework that answers.
    for (const instance of [bySecret, byKey]) expect(await meAt(instance, second)).toBe(200)
    expect((await at(bySecret, second.jar).post('/api/auth/refresh')).status).toBe(200)
  })

  it('are verified by another library with nothing but the address of the service', async () => {
    const tab = await signIn(byKey)
    const keys = createRemoteJWKSet(new URL(`http://localhost:${byKey.config.port}/.well-known/jwks.json`))
    const { payload } = await jwtVerify(accessTokenOf(tab), keys, {
      ...{ issuer: byKey.url, audience: byKey.url, typ: 'at+jwt', algorithms: ['ES256'] },
      currentDate: clock.now(),
    })
    expect(payload).toMatchObject({ username: 'ada', email: 'ada@example.com', amr: ['pwd'] })
  })

  it('are verified by our own package, which takes no token of the secret then', async () => {
    const serviceUrl = `http://localhost:${byKey.config.port}`
    const now = () => clock.now().getTime()
    const verifier = createVerifier({ publicUrl: byKey.url, serviceUrl, jwks: true, now })
    const tab = await signIn(byKey)
    expect(await verifier.verifyToken(accessTokenOf(tab))).toMatchObject({ ok: true, claims: { username: 'ada' } })
    const bySecretToken = accessTokenOf(await signIn(bySecret))
    expect(await verifier.verifyToken(bySecretToken)).toMatchObject({ ok: false })
    verifier.close()
  })

  it('have public keys that anyone may read and caches may keep, with no private part', async () => {
    const { status, headers, body } = await keySetAt(byKey)
    expect(status).toBe(200)
    expect(headers.get('cache-control')).toBe('public, max-age=300')
    expect(headers.get('content-type')).toBe('application/json; charset=utf-8')
    const text = expect.stringMatching(/^[\w-]{43}$/)
    const key = { kty: 'EC', crv: 'P-256', x: text, y: text, kid: expect.any(String), alg: 'ES256', use: 'sig' }
    expect(body).toEqual({ keys: [key] })
    const crossSite = await at(byKey).get('/.well-known/jwks.json', { headers: { 'sec-fetch-site': 'cross-site' } })
    expect(crossSite.status).toBe(200)
  })

  it('are refused with a made-up key id, without a trace', async () => {
    const tab = await signIn(byKey)
    const [, rest = ''] = accessTokenOf(tab).split(/\.(.*)/s)
    const header = { alg: 'ES256', typ: 'at+jwt', kid: 'A'.repeat(16) }
    tab.jar.set('access_token', `${Buffer.from(JSON.stringify(header)).toString('base64url')}.${rest}`)
    for (const instance of [byKey, bySecret]) expect(await meAt(instance, tab)).toBe(401)
  })
})

it('a rotation refuses no request, at either instance', async () => {
  const before = await kidsAt(byKey)
  const tab = await signIn(byKey)
  const answers: number[] = []
  const kids = new Set<string | undefined>()
  const turns = [0, 0]
  let isOver = false
  const client = async (_: number, index: number) => {
    const own = await signIn(byKey)
    for (let turn = 0; !isOver; turn += 1) {
      turns[index] = turn
      const [here, there] = turn % 2 === 0 ? [byKey, bySecret] : [bySecret, byKey]
      const asker = at(here, own.jar)
      answers.push((await asker.post('/api/auth/refresh')).status)
      for (const [name, value] of asker.jar) own.jar.set(name, value)
      if (here === byKey) kids.add(decodeProtectedHeader(accessTokenOf(own)).kid)
      answers.push(await meAt(there, own), await meAt(here, own))
    }
  }
  const clients = Promise.all(turns.map(client))
  await byKey.app.rooms.signingKeys.rotate()
  const published = async () => (await kidsAt(byKey)).length === 2 && (await kidsAt(bySecret)).length === 2
  await until('both instances publish the new key', published)
  // Short steps: a token of a client must not expire between its refresh and its use.
  for (let step = 0; step < 8; step += 1) {
    const seen = [...turns]
    clock.advance(6 * minutes)
    await until('every client has gone on', () => turns.every((turn, index) => turn >= (seen[index] ?? 0) + 2))
  }
  isOver = true
  await clients
  expect(answers.filter((status) => status !== 200)).toEqual([])
  expect(kids.size).toBe(2)
  await until('the old key is gone', async () => (await kidsAt(byKey)).length === 1)
  expect(await kidsAt(byKey)).not.toEqual(before)
  expect(await meAt(byKey, tab)).toBe(401)
})

it('an instance without the key that sealed them does not start, and changes nothing', async () => {
  const rows = () => byKey.sql.query('select * from signing_keys order by id')
  const before = await rows()
  const config = { ...byKey.config, port: 0, jwtSecret: [secretOf('x')] }
  const { log } = byKey.app
  await expect(startApp(config, { clock, log, onFatal: () => undefined, ...(await sharedParts()) })).rejects.toThrow(
    'signing keys in the database cannot be opened: the key that sealed them is missing',
  )
  expect(await rows()).toEqual(before)
})

it('a row that something else wrote stops a start, which names the command that helps, and it helps', async () => {
  await byKey.sql.query(`insert into signing_keys values ('junk', 'junk', now(), now())`)
  const { log } = byKey.app
  const starting = startApp(
    { ...byKey.config, port: 0 },
    { clock, log, onFatal: () => undefined, ...(await sharedParts()) },
  )
  await expect(starting).rejects.toThrow('run `latchkey keys rotate --compromised --yes`')
  const openAsCommand = (role: 'service role' | 'table owner') => openRoomsForCommand(byKey.config, role)
  const rotated = await latchkey({ openRooms: openAsCommand }, ['keys', 'rotate', '--compromised', '--yes'], {
    environment: { ACCESS_TOKEN_ALGORITHM: 'ES256' },
  })
  expect(rotated).toMatchObject({ code: 0, out: expect.stringContaining('it signs now. Withdrew ') })
  const app = await startApp(
    { ...byKey.config, port: 0 },
    { clock, log, onFatal: () => undefined, ...(await sharedParts()) },
  )
  await app.close()
  const stored = await byKey.sql.query<{ id: string }>('select id from signing_keys')
  const newKey = stored.map(({ id }) => id).join()
  for (const instance of [byKey, bySecret])
    await until('the new key is published alone', async () => (await kidsAt(instance)).join() === newKey)
})

it('a withdrawn key is refused everywhere within seconds, and signs no user out', async () => {
  const tab = await signIn(byKey)
  for (const instance of [byKey, bySecret]) expect(await meAt(instance, tab)).toBe(200)
  const [{ id } = {}] = (await bySecret.app.rooms.signingKeys.replaceAll()).made
  for (const instance of [byKey, bySecret])
    await until('the old key is refused', async () => (await meAt(instance, tab)) === 401)
  expect(await kidsAt(byKey)).toEqual([id])
  const later = at(byKey, tab.jar)
  expect((await later.post('/api/auth/refresh')).status).toBe(200)
  expect(decodeProtectedHeader(accessTokenOf(later)).kid).toBe(id)
  expect(await meAt(bySecret, later)).toBe(200)
})

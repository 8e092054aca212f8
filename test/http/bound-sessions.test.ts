import { generateKeyPairSync, sign } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { operatorClient } from '../../src/http/request-origin.js'
import { days, minutes, seconds } from '../../src/lib/durations.js'
import { idOf } from '../support/administrators.js'
import { addApplication } from '../support/applications.js'
import {
  type BoundBrowser,
  challengeIn,
  createBoundBrowser,
  type DeviceKey,
  newDeviceKey,
  signProof,
} from '../support/bound-browser.js'
import { goodPassword, type Latchkey, startLatchkey } from '../support/latchkey.js'
import { freePort } from '../support/servers/server.js'
import { until } from '../support/until.js'

const path = '/api/auth/bound/refresh'
const otherPassword = 'copper-Lagoon-47-meadow'

let latchkey: Latchkey
let metrics: string
/** Two more instances on the same stores: one of every setting of BOUND_SESSIONS. `off` has a low limit. */
let second: Latchkey
let off: Latchkey
beforeAll(async () => {
  const port = await freePort()
  metrics = `http://127.0.0.1:${port}/metrics`
  latchkey = await startLatchkey({ settings: { BOUND_SESSIONS: 'on', METRICS_PORT: String(port) } })
  const { databaseUrl, redisUrl = '', redisPrefix, publicUrl } = latchkey.config
  const stores = { DATABASE_URL: databaseUrl, REDIS_URL: redisUrl, REDIS_PREFIX: redisPrefix }
  const shared = { ...stores, PUBLIC_URL: publicUrl, JWT_SECRET: latchkey.app.platform.secrets.join(',') }
  second = await startLatchkey({ settings: { ...shared, BOUND_SESSIONS: 'on' }, clock: latchkey.clock })
  const settings = { ...shared, REDIS_PREFIX: 'own:', GENERAL_LIMIT: '6/15m' }
  off = await startLatchkey({ settings, clock: latchkey.clock })
  for (const each of [second, off]) await each.app.rooms.mails.stop()
  await addApplication(latchkey, { name: 'Here', redirectAddresses: [], home: `${site}/`, proxyOrigin: site })
  await until('it is known', async () => latchkey.app.rooms.protectedApplications.find(site) !== undefined)
})
afterAll(async () => {
  for (const each of [off, second, latchkey]) await each.stop()
})

/** An application behind a proxy, to which a visitor is led back. */
const site = 'https://localhost:8443'
const renewPath = `/api/auth/renew?returnTo=${encodeURIComponent(`${site}/`)}`

let people = 0
/** A user with a bound session. */
const owner = async () => {
  people += 1
  const name = `user${people}`
  await latchkey.signedUp(name)
  const tab = createBoundBrowser(latchkey)
  expect((await tab.post('/login', { username: name, password: goodPassword })).status).toBe(200)
  const [session] = tab.device.sessions.values()
  if (!session) throw new Error('The session is not bound')
  return { name, tab, session, key: session.key }
}

/** The same browser at another instance, with its sessions and cookies. */
const at = (instance: Latchkey, { tab }: { tab: BoundBrowser }) => {
  const there = createBoundBrowser(latchkey, { jar: tab.jar, reached: `http://127.0.0.1:${instance.config.port}` })
  for (const [id, session] of tab.device.sessions) there.device.sessions.set(id, session)
  return there
}

type Sent = { id?: string | undefined; proof?: string | undefined; cookie?: string; headers?: object; address?: string }

/** One request as the browser itself sends it. */
const ask = ({ tab, session }: Awaited<ReturnType<typeof owner>>, sent: Sent = {}) => {
  const id = 'id' in sent ? sent.id : session.id
  const headers = {
    ...(id !== undefined && { 'sec-secure-session-id': id }),
    ...(sent.proof !== undefined && { 'secure-session-response': sent.proof }),
    ...(sent.cookie !== undefined && { cookie: sent.cookie }),
    ...sent.headers,
  }
  const { address } = sent
  return tab.copy().send('POST', path, undefined, { byBrowser: true, headers, ...(address && { address }) })
}

const csrfOf = async (tab: BoundBrowser) => ({
  'x-csrf-token': String((await tab.get('/api/auth/csrf-token')).body.csrfToken),
})

const challengeFor = async (user: Awaited<ReturnType<typeof owner>>, sent: Sent = {}) =>
  challengeIn(await ask(user, sent), 'challenge') ?? ''

const refreshCookie = ({ tab }: { tab: BoundBrowser }) => `refresh_token=${tab.jar.get('refresh_token')}`
const eventsOf = async (kind: string) =>
  (await latchkey.sql.query('select 1 from events where kind = $1', [kind])).length
const rowOf = async (id: string) =>
  (await latchkey.sql.query<{ generation: number }>('select generation from sessions where id = $1', [id]))[0]

describe('a browser with a bound session', () => {
  it('gets new tokens by itself, for months, and one refresh serves many requests', async () => {
    const { tab, session } = await owner()
    for (let round = 0; round < 5; round += 1) {
      await latchkey.advance(20 * days)
      const answers = await Promise.all(Array.from({ length: 12 }, () => tab.get('/api/auth/me')))
      expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 200))
    }
    expect((await rowOf(session.id))?.generation).toBe(6)
    expect(await eventsOf('device_proof_refused')).toBe(0)
  })

  it('does so at each of two instances, with a challenge of one that the other checks', async () => {
    const user = await owner()
    for (const instance of [second, latchkey, second]) {
      await latchkey.advance(16 * minutes)
      expect((await at(instance, user).get('/api/auth/me')).status).toBe(200)
    }
    const challenge = await challengeFor(user)
    const there = at(second, user)
    const proof = signProof(user.key, challenge)
    expect((await ask({ ...user, tab: there }, { proof })).status).toBe(200)
  })

  it('keeps its session while the service cannot be reached, and says so', async () => {
    const { tab } = await owner()
    await latchkey.advance(16 * minutes)
    tab.device.wire = () => {
      throw new Error('unreachable')
    }
    const answer = await tab.post('/api/auth/refresh')
    expect([answer.status, answer.headers.get('retry-after'), answer.setCookies]).toEqual([503, '1', []])
    expect((await tab.get('/api/auth/verify?renew=1')).status).toBe(503)
    tab.device.wire = undefined
    expect((await tab.get('/api/auth/me')).status).toBe(200)
  })

  it('is told of a bound session by the list of sessions', async () => {
    const { tab, name } = await owner()
    const unbound = latchkey.browser()
    await unbound.post('/login', { username: name, password: goodPassword })
    const { sessions } = (await tab.get('/api/auth/sessions')).body as {
      sessions: { bound: boolean; current: boolean }[]
    }
    expect(sessions.filter(({ bound }) => bound).map(({ current }) => current)).toEqual([true])
    expect(sessions.length).toBe(3)
  })

  it('that has lost its key is signed out after 15 minutes, and a new sign-in ends the old session', async () => {
    const { tab, session, name } = await owner()
    tab.device.sessions.clear()
    expect((await tab.get('/api/auth/me')).status).toBe(200)
    await latchkey.advance(15 * minutes)
    const refused = await tab.post('/api/auth/refresh')
    expect([refused.status, refused.body.code, refused.setCookies]).toEqual([401, 'device_proof_missing', []])
    expect((await tab.get('/api/auth/verify?renew=1')).status).toBe(401)
    await tab.post('/login', { username: name, password: goodPassword })
    expect(await rowOf(session.id)).toBeUndefined()
    expect([...tab.device.sessions.values()].map(({ id }) => id)).not.toContain(session.id)
    expect(await eventsOf('refresh_theft')).toBe(0)
  })

  it('with two sessions loses the older one only, whose refusal touches no cookie', async () => {
    const user = await owner()
    const { tab, session, name } = user
    tab.jar.delete('refresh_token')
    await tab.post('/login', { username: name, password: goodPassword })
    expect(tab.device.sessions.size).toBe(2)
    const cookies = tab.jar.header()
    const older = await ask(user)
    expect([older.status, older.setCookies]).toEqual([401, []])
    await latchkey.advance(16 * minutes)
    expect((await tab.get('/api/auth/me')).status).toBe(200)
    expect([tab.device.sessions.size, tab.device.sessions.has(session.id)]).toEqual([1, false])
    expect(tab.jar.header()).not.toBe(cookies)
    // It expires as one that was left behind.
    expect(await rowOf(session.id)).toBeDefined()
  })
})

describe('the request for new tokens is refused', () => {
  it('without a session id, without its cookie, and with a cookie of another session', async () => {
    const [user, other] = [await owner(), await owner()]
    const sent: Sent[] = [
      { id: undefined },
      { id: other.session.id },
      { cookie: '' },
      { cookie: refreshCookie(other) },
      { cookie: 'refresh_token=not.of.ours' },
    ]
    for (const each of sent) {
      const answer = await ask(user, each)
      expect([answer.status, answer.setCookies], JSON.stringify(each)).toEqual([401, []])
    }
    expect((await ask(user, { id: `"${user.session.id}"` })).status).toBe(403)
  })

  it('with 503 for two cookies: the planted one must not end the session', async () => {
    const [user, other] = [await owner(), await owner()]
    for (const cookie of [
      `${refreshCookie(other)}; ${refreshCookie(user)}`,
      `refresh_token=; ${refreshCookie(user)}`,
    ]) {
      const answer = await ask(user, { cookie })
      expect([answer.status, answer.headers.get('retry-after'), answer.setCookies]).toEqual([503, '1', []])
    }
  })

  it('with 503 at the limit, never 429; a thief elsewhere uses up nothing of the owner', async () => {
    const user = await owner()
    const there = { ...user, tab: at(off, user) }
    const statuses = []
    for (let round = 0; round < 8; round += 1) statuses.push((await ask(there, { address: '203.0.113.9' })).status)
    expect(statuses).toEqual([403, 403, 403, 403, 403, 403, 503, 503])
    for (let round = 0; round < 8; round += 1) await there.tab.copy().send('POST', '/api/auth/refresh', {})
    const proof = signProof(user.key, await challengeFor(there))
    expect((await ask(there, { proof })).status).toBe(200)
  })

  it('with 503 while the database is away, and goes on afterwards', async () => {
    const user = await owner()
    const proof = signProof(user.key, await challengeFor(user))
    await latchkey.sql.query('alter table sessions rename to sessions_away')
    const away = await ask(user, { proof })
    await latchkey.sql.query('alter table sessions_away rename to sessions')
    expect([away.status, away.setCookies]).toEqual([503, []])
    expect((await ask(user, { proof })).status).toBe(200)
  })

  it('with 401 for a session that has ended or is not bound', async () => {
    const user = await owner()
    const unbound = createBoundBrowser(latchkey)
    unbound.device.binds = false
    await unbound.post('/login', { username: user.name, password: goodPassword })
    const { sessionId: id } = (await unbound.get('/api/auth/me')).body as { sessionId: string }
    expect((await ask({ ...user, tab: unbound }, { id })).status).toBe(401)
    const ended = user.tab.copy()
    await user.tab.act('/api/auth/logout')
    const cookie = `refresh_token=${ended.jar.get('refresh_token')}`
    expect((await ask(user, { cookie })).status).toBe(401)
    expect((await user.tab.get('/api/auth/me')).status).toBe(401)
    expect(user.tab.device.sessions.size).toBe(0)
  })

  it('with 403 and a challenge without a proof, which the answer names with its session', async () => {
    const user = await owner()
    const answer = await ask(user)
    expect([answer.status, answer.body.code, answer.setCookies]).toEqual([403, 'device_proof_required', []])
    const shape = new RegExp(`^"\\d{13}\\.[\\w-]{43}";id="${user.session.id}"$`)
    expect(answer.headers.get('secure-session-challenge')).toMatch(shape)
  })

  const rsa = generateKeyPairSync('rsa', { modulusLength: 2048 })
  const [own, p384] = [newDeviceKey(), newDeviceKey('P-384')]
  const part = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url')
  it.each<[string, (challenge: string, key: DeviceKey) => string]>([
    ['that is empty', () => ''],
    ['without a signature', (challenge) => `${part({ alg: 'none', typ: 'dbsc+jwt' })}.${part({ jti: challenge })}.`],
    ['by another key', (challenge) => signProof(own, challenge)],
    ['by another key that it names', (challenge) => signProof(own, challenge, { jwk: own.jwk })],
    ['by the right key that it names', (challenge, key) => signProof(key, challenge, { jwk: key.jwk })],
    ['by a key of P-384', (challenge) => signProof(p384, challenge)],
    ['of another type', (challenge, key) => signProof(key, challenge, { typ: 'at+jwt' })],
    ['that says RS256', (challenge, key) => signProof(key, challenge, { alg: 'RS256' })],
    [
      'by RS256',
      (challenge) => {
        const text = `${part({ alg: 'RS256', typ: 'dbsc+jwt' })}.${part({ jti: challenge })}`
        return `${text}.${sign('sha256', Buffer.from(text), rsa.privateKey).toString('base64url')}`
      },
    ],
    [
      'that was changed',
      (challenge, key) => signProof(key, challenge).replace(/\.[^.]+\./, `.${part({ jti: challenge, a: 1 })}.`),
    ],
    ['of more than 2 KB', (challenge, key) => signProof(key, challenge, { more: 'x'.repeat(2000) })],
  ])('with 401 and an event for a proof %s, and the session goes on', async (_, make) => {
    const user = await owner()
    const before = await eventsOf('device_proof_refused')
    const answer = await ask(user, { proof: make(await challengeFor(user), user.key) })
    expect([answer.status, answer.setCookies, answer.body.code]).toEqual([401, [], 'not_authenticated'])
    expect((await eventsOf('device_proof_refused')) - before).toBe(1)
    await latchkey.advance(16 * minutes)
    expect((await user.tab.get('/api/auth/me')).status).toBe(200)
  })

  it('with an event a minute, and a mail after the third within an hour', async () => {
    const user = await owner()
    const before = await eventsOf('device_proof_refused')
    const proof = signProof(newDeviceKey(), 'none')
    const isMail = ({ to, text }: { to: string; text: string }) =>
      to === `${user.name}@example.com` && text.includes('may have copied the cookies')
    for (let round = 0; round < 2; round += 1) await ask(user, { proof })
    await latchkey.advance(0)
    expect([(await eventsOf('device_proof_refused')) - before, latchkey.mails().some(isMail)]).toEqual([1, false])
    await latchkey.advance(61 * seconds)
    for (let round = 0; round < 3; round += 1) await ask(user, { proof })
    await latchkey.mailTo(`${user.name}@example.com`, /may have copied the cookies/)
    await latchkey.advance(0)
    expect([(await eventsOf('device_proof_refused')) - before, latchkey.mails().filter(isMail).length]).toEqual([2, 1])
    expect((await user.tab.get('/api/auth/me')).status).toBe(200)
  })

  it('with 403 and another challenge for a right signature of an old one: the last proof is sent again', async () => {
    const user = await owner()
    const challenge = await challengeFor(user)
    await latchkey.advance(61 * seconds)
    const events = await eventsOf('device_proof_refused')
    const proof = signProof(user.key, challenge)
    const answer = await ask(user, { proof })
    const next = challengeIn(answer, 'challenge')
    expect([answer.status, answer.setCookies, next === challenge]).toEqual([403, [], false])
    expect((await ask(user, { proof: signProof(user.key, next ?? '') })).status).toBe(200)
    expect(await eventsOf('device_proof_refused')).toBe(events)
  })

  it('with 403 for challenges of another session, another generation and of the registration', async () => {
    const [user, other] = [await owner(), await owner()]
    const former = await challengeFor(user)
    await user.tab.copy().get('/api/auth/me')
    expect((await ask(user, { proof: signProof(user.key, await challengeFor(other)) })).status).toBe(403)
    user.tab.jar.delete('access_token')
    await user.tab.get('/api/auth/me')
    expect((await ask(user, { proof: signProof(user.key, former) })).status).toBe(403)
    expect((await ask(user, { proof: signProof(user.key, 'x'.repeat(43)) })).status).toBe(403)
  })
})

describe('somebody with every cookie, answer and proof of a bound session', () => {
  it('has the access token until it expires, and renews nothing by any way', async () => {
    const { tab } = await owner()
    const thief = latchkey.browser()
    for (const [name, value] of tab.jar) thief.jar.set(name, value)
    const ways = [
      () => thief.post('/api/auth/refresh'),
      () => thief.post('/api/auth/refresh', { ifOld: true }),
      () => thief.get('/api/auth/verify?renew=1'),
      () => thief.get(renewPath),
      () => thief.send('POST', path, undefined, { byBrowser: true }),
    ]
    const tokens = () => [thief.jar.get('access_token'), thief.jar.get('refresh_token')]
    const copied = tokens()
    const statuses = async () => {
      const seen = []
      for (const way of ways) seen.push((await way()).status)
      return seen
    }
    expect(await statuses()).toEqual([200, 200, 204, 302, 401])
    expect(tokens()).toEqual(copied)
    await latchkey.advance(16 * minutes)
    expect(await statuses()).toEqual([401, 401, 401, 302, 401])
    expect(tokens()).toEqual(copied)
    expect((await tab.get('/api/auth/me')).status).toBe(200)
    expect(await eventsOf('refresh_theft')).toBe(0)
  })

  it('gets no access token by changes that do not prove the user, and the browser of the owner goes on', async () => {
    const user = await owner()
    const { tab, session } = user
    for (const name of ['Ada', 'Ada Lovelace', 'Ada Lovelace']) {
      const changed = await tab.send('PATCH', '/api/auth/account', { name }, { headers: await csrfOf(tab) })
      expect([changed.status, tab.jar.has('access_token'), tab.jar.has('refresh_token')]).toEqual([200, false, true])
      expect((await tab.copy().get('/api/auth/me')).status).toBe(401)
      expect((await tab.copy().post('/api/auth/refresh')).status).toBe(401)
      expect((await tab.get('/api/auth/me')).status).toBe(200)
    }
    expect(tab.device.sessions.has(session.id)).toBe(true)
  })

  it('gets the same successor again within the grace and never another one, and an alarm after it', async () => {
    const user = await owner()
    const challenge = await challengeFor(user)
    const proof = signProof(user.key, challenge)
    const cookie = refreshCookie(user)
    const first = await ask(user, { proof, cookie })
    const again = await ask(user, { proof, cookie })
    const successor = ({ setCookies }: typeof first) =>
      setCookies.find((line) => /^refresh_token=[^;]/.test(line))?.split(';')[0]
    expect([first.status, again.status]).toEqual([200, 200])
    expect(successor(again)).toBe(successor(first))
    expect((await rowOf(user.session.id))?.generation).toBe(2)
    // With the newest cookie the proof is of an old generation.
    expect((await ask(user, { proof, cookie: successor(first) ?? '' })).status).toBe(403)
    // Without a proof, the grace gives nothing.
    const bare = await latchkey.browser().send('POST', '/api/auth/refresh', undefined, { headers: { cookie } })
    expect([bare.status, bare.setCookies]).toEqual([401, []])
    await latchkey.advance(31 * seconds)
    const late = await ask(user, { proof, cookie })
    expect([late.status, late.setCookies]).toEqual([401, []])
    expect(await rowOf(user.session.id)).toBeUndefined()
  })

  it('after the challenge has expired gets nothing, and raises no alarm', async () => {
    const user = await owner()
    const proof = signProof(user.key, await challengeFor(user))
    const cookie = refreshCookie(user)
    user.tab.jar.delete('access_token')
    await user.tab.get('/api/auth/me')
    await latchkey.advance(61 * seconds)
    expect((await ask(user, { proof, cookie })).status).toBe(403)
    expect(await rowOf(user.session.id)).toBeDefined()
  })
})

describe('a bound session', () => {
  it('whose groups change under an open page signs nobody out: the browser gets other tokens at its next request', async () => {
    const { tab, name } = await owner()
    const client = operatorClient('root')
    await latchkey.app.rooms.groups.add('staff', client)
    const userId = await idOf(latchkey, name)
    await latchkey.app.rooms.groupChanges.change({ userId, client }, { add: ['staff'] })
    expect((await tab.get('/api/auth/me')).status).toBe(401)
    const refused = await tab.post('/api/auth/refresh', { ifOld: true })
    expect([refused.status, refused.headers.get('retry-after'), refused.body.code]).toEqual([503, '1', 'unavailable'])
    expect(refused.setCookies.map((line) => line.split(';')[0])).toEqual(['access_token='])
    expect((await tab.post('/api/auth/refresh', { ifOld: true })).status).toBe(200)
    const check = await tab.get('/api/auth/verify?group=staff')
    expect(check.status).toBe(204)
  })

  it('whose access token is of a key that was withdrawn gets another one, too', async () => {
    const { tab } = await owner()
    tab.jar.set('access_token', String(tab.jar.get('access_token')).replace(/^[^.]+/, 'eyJhbGciOiJIUzI1NiJ9'))
    expect((await tab.get('/api/auth/me')).status).toBe(401)
    const refused = await tab.post('/api/auth/refresh')
    expect([refused.status, tab.jar.has('access_token'), tab.jar.has('refresh_token')]).toEqual([503, false, true])
    expect((await tab.post('/api/auth/refresh')).status).toBe(200)
  })

  it('with a second access cookie, planted by a sibling host, loses both and gets another one', async () => {
    const { tab } = await owner()
    const cookie = `access_token=planted; ${tab.jar.header()}`
    const refused = await tab.send('POST', '/api/auth/refresh', {}, { headers: { cookie } })
    expect([refused.status, tab.jar.has('access_token'), tab.jar.has('refresh_token')]).toEqual([503, false, true])
    expect((await tab.post('/api/auth/refresh')).status).toBe(200)
  })

  it('gives a thief no 503 without end: an access token that expired long ago is answered with 401', async () => {
    const { tab } = await owner()
    const thief = latchkey.browser()
    for (const [name, value] of tab.jar) thief.jar.set(name, value)
    await latchkey.advance(15 * minutes + 5 * seconds)
    // The browser counts the age of the cookie from when the answer came.
    expect((await thief.copy().post('/api/auth/refresh')).status).toBe(503)
    await latchkey.advance(10 * seconds)
    expect((await thief.copy().post('/api/auth/refresh')).status).toBe(401)
  })

  it.each(['unreachable', 'server_error', 'quota_exceeded'])(
    'waits while its browser says %s, if that helps',
    async (why) => {
      const { tab, session } = await owner()
      await latchkey.advance(16 * minutes)
      const send = (skipped: string, way: string, method = 'GET') =>
        tab.copy().send(method, way, undefined, { headers: { 'secure-session-skipped': skipped } })
      const status = why === 'quota_exceeded' ? [401, 401, 302] : [503, 503, 503]
      for (const skipped of [why, `${why};session_identifier="${session.id}"`]) {
        const answers = [
          await send(skipped, '/api/auth/refresh', 'POST'),
          await send(skipped, '/api/auth/verify?renew=1'),
          await send(skipped, renewPath),
        ]
        expect(answers.map((answer) => answer.status)).toEqual(status)
        expect(answers.flatMap(({ setCookies }) => setCookies)).toEqual([])
      }
      expect((await send(`${why};session_identifier="another"`, '/api/auth/refresh', 'POST')).status).toBe(401)
    },
  )

  it('stays bound when a step-up or a new password replaces its tokens, and a refresh under way is told to come again', async () => {
    const { tab, session, key, name } = await owner()
    const user = { tab, session, key, name }
    const proof = signProof(key, await challengeFor(user))
    const cookie = refreshCookie(user)
    const stepped = await tab.act('/api/auth/step-up', { password: goodPassword })
    expect(stepped.status).toBe(200)
    const raced = await ask(user, { proof, cookie })
    expect([raced.status, raced.headers.get('retry-after'), raced.setCookies]).toEqual([503, '1', []])
    const changed = await tab.act('/api/auth/change-password', {
      currentPassword: goodPassword,
      newPassword: otherPassword,
    })
    expect(changed.status).toBe(204)
    const copied = tab.copy()
    copied.jar.delete('access_token')
    expect((await copied.post('/api/auth/refresh')).status).toBe(401)
    await latchkey.advance(16 * minutes)
    expect((await tab.get('/api/auth/me')).status).toBe(200)
    expect((await rowOf(session.id))?.generation).toBe(4)
  })

  it('stays bound and is refreshed on where the setting is off', async () => {
    const user = await owner()
    const there = at(off, user)
    await latchkey.advance(16 * minutes)
    expect((await there.get('/api/auth/me')).status).toBe(200)
    expect(there.device.sessions.size).toBe(1)
    const copied = there.copy()
    copied.jar.delete('access_token')
    expect((await copied.post('/api/auth/refresh')).status).toBe(401)
  })

  it('that a release without bound sessions has renewed needs a sign-in after the upgrade, and raises no alarm', async () => {
    const user = await owner()
    // Such a release knows neither address: the browser forgets its session for good, and the other ways renew it.
    user.tab.device.sessions.clear()
    await latchkey.sql.query('update sessions set bound_key = null, bound_at = null where id = $1', [user.session.id])
    await latchkey.advance(16 * minutes)
    expect((await user.tab.post('/api/auth/refresh')).status).toBe(200)
    const bytes = Buffer.concat([
      Buffer.of(4),
      ...['x', 'y'].map((name) => Buffer.from((user.key.jwk as Record<string, string>)[name] ?? '', 'base64url')),
    ])
    await latchkey.sql.query('update sessions set bound_key = $2, bound_at = now() where id = $1', [
      user.session.id,
      bytes,
    ])
    await latchkey.advance(16 * minutes)
    expect((await user.tab.post('/api/auth/refresh')).status).toBe(401)
    await user.tab.post('/login', { username: user.name, password: goodPassword })
    expect([await rowOf(user.session.id), user.tab.device.sessions.size]).toEqual([undefined, 1])
  })

  it('ends with its row, whatever the browser still has', async () => {
    const { tab, session, name } = await owner()
    const userId = await idOf(latchkey, name)
    await latchkey.app.rooms.operatorChanges.endSessions({ userId, client: operatorClient('root') })
    await latchkey.advance(16 * minutes)
    expect((await tab.get('/api/auth/me')).status).toBe(401)
    expect([tab.device.sessions.size, await rowOf(session.id)]).toEqual([0, undefined])
  })
})

/**
 * What is not refused without Origin, Sec-Fetch-Site, body, content type and CSRF token, though the cookies of a session come along. The two
 * requests of a browser with a bound session have none of these. A `SameSite=Strict` cookie does not come with a request of another site.
 */
const withoutOrigin = [
  // Pages for the users of applications, which read no cookie: the list of protocol-routes.test.ts.
  'POST /api/auth/authorize',
  'POST /api/auth/bound/refresh',
  'POST /api/auth/bound/register',
  'POST /api/auth/end-session',
  // Asks for nothing but the options of a passkey, of nobody.
  'POST /api/auth/passkey-login/options',
  // Gives the tokens to the browser that has sent them.
  'POST /api/auth/refresh',
]

it('requests without Origin, Sec-Fetch-Site, body and content type pass on a closed list of addresses only', async () => {
  const user = await owner()
  const proof = signProof(user.key, await challengeFor(user))
  const unbound = createBoundBrowser(latchkey)
  unbound.device.binds = false
  const offer = (await unbound.post('/login', { username: user.name, password: goodPassword })).headers
  const challenge = /challenge="([^"]+)"/.exec(offer.get('secure-session-registration') ?? '')?.[1] ?? ''
  const key = newDeviceKey()
  const own: Record<string, [BoundBrowser, Record<string, string>]> = {
    '/api/auth/bound/refresh': [
      user.tab,
      { 'sec-secure-session-id': user.session.id, 'secure-session-response': proof },
    ],
    '/api/auth/bound/register': [unbound, { 'secure-session-response': signProof(key, challenge, { jwk: key.jwk }) }],
  }
  const unsafe = latchkey.app.routes.list().filter(({ method }) => !['GET', 'HEAD', 'OPTIONS'].includes(method))
  expect(unsafe.length).toBeGreaterThan(40)
  const passed = []
  for (const { method, url } of unsafe) {
    const [tab, headers] = own[url] ?? [user.tab, {}]
    const target = url.replaceAll(/:\w+|\*/g, 'x')
    const { status } = await tab.copy().send(method, target, undefined, { byBrowser: true, headers })
    if (status < 400) passed.push(`${method} ${url}`)
  }
  expect(passed.sort()).toEqual(withoutOrigin)
  expect(await rowOf(user.session.id)).toBeDefined()
})

it('the metrics count registrations, refreshes, refusals and skips by outcome', async () => {
  const counted = async (outcome: string) => {
    const text = await (await fetch(metrics)).text()
    const series = `latchkey_bound_sessions_total\\{outcome="${outcome}"\\} (\\d+)`
    return Number(new RegExp(`^${series}$`, 'm').exec(text)?.[1])
  }
  const user = await owner()
  const other = await owner()
  const acts: Record<string, () => Promise<unknown>> = {
    registered: owner,
    challenged: () => ask(user),
    refused_other_session: () => ask(user, { cookie: '' }),
    refused_doubled: () => ask(user, { cookie: `${refreshCookie(user)}; ${refreshCookie(other)}` }),
    refused_proof: () => ask(user, { proof: 'no.proof.at-all' }),
    refreshed: async () => ask(user, { proof: signProof(user.key, await challengeFor(user)) }),
    skipped_unreachable: () => {
      const headers = { cookie: refreshCookie(other), 'secure-session-skipped': 'unreachable' }
      return latchkey.browser().send('POST', '/api/auth/refresh', undefined, { headers })
    },
  }
  for (const [outcome, act] of Object.entries(acts)) {
    const before = await counted(outcome)
    await act()
    expect((await counted(outcome)) - before, outcome).toBe(1)
  }
})

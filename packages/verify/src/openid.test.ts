import { createHash } from 'node:crypto'
import { exportJWK, generateKeyPair, type JWTPayload, SignJWT } from 'jose'
import { beforeAll, describe, expect, it } from 'vitest'
import { type OpenidOptions, type OpenidSession, openidClient } from './openid.js'
import { createMemorySessions } from './openid-sessions.js'

const issuer = 'https://auth.example.com/api/auth'
const app = 'https://app.example.com'
const options = { issuer, clientId: 'notes', clientSecret: 'secret of notes', redirectUri: `${app}/callback` }
const logoutEvent = { 'http://schemas.openid.net/event/backchannel-logout': {} }

type Pair = Awaited<ReturnType<typeof generateKeyPair>>
const keys: Record<'es' | 'rs' | 'stranger', Pair> = {} as never
beforeAll(async () => {
  const [es, rs, stranger] = await Promise.all(['ES256', 'RS256', 'ES256'].map((alg) => generateKeyPair(alg)))
  Object.assign(keys, { es, rs, stranger })
})

/** The provider as far as a receiver of notices asks it. */
const startProvider = () => {
  const provider = { isAway: false, asked: 0, published: ['es', 'rs'] as ('es' | 'rs' | 'stranger')[] }
  const fetch = async (input: string | URL | Request) => {
    if (provider.isAway) throw new TypeError('fetch failed')
    if (String(input).endsWith('/.well-known/openid-configuration'))
      return Response.json({ issuer, jwks_uri: `${issuer}/keys`, authorization_endpoint: `${issuer}/authorize` })
    provider.asked += 1
    const jwks = provider.published.map(async (kid) => ({
      ...(await exportJWK(keys[kid].publicKey)),
      kid,
      use: 'sig',
      alg: kid === 'rs' ? 'RS256' : 'ES256',
    }))
    return Response.json({ keys: await Promise.all(jwks) })
  }
  return { provider, fetch }
}

const open = (more: Partial<OpenidOptions> = {}) => {
  const clock = { time: Date.now() }
  const problems: string[] = []
  const { provider, fetch } = startProvider()
  const now = () => clock.time
  const sessions = createMemorySessions(now)
  const client = openidClient({ ...options, fetch, now, sessions, onProblem: (each) => problems.push(each), ...more })

  /** A session that a sign-in has begun. */
  const begun = async (value: string, { sid = 's1', sub = 'u1', age = 10 } = {}) => {
    const user = { id: sub, username: 'ada', name: undefined, email: undefined, emailVerified: false, groups: [] }
    const session: OpenidSession = {
      user: { ...user, claims: { sub, sid } },
      sid,
      idToken: 'x',
      issuedAt: Math.floor(clock.time / 1000) - age,
      expiresAt: clock.time + 3_600_000,
    }
    await sessions.set(createHash('sha256').update(value).digest('base64url'), session)
  }
  const isSignedIn = async (value: string) =>
    (await client.user({ headers: { cookie: `__Host-openid_session=${value}` } })) !== undefined
  const send = (body: BodyInit, more: RequestInit = {}) =>
    client.handle(new Request(`${app}/logged-out`, { method: 'POST', body, ...more }))
  const notify = async (token: string) => (await send(new URLSearchParams({ logout_token: token })))?.status
  return { clock, provider, problems, sessions, client, begun, isSignedIn, send, notify }
}

type Made = { by?: keyof typeof keys; header?: object; claims?: JWTPayload; without?: string[] }
let made = 0
const logoutToken = ({ by = 'es', header = {}, claims = {}, without = [] }: Made = {}) => {
  made += 1
  const iat = Math.floor(Date.now() / 1000)
  const usual = { iss: issuer, aud: 'notes', sub: 'u1', sid: 's1', iat, exp: iat + 120, jti: `n${made}` }
  const all = Object.entries({ ...usual, events: logoutEvent, ...claims }).filter(([name]) => !without.includes(name))
  const alg = by === 'rs' ? 'RS256' : 'ES256'
  return new SignJWT(Object.fromEntries(all))
    .setProtectedHeader({ alg, typ: 'logout+jwt', kid: by, ...header })
    .sign(keys[by].privateKey)
}

describe('a logout notice', () => {
  it('ends the sessions of its sid, by either algorithm, and no others', async () => {
    for (const by of ['es', 'rs'] as const) {
      const { begun, isSignedIn, notify } = open()
      await begun('one')
      await begun('two', { sid: 's2' })
      expect(await notify(await logoutToken({ by }))).toBe(200)
      expect([await isSignedIn('one'), await isSignedIn('two')]).toEqual([false, true])
    }
  })

  it('without a sid ends every session of the user', async () => {
    const { begun, isSignedIn, notify } = open()
    await begun('one')
    await begun('two', { sid: 's2' })
    await begun('three', { sub: 'u2', sid: 's3' })
    expect(await notify(await logoutToken({ without: ['sid'] }))).toBe(200)
    expect([await isSignedIn('one'), await isSignedIn('two'), await isSignedIn('three')]).toEqual([false, false, true])
  })

  it('ends no session that began after it', async () => {
    const { begun, isSignedIn, notify } = open()
    await begun('later', { age: -60 })
    expect(await notify(await logoutToken())).toBe(200)
    expect(await isSignedIn('later')).toBe(true)
  })

  const seconds = () => Math.floor(Date.now() / 1000)
  it.each<[string, () => Made]>([
    ['of another issuer', () => ({ claims: { iss: 'https://evil.example' } })],
    ['for another application', () => ({ claims: { aud: 'wiki' } })],
    ['with a nonce', () => ({ claims: { nonce: 'x' } })],
    ['of another type', () => ({ header: { typ: 'JWT' } })],
    ['that is an access token', () => ({ header: { typ: 'at+jwt' } })],
    ['without the event', () => ({ without: ['events'] })],
    ['with another event', () => ({ claims: { events: { 'http://example.com/other': {} } } })],
    ['without sid and sub', () => ({ without: ['sid', 'sub'] })],
    ['with a sid that is no text', () => ({ claims: { sid: 7 } })],
    ['without jti', () => ({ without: ['jti'] })],
    ['without iat', () => ({ without: ['iat'] })],
    ['without exp', () => ({ without: ['exp'] })],
    ['that has expired', () => ({ claims: { iat: seconds() - 300, exp: seconds() - 180 } })],
    ['that is old', () => ({ claims: { iat: seconds() - 3600, exp: seconds() + 3600 } })],
    ['of the future', () => ({ claims: { iat: seconds() + 600, exp: seconds() + 700 } })],
    ['with a key that is not published', () => ({ by: 'stranger' })],
    ['signed by a stranger with the name of a published key', () => ({ by: 'stranger', header: { kid: 'es' } })],
    ['without the name of a key', () => ({ header: { kid: undefined } })],
    ['with an extension that is critical', () => ({ header: { crit: ['b64'], b64: true } })],
  ])('%s is refused with 400, and ends nothing', async (_, change) => {
    const { begun, isSignedIn, notify, problems } = open()
    await begun('one')
    expect(await notify(await logoutToken(change()))).toBe(400)
    expect(await isSignedIn('one')).toBe(true)
    expect(problems).toEqual([expect.stringMatching(/^a logout notice was refused: /)])
  })

  it('without a signature, with a cut one, or with the algorithm of another key is refused', async () => {
    const { begun, isSignedIn, notify } = open()
    await begun('one')
    const [header = '', payload = '', signature = ''] = (await logoutToken()).split('.')
    const encoded = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url')
    const unsigned = encoded({ alg: 'none', typ: 'logout+jwt', kid: 'es' })
    const confused = encoded({ alg: 'HS256', typ: 'logout+jwt', kid: 'es' })
    for (const token of [
      '',
      'x',
      `${unsigned}.${payload}.`,
      `${unsigned}.${payload}.${signature}`,
      `${confused}.${payload}.${signature}`,
      `${header}.${payload}.${signature.slice(0, -5)}`,
      `${header}.${payload}.x`,
    ])
      expect(await notify(token), token).toBe(400)
    expect(await isSignedIn('one')).toBe(true)
  })

  it('counts once', async () => {
    const { begun, isSignedIn, notify } = open()
    const token = await logoutToken()
    expect(await notify(token)).toBe(200)
    await begun('one', { age: 1 })
    expect(await notify(token)).toBe(400)
    expect(await isSignedIn('one')).toBe(true)
  })

  it('is asked for again while the issuer or the store is away', async () => {
    const { begun, isSignedIn, notify, provider } = open()
    await begun('one')
    provider.isAway = true
    expect(await notify(await logoutToken())).toBe(503)
    provider.isAway = false
    expect(await notify(await logoutToken())).toBe(200)
    expect(await isSignedIn('one')).toBe(false)

    const store = { ...createMemorySessions(Date.now), deleteBySid: () => Promise.reject(new Error('no store')) }
    const other = open({ sessions: store })
    const token = await logoutToken()
    expect(await other.notify(token)).toBe(503)
    store.deleteBySid = async () => undefined as never
    expect(await other.notify(token)).toBe(200)
  })

  it('with a new key is accepted once the keys are read again, which strangers cannot hasten', async () => {
    const { notify, provider, clock } = open()
    expect(await notify(await logoutToken())).toBe(200)
    provider.published = ['stranger']
    for (const _ of [1, 2, 3]) expect(await notify(await logoutToken({ by: 'stranger' }))).toBe(503)
    expect(provider.asked).toBe(1)
    clock.time += 11_000
    expect(await notify(await logoutToken({ by: 'stranger' }))).toBe(200)
    // The key that is no longer published does not count any more.
    clock.time += 11_000
    expect(await notify(await logoutToken())).toBe(400)
    expect(provider.asked).toBe(3)
  })

  it('is a form of a sensible size', async () => {
    const { send } = open()
    expect((await send('x'.repeat(20_000)))?.status).toBe(503)
    expect((await send('{}'))?.status).toBe(400)
  })
})

describe('a sign-in', () => {
  const begin = async (client: ReturnType<typeof open>['client'], query = '', cookie = '') => {
    const answer = await client.handle(new Request(`${app}/sign-in${query}`, { headers: { cookie } }))
    const location = new URL(answer?.headers.get('location') ?? '')
    return { location, lines: answer?.headers.getSetCookie() ?? [], answer }
  }

  it('begins with state, nonce and PKCE, in a sealed cookie for this host and this attempt', async () => {
    const { client } = open()
    const { location, lines, answer } = await begin(client, '?returnTo=/notes')
    const { state, nonce, code_challenge, ...rest } = Object.fromEntries(location.searchParams)
    expect(rest).toEqual({
      client_id: 'notes',
      redirect_uri: `${app}/callback`,
      response_type: 'code',
      scope: 'openid profile email groups',
      code_challenge_method: 'S256',
    })
    expect([state, nonce, code_challenge].every((value) => /^[\w-]{43}$/.test(value ?? ''))).toBe(true)
    expect(lines).toEqual([
      expect.stringMatching(
        /^__Host-openid_attempt_[\w-]{16}=[\w-]+; Max-Age=600; Path=\/; HttpOnly; SameSite=Lax; Secure$/,
      ),
    ])
    expect(lines[0]).not.toContain(nonce)
    expect(answer?.headers.get('cache-control')).toBe('no-store')
    const onThisMachine = open({ redirectUri: 'http://127.0.0.1:8080/callback' })
    expect((await begin(onThisMachine.client)).lines[0]).toMatch(/^openid_attempt_.*SameSite=Lax$/)
  })

  it('gives up other attempts of the browser when there are too many', async () => {
    const { client } = open()
    const pairs: string[] = []
    for (let at = 0; at < 5; at += 1)
      pairs.push((await begin(client, '', pairs.join('; '))).lines.at(-1)?.split(';')[0] ?? '')
    expect(pairs).toHaveLength(5)
    const { lines } = await begin(client, '', pairs.join('; '))
    expect(lines.filter((line) => line.includes('Max-Age=0'))).toHaveLength(5)
    expect(lines).toHaveLength(6)
  })

  it.each([
    ['/notes?by=day', '/notes?by=day'],
    [`${app}/notes`, '/notes'],
    ['//evil.example/', '/'],
    ['/\\evil.example/', '/'],
    ['/\t/evil.example/', '/'],
    ['https://evil.example/', '/'],
    ['javascript:alert(1)', '/'],
    [`/${'x'.repeat(600)}`, '/'],
  ])('leads back to paths of the application only: %j', (wanted, path) => {
    expect(open().client.signInUrl(wanted)).toBe(`/sign-in?returnTo=${encodeURIComponent(path)}`)
  })

  it('is refused if the browser has not begun it, or the cookie was changed or has expired', async () => {
    const { client, clock } = open()
    const { location, lines } = await begin(client)
    const pair = lines[0]?.split(';')[0] ?? ''
    const finish = async (cookie: string, state = location.searchParams.get('state')) => {
      const request = new Request(`${app}/callback?code=x&state=${state}`, { headers: { cookie } })
      const answer = await client.handle(request)
      return [answer?.status, /not finished|not possible/.exec((await answer?.text()) ?? '')?.[0]]
    }
    const refused = [400, 'not finished']
    expect(await finish('')).toEqual(refused)
    expect(await finish(pair, 'x'.repeat(43))).toEqual(refused)
    expect(await finish(`${pair.slice(0, -6)}AAAAAA`)).toEqual(refused)
    expect(await finish(`${pair}; ${pair}`)).toEqual(refused)
    clock.time += 601_000
    expect(await finish(pair)).toEqual(refused)
  })

  it('says that it is not possible while the issuer is away, and is possible afterwards', async () => {
    const { client, provider, problems } = open()
    provider.isAway = true
    const answer = await client.handle(new Request(`${app}/sign-in`))
    expect([answer?.status, answer?.headers.get('retry-after')]).toEqual([503, '5'])
    expect(problems[0]).toContain('fetch failed')
    provider.isAway = false
    expect((await client.handle(new Request(`${app}/sign-in`)))?.status).toBe(302)
  })
})

describe('its own paths', () => {
  it('take one method, and all other requests are for the application', async () => {
    const { client } = open()
    const post = await client.handle(new Request(`${app}/sign-in`, { method: 'POST' }))
    expect([post?.status, post?.headers.get('allow')]).toEqual([405, 'GET'])
    const get = await client.handle(new Request(`${app}/sign-out`))
    expect([get?.status, get?.headers.get('allow')]).toEqual([405, 'POST'])
    expect(await client.handle(new Request(`${app}/sign-in/more`))).toBeUndefined()
    const other = open({ paths: { signIn: '/login' } }).client
    expect(other.signInUrl()).toBe('/login?returnTo=%2F')
    expect(await other.handle(new Request(`${app}/sign-in`))).toBeUndefined()
  })

  it('sign out for a form of this site only', async () => {
    const { client, begun, isSignedIn, problems } = open()
    await begun('one')
    const leave = async (headers: Record<string, string>) => {
      const cookie = '__Host-openid_session=one'
      const answer = await client.handle(
        new Request(`${app}/sign-out`, { method: 'POST', headers: { cookie, ...headers } }),
      )
      return answer?.status
    }
    const foreign = [{}, { origin: 'https://evil.example' }, { origin: 'null', 'sec-fetch-site': 'cross-site' }]
    for (const headers of foreign as Record<string, string>[]) expect(await leave(headers)).toBe(403)
    expect(await isSignedIn('one')).toBe(true)
    expect(problems[1]).toContain('"https://evil.example"')
    expect(await leave({ origin: 'null', 'sec-fetch-site': 'same-origin' })).toBe(303)
    expect(await isSignedIn('one')).toBe(false)
  })
})

it('a session ends by itself, and the store forgets it', async () => {
  const { begun, isSignedIn, clock, sessions } = open()
  await begun('one')
  clock.time += 3_599_000
  expect(await isSignedIn('one')).toBe(true)
  clock.time += 1_000
  expect(await isSignedIn('one')).toBe(false)
  await begun('two')
  expect(await sessions.get(createHash('sha256').update('one').digest('base64url'))).toBeUndefined()
})

it('wrong options are one error that names them, and no value', () => {
  const wrong = {
    ...options,
    issuer: 'http://auth.example.com',
    clientId: '',
    clientSecret: '',
    redirectUri: 'callback',
  }
  const unknown = { ...wrong, scope: 'profile', sessionSeconds: 1, secret: 'Tr0ub4dor', paths: { signOut: 'x' } }
  expect(() => openidClient(unknown)).toThrow(/secret: is no option of openidClient/)
  for (const name of ['issuer', 'clientId', 'clientSecret', 'redirectUri', 'scope', 'sessionSeconds', 'paths.signOut'])
    expect(() => openidClient(unknown)).toThrow(new RegExp(`(: |; )${name}: `))
  expect(() => openidClient(unknown)).not.toThrow(/Tr0ub4dor/)
  expect(() => openidClient({ ...options, redirectUri: 'https://APP.example.com/callback' })).toThrow(
    'redirectUri: write it as https://app.example.com/callback',
  )
  expect(() => openidClient({ ...options, paths: { signIn: '/callback' } })).toThrow('two of them are the same')
})

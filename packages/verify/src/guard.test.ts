import { randomUUID } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { refusals as known } from '#contract/refusals.js'
import { systemClock } from '../../../src/lib/clock.js'
import { createTokens } from '../../../src/sessions/tokens.js'
import { expectCookieLines } from '../../../test/support/cookie-lines.js'
import { refusals } from './answers.js'
import { createGuard, type GuardOptions, type Incoming } from './guard.js'
import { createVerifier } from './verifier.js'

const secret = 'f3a1c9e07b5d482693ae10cf7d86b24e5908d1f7a63bc4e2971d05f8ab36c7e4'
const publicUrl = 'https://auth.example.com'
const tokens = createTokens({ secrets: [secret], clock: systemClock, issuer: publicUrl })
const now = () => Math.floor(Date.now() / 1000)

type Proven = {
  amr?: string[]
  age?: number
  secondFactorAge?: number
  lifetime?: number
  groups?: string[]
  issuer?: typeof tokens
}
const tokenFor = (
  username: string,
  { amr = ['pwd'], age = 0, secondFactorAge, lifetime = 900, issuer = tokens, ...others }: Proven = {},
) => {
  const [userId, sid] = [randomUUID(), randomUUID()]
  const iat = now()
  const proven = { auth_time: iat - age, ...(secondFactorAge !== undefined && { mfa_time: iat - secondFactorAge }) }
  const times = { iat, exp: iat + lifetime, ...proven }
  return issuer.signAccess({
    userId,
    sid,
    username,
    email: 'ada@example.com',
    name: null,
    gen: 0,
    amr,
    groups: [],
    ...others,
    ...times,
  })
}
const setCookies = (token: string) => [
  `access_token=${token}; Max-Age=900; Path=/; HttpOnly; SameSite=Strict; Secure`,
  'refresh_token=next; Max-Age=2592000; Path=/; HttpOnly; SameSite=Strict; Secure',
  'access_token=; Max-Age=0; Domain=example.com; Path=/; HttpOnly; SameSite=Strict; Secure',
  'known_device=x; Path=/',
]
const renewed = (token: string) =>
  new Response(null, { status: 204, headers: setCookies(token).map((line) => ['set-cookie', line]) })

const elsewhere = createTokens({ secrets: [secret], clock: systemClock, issuer: 'https://evil.example' })
const foreignToken = tokenFor('eve', { issuer: elsewhere })

type Asked = { url: string; headers: Headers }

/** A guard in front of a service that gives this answer. */
const guardWith = (answer: () => Response, options: GuardOptions = {}) => {
  const asked: Asked[] = []
  const problems: string[] = []
  const fetch = async (url: string | URL | Request, init?: RequestInit) => {
    asked.push({ url: String(url), headers: new Headers(init?.headers) })
    return answer()
  }
  const onProblem = (message: string) => problems.push(message)
  const verifier = createVerifier({ publicUrl, secret, serviceUrl: 'http://10.0.0.5:3000/', fetch, onProblem })
  const guard = createGuard(verifier, options)
  const ask = async (request: Partial<Incoming> = {}) => {
    const decision = await guard({ method: 'GET', path: '/', headers: {}, ...request })
    return 'answer' in decision ? decision.answer : { status: 'passed', ...decision.passed }
  }
  return { ask, asked, problems }
}
const neverAsked = () => {
  throw new Error('The service was asked')
}
const navigation = { 'sec-fetch-mode': 'navigate' }

describe('a renewal', () => {
  it('asks the service with the two cookies only, and passes on its two cookies only', async () => {
    const token = tokenFor('ada')
    const { ask, asked } = guardWith(() => renewed(token))
    const headers = { cookie: 'theme=dark; refresh_token=one; other=x', 'user-agent': 'Browser', 'x-secret': 'y' }
    const passed = await ask({ headers, address: '192.0.2.7' })
    expect(passed).toMatchObject({ status: 'passed', auth: { user: { username: 'ada' } } })
    expect(passed.setCookies).toEqual(setCookies(token).slice(0, 3))
    expect(asked.map(({ url }) => url)).toEqual(['http://10.0.0.5:3000/api/auth/verify?renew=1'])
    expect(Object.fromEntries(asked[0]?.headers ?? [])).toEqual({
      cookie: 'refresh_token=one',
      'user-agent': 'Browser',
      'x-forwarded-for': '192.0.2.7',
    })
  })

  it('passes on why the browser got no tokens of a bound session, and is no sign-out while the service waits for it', async () => {
    const { ask, asked } = guardWith(() => new Response(null, { status: 503 }))
    const skipped = 'unreachable;session_identifier="1"'
    const answer = await ask({ headers: { cookie: 'refresh_token=one', 'secure-session-skipped': skipped } })
    expect([answer.status, asked[0]?.headers.get('secure-session-skipped')]).toEqual([503, skipped])
  })

  it('is shared by requests at one time with one refresh token, and not by others', async () => {
    const { ask, asked } = guardWith(() => renewed(tokenFor('ada')))
    const visitors = ['one', 'one', 'two', 'one', 'two']
    await Promise.all(visitors.map((token) => ask({ headers: { cookie: `refresh_token=${token}` } })))
    expect(asked).toHaveLength(2)
  })

  it.each([
    ['a good access token', { cookie: `access_token=${tokenFor('ada')}; refresh_token=one` }, 'passed'],
    ['no refresh token', { cookie: 'theme=dark' }, 401],
    ['two refresh tokens', { cookie: 'refresh_token=one; refresh_token=two' }, 401],
    ['two access tokens', { cookie: 'access_token=a; access_token=b; refresh_token=one' }, 401],
    ['a refresh token that is none', { cookie: 'refresh_token=one\u00e9' }, 401],
    ['a refresh token of 3 KB', { cookie: `refresh_token=${'x'.repeat(3_000)}` }, 401],
  ])('is not asked for with %s', async (_, headers, status) => {
    const { ask } = guardWith(neverAsked)
    expect((await ask({ headers })).status).toBe(status)
  })

  it('is not asked for by HEAD', async () => {
    const { ask } = guardWith(neverAsked)
    expect((await ask({ method: 'HEAD', headers: { cookie: 'refresh_token=one' } })).status).toBe(401)
  })

  it.each<[string, () => Response, number]>([
    ['refuses', () => new Response('', { status: 401 }), 401],
    ['is over its limit', () => new Response('', { status: 503 }), 503],
    ['has an error', () => new Response('', { status: 500 }), 503],
    ['does not know the question', () => new Response('', { status: 400 }), 503],
    ['redirects', () => Response.redirect('https://evil.example/', 302), 503],
    ['sets no cookie', () => new Response(null, { status: 204 }), 503],
    ['sets a token of another issuer', () => renewed(foreignToken), 503],
    [
      'is away',
      () => {
        throw new Error('ECONNREFUSED')
      },
      503,
    ],
  ])('is never a sign-out unless the service says so: it %s', async (_, answer, status) => {
    const { ask } = guardWith(answer)
    const headers = { cookie: 'refresh_token=one' }
    const [program, person] = [await ask({ headers }), await ask({ headers: { ...headers, ...navigation } })]
    const code = status === 401 ? 'not_authenticated' : 'unavailable'
    const { error, message } = refusals[code]
    expect(program).toMatchObject({ status, body: JSON.stringify({ code, error, message }) })
    expect(person.status).toBe(status === 401 ? 302 : 503)
    if (status === 503) expect(person).toMatchObject({ headers: { 'retry-after': '5', 'cache-control': 'no-store' } })
  })

  it('keeps the cookies of a token that is refused here, tells the operator, and asks no more for a while', async () => {
    const { ask, asked, problems } = guardWith(() => renewed(foreignToken))
    const headers = { cookie: `access_token=${foreignToken}; refresh_token=one` }
    expect(await ask({ headers })).toMatchObject({ status: 503, setCookies: setCookies(foreignToken).slice(0, 3) })
    expect(await ask({ headers })).toMatchObject({ status: 503, setCookies: [] })
    expect(asked).toHaveLength(1)
    expect(problems).toEqual([expect.stringContaining('(wrong_issuer): compare publicUrl, keys and clocks')])
  })

  it('of a session at its absolute end is a sign-out of that session, and stops no other', async () => {
    const answers = [renewed(tokenFor('eve', { lifetime: -1 })), renewed(tokenFor('ada'))]
    const { ask } = guardWith(() => answers.shift() ?? neverAsked())
    const headers = { cookie: 'refresh_token=one' }
    expect(await ask({ headers })).toMatchObject({
      status: 401,
      setCookies: [expect.anything(), expect.anything(), expect.anything()],
    })
    expect(await ask({ headers: { cookie: 'refresh_token=two' } })).toMatchObject({ status: 'passed' })
  })
})

describe('a visitor without a session', () => {
  const locationOf = async (request: Partial<Incoming>, options: GuardOptions = {}) => {
    const answer = await guardWith(neverAsked, options).ask({ headers: navigation, ...request })
    return 'headers' in answer ? answer.headers.location : undefined
  }
  const back = (path: string) => encodeURIComponent(path)

  it('returns to the page that they wanted, on this host or on another one', async () => {
    expect(await locationOf({ path: '/a?b=c&d' })).toBe(`/login?returnTo=${back('/a?b=c&d')}`)
    expect(await locationOf({ path: '/a?b' }, { appUrl: 'https://app.example.com/x' })).toBe(
      `${publicUrl}/login?returnTo=${back('https://app.example.com/a?b')}`,
    )
    expect(await locationOf({ headers: { accept: 'text/html,*/*' } })).toBe('/login?returnTo=%2F')
  })

  it.each([
    ['http://evil.example/x', '/'],
    ['*', '/'],
    [`/a?${'b'.repeat(600)}`, '/a'],
    [`/${'a'.repeat(600)}`, '/'],
  ])('never returns to another site, nor to a page with a longer address than is accepted: %s', async (path, page) => {
    expect(await locationOf({ path })).toBe(`/login?returnTo=${back(page)}`)
    const elsewhere = await locationOf({ path: '//evil.example' }, { appUrl: 'https://app.example.com' })
    expect(elsewhere).toBe(`${publicUrl}/login?returnTo=${back('https://app.example.com//evil.example')}`)
  })

  it('is told that a form was not sent', async () => {
    const answer = await guardWith(neverAsked).ask({ method: 'POST', path: '/a"b', headers: navigation })
    expect(answer).toMatchObject({ status: 401, body: expect.stringContaining('Your entries were not sent') })
    expect(answer).toMatchObject({ body: expect.stringContaining('href="/login?returnTo=%2Fa%22b"') })
  })

  it('is not redirected for ever, and the operator is told', async () => {
    const { ask, problems } = guardWith(neverAsked)
    let cookie = ''
    const statuses = []
    // Nine tabs that are opened at once are no loop.
    for (let turn = 0; turn < 11; turn += 1) {
      const answer = await ask({ headers: { ...navigation, cookie } })
      statuses.push(answer.status)
      expectCookieLines(answer.setCookies, { isSecure: true })
      cookie = answer.setCookies[0]?.split(';')[0] ?? cookie
    }
    expect(statuses).toEqual([...Array.from({ length: 9 }, () => 302), 401, 401])
    expect(problems[0]).toContain('COOKIE_DOMAIN')
    // Two of one name: one of them was planted.
    expect((await ask({ headers: { ...navigation, cookie: `${cookie}; ${cookie}` } })).status).toBe(401)
  })

  it('is counted anew after a sign-in', async () => {
    const cookie = `access_token=${tokenFor('ada')}; __Host-latchkey_redirects=3`
    const { setCookies, ...passed } = await guardWith(neverAsked).ask({ headers: { ...navigation, cookie } })
    expect(passed).toMatchObject({ status: 'passed', auth: { user: { username: 'ada' } } })
    expectCookieLines(setCookies, { isSecure: true })
    expect(setCookies).toEqual([expect.stringMatching(/^__Host-latchkey_redirects=; Max-Age=0; /)])
  })

  it('has its redirects counted by a cookie without Secure only if the application has no https', async () => {
    const lineAt = async (appUrl: string) => {
      const { setCookies } = await guardWith(neverAsked, { appUrl }).ask({ headers: navigation })
      expectCookieLines(setCookies)
      return setCookies[0]
    }
    expect(await lineAt('https://app.example.com')).toMatch(/^__Host-latchkey_redirects=1; .*; Secure$/)
    expect(await lineAt('http://localhost:4000')).toMatch(/^latchkey_redirects=1; .*; SameSite=Lax$/)
  })

  it('passes an optional guard, but not while it cannot be known who they are', async () => {
    expect(await guardWith(neverAsked, { optional: true }).ask()).toMatchObject({ status: 'passed', auth: undefined })
    const { ask } = guardWith(() => new Response('', { status: 503 }), { optional: true })
    expect((await ask({ headers: { cookie: 'refresh_token=one' } })).status).toBe(503)
  })
})

describe('a part for a group', () => {
  const options: GuardOptions = { group: ['admins', 'staff'], fresh: '10m', appUrl: 'https://app.example.com' }
  const askWith = (token: string, headers = {}) =>
    guardWith(neverAsked, options).ask({ path: '/admin', headers: { ...headers, cookie: `access_token=${token}` } })

  it('lets a member of one of them through', async () => {
    const answer = await askWith(tokenFor('ada', { groups: ['guests', 'staff'] }))
    expect(answer).toMatchObject({ status: 'passed', auth: { groups: ['guests', 'staff'] } })
    const stale = await askWith(tokenFor('ada', { groups: ['staff'], age: 700 }))
    expect(stale).toMatchObject({ status: 403, body: expect.stringContaining('step_up_required') })
  })

  it('sends the others to a page that says so, also if their proof is old', async () => {
    const page = `${publicUrl}/step-up?group=1`
    for (const token of [tokenFor('ada'), tokenFor('ada', { groups: ['guests'], age: 700 })]) {
      const answer = await askWith(token)
      const body = expect.stringContaining('group_required')
      expect(answer).toMatchObject({ status: 403, headers: { 'x-auth-step-up': page }, body })
      const location = `${page}&returnTo=${encodeURIComponent('https://app.example.com/admin')}`
      expect(await askWith(token, navigation)).toMatchObject({ status: 302, headers: { location } })
    }
  })

  it('says that a form was not sent', async () => {
    const headers = { ...navigation, cookie: `access_token=${tokenFor('ada')}` }
    const answer = await guardWith(neverAsked, options).ask({ path: '/admin', method: 'POST', headers })
    expect(answer).toMatchObject({ status: 403, body: expect.stringContaining('Your entries were not sent') })
    expect(answer).toMatchObject({ body: expect.stringContaining(`${publicUrl}/step-up?group=1`) })
  })

  it('renews a token of a service that had no groups', async () => {
    const old = tokenFor('ada', { groups: undefined as unknown as string[] })
    expect(await askWith(old)).toMatchObject({ body: expect.stringContaining('group_required') })
    const { ask } = guardWith(() => renewed(tokenFor('ada', { groups: ['staff'] })), options)
    const answer = await ask({ headers: { cookie: `access_token=${old}; refresh_token=one` } })
    expect(answer).toMatchObject({ status: 'passed', setCookies: { length: 3 } })
  })

  it('goes on with such a token if it cannot be renewed, and does not ask a service without groups again and again', async () => {
    const old = tokenFor('ada', { groups: undefined as unknown as string[] })
    const headers = { cookie: `access_token=${old}; refresh_token=one` }
    const refused = { status: 403, body: expect.stringContaining('group_required') }
    for (const status of [401, 503])
      expect(await guardWith(() => new Response('', { status }), options).ask({ headers })).toMatchObject(refused)
    let renewals = 0
    const { ask } = guardWith(() => {
      renewals += 1
      return renewed(tokenFor('ada', { groups: undefined as unknown as string[] }))
    }, options)
    for (let round = 0; round < 3; round += 1) expect(await ask({ headers })).toMatchObject(refused)
    expect(renewals).toBe(1)
    expect(await ask({ headers, method: 'HEAD' })).toMatchObject(refused)
  })

  it.each(['Admins', 'a b', ['admins', ''], 7, null, undefined])('does not start with %o', (group) => {
    expect(() => guardWith(neverAsked, { group } as GuardOptions)).toThrow(TypeError)
  })
})

describe('a part that asks for more', () => {
  const options: GuardOptions = { fresh: '10m', factors: 2, appUrl: 'https://app.example.com' }
  const askWith = (token: string, headers = {}) =>
    guardWith(neverAsked, options).ask({ path: '/admin', headers: { ...headers, cookie: `access_token=${token}` } })

  it('lets those through who have proven it lately, with two factors', async () => {
    const proven = { amr: ['pwd', 'otp'], age: 700, secondFactorAge: 500 }
    expect((await askWith(tokenFor('ada', proven))).status).toBe('passed')
    expect((await askWith(tokenFor('ada', { amr: ['passkey'], secondFactorAge: 0 }))).status).toBe('passed')
  })

  it.each([
    ['one factor', tokenFor('ada')],
    ['too long ago', tokenFor('ada', { amr: ['passkey'], age: 700, secondFactorAge: 700 })],
    ['an old passkey and a new password', tokenFor('ada', { amr: ['passkey', 'pwd'], secondFactorAge: 700 })],
    ['a second factor at an unknown time', tokenFor('ada', { amr: ['passkey'] })],
    ['one factor, and the time of a second one', tokenFor('ada', { amr: ['otp'], secondFactorAge: 0 })],
  ])('sends the others to prove it again: %s', async (_, token) => {
    const page = `${publicUrl}/step-up?fresh=10m&factors=2`
    expect(await askWith(token)).toMatchObject({ status: 403, headers: { 'x-auth-step-up': page } })
    const location = `${page}&returnTo=${encodeURIComponent('https://app.example.com/admin')}`
    expect(await askWith(token, navigation)).toMatchObject({ status: 302, headers: { location } })
  })

  it('keeps the renewed cookies of those', async () => {
    const { ask } = guardWith(() => renewed(tokenFor('ada')), options)
    const answer = await ask({ headers: { cookie: 'refresh_token=one' } })
    expect(answer).toMatchObject({ status: 403, setCookies: { length: 3 } })
  })

  it.each([{ fresh: '10' }, { fresh: '0m' }, { fresh: 'soon' }, { factors: 3 }, { appUrl: 'app.example.com' }])(
    'does not start with %o',
    (wrong) => {
      expect(() => guardWith(neverAsked, wrong as GuardOptions)).toThrow(TypeError)
    },
  )

  it.each([
    [{ frsh: '1s' }, 'frsh: is no option of a guard'],
    [{ fresh: '1s', factor: 2 }, 'factor: is no option of a guard'],
    [{ optional: 'no' }, 'optional: must be true or false'],
  ])('does not start with the mistake in %o, which would leave it open', (wrong, message) => {
    expect(() => guardWith(neverAsked, wrong as GuardOptions)).toThrow(message)
  })
})

it('refuses in the words of the service', () => {
  expect(known).toMatchObject(refusals)
})

import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { createTestKeys, type TestTokenOptions } from '../../testing/src/keys.js'
import { createForNext, type NextOptions } from './next-functions.js'

const publicUrl = 'https://auth.example.com'
const appUrl = 'https://app.example.com'
const keys = await createTestKeys({ publicUrl })
const navigation = { 'sec-fetch-mode': 'navigate' }

type Asked = { path: string; method: string; headers: Headers }

/** A service that renews every session, and ends it. Without `signOutStatus` it is away. */
const service = (signOutStatus?: number) => {
  const asked: Asked[] = []
  const fetch = async (input: string | URL | Request, init: RequestInit = {}) => {
    const { pathname } = new URL(input instanceof Request ? input.url : input)
    if (pathname.endsWith('jwks.json')) return keys.fetch(input)
    asked.push({ path: pathname, method: init.method ?? 'GET', headers: new Headers(init.headers) })
    if (signOutStatus === undefined) throw new Error('ECONNREFUSED')
    const cookie = (line: string) => ['set-cookie', `${line}; Path=/; HttpOnly; SameSite=Strict; Secure`] as const
    if (pathname.endsWith('/csrf-token'))
      return Response.json(
        { csrfToken: 'nonce.mac' },
        { headers: [[...cookie('__Host-csrf_secret=once; Max-Age=2592000')]] },
      )
    if (pathname.endsWith('/logout'))
      return new Response(null, {
        status: signOutStatus,
        headers: ['access_token', 'refresh_token'].flatMap((name) => [
          [...cookie(`${name}=; Max-Age=0; Domain=example.com`)] as [string, string],
          [...cookie(`${name}=; Max-Age=0`)] as [string, string],
        ]),
      })
    const token = await keys.token({ username: 'renewed' })
    return new Response(null, {
      status: 204,
      headers: [[...cookie(`access_token=${token}; Max-Age=900`)], [...cookie('refresh_token=next; Max-Age=2592000')]],
    })
  }
  return { asked, fetch }
}

class Redirected extends Error {}

/** What Next does with the functions: the proxy first, and the page with the headers that it has passed on. */
const application = (options: Partial<NextOptions> = {}, { fetch, asked } = service(204)) => {
  let pageHeaders = new Headers()
  let reads = 0
  const written: [string, string, object][] = []
  const problems: string[] = []
  const latchkey = createForNext(
    {
      headers: async () => pageHeaders,
      cookies: async () => ({ set: (...cookie) => written.push(cookie) }),
      redirect: async (address) => {
        throw new Redirected(address)
      },
      goOn: (headers) => {
        pageHeaders = headers
        return new Response('page')
      },
    },
    () => {
      reads += 1
      return {
        publicUrl,
        appUrl,
        jwks: true,
        fetch,
        onProblem: (text) => problems.push(text),
        ...options,
      } as NextOptions
    },
  )
  /** The request of a page that no proxy has seen. */
  const withoutProxy = (headers: Record<string, string>) => {
    pageHeaders = new Headers(headers)
  }
  return { ...latchkey, asked, written, problems, withoutProxy, reads: () => reads, sent: () => pageHeaders }
}

const request = (path: string, headers: Record<string, string> = {}, method = 'GET') =>
  new Request(`http://10.0.0.9:3000${path}`, { method, headers })
const cookieOf = (options?: TestTokenOptions) => keys.cookie(options)
const placeAfter = async (work: Promise<unknown>) => {
  try {
    await work
    return 'no redirect'
  } catch (error) {
    if (error instanceof Redirected) return error.message
    throw error
  }
}

describe('an application with Next', () => {
  it('reads its options with the first request, so that a build needs no secret', async () => {
    const app = application()
    const [proxy, route] = [app.proxy(), app.route(() => new Response('x'))]
    expect(app.reads()).toBe(0)
    await proxy(request('/'))
    await route(request('/api'), {})
    expect(app.reads()).toBe(1)
    expect(() => app.proxy({ groups: 'admins' } as object)).toThrow('groups: is no option of proxy')
    expect(() => app.route(() => new Response(''), { group: '' })).toThrow('group: must be')
    await expect(app.requireAuth({ optional: true } as object)).rejects.toThrow('optional: is no option of requireAuth')
  })

  it('knows the user on a page behind its proxy', async () => {
    const app = application()
    const answer = await app.proxy()(request('/notes', { cookie: await cookieOf({ username: 'ada' }) }))
    expect([await answer.text(), (await app.auth())?.user.username]).toEqual(['page', 'ada'])
    // Next itself lets every cache keep a static page. An optional proxy guards none.
    expect(answer.headers.get('cache-control')).toBe('private, no-store')
    const ofAll = await app.proxy({ optional: true })(request('/notes', { cookie: await cookieOf() }))
    expect(ofAll.headers.get('cache-control')).toBeNull()
    expect((await app.requireAuth()).user.username).toBe('ada')
    expect(app.asked).toEqual([])
  })

  it('forgets the redirects before a sign-in, and the page keeps the token', async () => {
    const app = application()
    const cookie = `${await cookieOf({ username: 'ada' })}; __Host-latchkey_redirects=3; latchkey_redirects=3`
    const answer = await app.proxy()(request('/notes', { cookie }))
    expect(answer.headers.getSetCookie()).toEqual([
      expect.stringMatching(/^(__Host-)?latchkey_redirects=; Max-Age=0; /),
    ])
    expect((await app.auth())?.user.username).toBe('ada')
  })

  it('renews an expired token in the proxy, and gives the new one to the browser and to the page', async () => {
    const app = application({ addressOf: (headers) => headers.get('x-real-ip') })
    const sent = { cookie: 'theme=dark; refresh_token=old', 'x-real-ip': '192.0.2.7' }
    const answer = await app.proxy()(request('/notes', sent))
    expect(answer.headers.getSetCookie()).toHaveLength(2)
    expect(answer.headers.get('cache-control')).toBe('private, no-store')
    expect((await app.auth())?.user.username).toBe('renewed')
    expect(app.sent().get('cookie')).toMatch(/^theme=dark; access_token=[\w.-]+; refresh_token=next$/)
    expect(app.asked.map(({ headers }) => headers.get('x-forwarded-for'))).toEqual(['192.0.2.7'])
  })

  it('sends a visitor to sign in and back to the same address, without what Next has added to it', async () => {
    const app = application()
    const answer = await app.proxy()(request('/notes?by=a%20b&_rsc=1x', navigation))
    const back = encodeURIComponent(`${appUrl}/notes?by=a%20b`)
    expect([answer.status, answer.headers.get('location')]).toEqual([302, `${publicUrl}/login?returnTo=${back}`])
  })

  it('lets a page ask for the sign-in behind an optional proxy, which stops after the ninth time', async () => {
    const app = application()
    const proxy = app.proxy({ optional: true })
    const stale = { ...navigation, cookie: 'theme=dark; access_token=a' }
    expect(await (await proxy(request('/notes?by=day', stale))).text()).toBe('page')
    // Tokens that are good for nothing do not reach the page.
    expect([await app.auth(), app.sent().get('cookie'), app.problems]).toEqual([undefined, 'theme=dark', []])
    const place = await placeAfter(app.requireAuth())
    // With the origin, which keeps Next from adding its `basePath` once more.
    expect(place).toBe(`${appUrl}/notes?by=day&latchkey=sign-in`)
    const statuses: number[] = []
    let cookie = ''
    for (let time = 0; time < 10; time += 1) {
      const answer = await proxy(request(place.slice(appUrl.length), { ...navigation, cookie }))
      statuses.push(answer.status)
      cookie = answer.headers.getSetCookie()[0]?.split(';')[0] ?? cookie
      if (time > 0) continue
      const back = encodeURIComponent(`${appUrl}/notes?by=day`)
      expect(answer.headers.get('location')).toBe(`${publicUrl}/login?returnTo=${back}`)
    }
    expect(statuses).toEqual([...Array.from({ length: 9 }, () => 302), 401])
  })

  it('never sends a browser round and round between a page and a proxy that disagree', async () => {
    const app = application()
    await app.proxy({ optional: true })(request('/notes?latchkey=sign-in', { cookie: await cookieOf() }))
    app.sent().delete('cookie')
    await expect(app.requireAuth()).rejects.toThrow('The proxy knows the user and the page does not')
  })

  it.each([
    '//evil.com',
    '/.//evil.com',
    'https://evil.com/a',
    '/\\evil.com',
    '/\t/evil.com',
    'javascript:alert(1)',
    '//',
  ])('redirects to no other site, whatever a request says of its path: %j', async (path) => {
    const app = application()
    app.withoutProxy({ 'x-latchkey-path': path })
    expect(await placeAfter(app.requireAuth())).toMatch(
      /^https:\/\/(?:app\.example\.com\/[^/\\]*\?latchkey=|auth\.example\.com\/login\?)/,
    )
    if (!path.startsWith('/')) return
    await app.proxy({ optional: true })(new Request(`${appUrl}${path}`))
    expect(app.sent().get('x-latchkey-path')).toMatch(/^\/(?!\/)/)
  })

  it('waits for the first list of ended sessions once, and only with a token', async () => {
    vi.useFakeTimers()
    onTestFinished(() => void vi.useRealTimers())
    const withoutList = async (input: string | URL | Request) => {
      if (String(input).includes('/revocations')) throw new Error('ECONNREFUSED')
      return keys.fetch(input)
    }
    const app = application({ revocations: { serviceKey: 'x'.repeat(32) } }, { fetch: withoutList, asked: [] })
    const proxy = app.proxy({ optional: true })
    // Without a token nothing has to be compared with the list.
    expect((await proxy(request('/'))).status).toBe(200)
    const cookie = await cookieOf()
    const ask = () => proxy(request('/', { cookie })).then(({ status }) => status)
    const first = Promise.all([ask(), ask()])
    await vi.advanceTimersByTimeAsync(5_000)
    expect(await first).toEqual([503, 503])
    expect(await ask()).toBe(503)
    await expect(app.auth()).resolves.toBeUndefined()
    app.close()
  })

  it('asks for a group, a fresh proof and two factors', async () => {
    const app = application()
    const rules = { group: 'admins', fresh: '10m', factors: 2 } as const
    const placeOf = async (user: TestTokenOptions) => {
      await app.proxy()(request('/admin?tab=1', { cookie: await cookieOf(user) }))
      return placeAfter(app.requireAuth(rules))
    }
    const back = `returnTo=${encodeURIComponent(`${appUrl}/admin?tab=1`)}`
    expect(await placeOf({ groups: ['staff'], factors: 2 })).toBe(`${publicUrl}/step-up?group=1&${back}`)
    expect(await placeOf({ groups: ['admins'] })).toBe(`${publicUrl}/step-up?fresh=10m&factors=2&${back}`)
    expect(await placeOf({ groups: ['admins'], factors: 2, age: 700 })).toContain('/step-up?fresh=10m')
    expect(await placeOf({ groups: ['admins'], factors: 2 })).toBe('no redirect')
    const answer = await app.proxy(rules)(request('/admin', { cookie: await cookieOf() }))
    expect([answer.status, await answer.json()]).toMatchObject([403, { code: 'group_required' }])
  })

  it('names all wrong options at once, and the function that they were given to', async () => {
    const wrong = { publicUrl: '', appUrl: '', revocations: { serviceKey: '' }, optionl: true }
    await expect(application(wrong as object).proxy()(request('/'))).rejects.toThrow(
      '@latchkey/verify: optionl: is no option of createLatchkey; publicUrl: is empty; revocations.serviceKey: is empty; appUrl: is empty',
    )
  })

  it('has a link to the sign-in page, which leads back to a page of its own and to no other site', () => {
    const backOf = (app: ReturnType<typeof application>, returnTo?: string) => {
      const { origin, pathname, searchParams } = new URL(app.signInUrl(returnTo))
      expect([origin, pathname]).toEqual([publicUrl, '/login'])
      return searchParams.get('returnTo')
    }
    const app = application()
    expect([backOf(app), backOf(app, '/notes?by=day#x'), backOf(app, `${appUrl}/notes`)]).toEqual([
      `${appUrl}/`,
      `${appUrl}/notes?by=day#x`,
      `${appUrl}/notes`,
    ])
    for (const place of [
      'https://evil.example/x',
      '//evil.example',
      '/\\evil.example',
      'javascript:alert(1)',
      'http://[',
    ])
      expect(backOf(app, place)).toBe(`${appUrl}/`)
    const onOneHost = application({ appUrl: publicUrl })
    expect([backOf(onOneHost, '/notes'), backOf(onOneHost, '/.//evil.example')]).toEqual(['/notes', '/evil.example'])
  })

  it('says at once, and once, that a path is missing in the matcher', async () => {
    const app = application()
    app.withoutProxy({ cookie: `${await cookieOf()}; refresh_token=good` })
    expect([(await app.auth())?.user.username, (await app.auth())?.user.username]).toEqual(['ada', 'ada'])
    expect(app.problems).toEqual([expect.stringContaining('`matcher` in proxy.ts')])
  })

  it('sends a visitor to sign in without a way back where no proxy was', async () => {
    const app = application()
    app.withoutProxy({ cookie: 'refresh_token=good' })
    expect(await app.auth()).toBeUndefined()
    const back = encodeURIComponent(`${appUrl}/`)
    expect(await placeAfter(app.requireAuth())).toBe(`${publicUrl}/login?returnTo=${back}`)
  })

  it('takes an outage for no sign-out', async () => {
    const app = application({}, service())
    const away = { fetch: async () => new Response('', { status: 503 }), asked: [] }
    expect((await app.proxy({ optional: true })(request('/', { cookie: 'refresh_token=old' }))).status).toBe(503)
    const withoutKeys = application({}, away)
    withoutKeys.withoutProxy({ cookie: await cookieOf() })
    await expect(withoutKeys.auth()).rejects.toThrow('This is no sign-out')
  })

  it('guards a route handler, also without a proxy', async () => {
    const app = application()
    const context = { params: Promise.resolve({ id: '7' }) }
    const handler = app.route(async (_: Request, { user }, { params }: typeof context) =>
      Response.json([user.username, await params]),
    )
    expect(await (await handler(request('/api/notes/7', { cookie: await cookieOf() }), context)).json()).toEqual([
      'ada',
      { id: '7' },
    ])
    const answer = await handler(request('/api/notes/7', { cookie: await cookieOf() }), context)
    expect(answer.headers.get('cache-control')).toBe('private, no-store')
    const kept = app.route(() => new Response('', { headers: { 'cache-control': 'max-age=60' } }))
    const own = await kept(request('/api/notes/7', { cookie: await cookieOf() }), context)
    expect(own.headers.get('cache-control')).toBe('max-age=60')
    const renewed = await handler(request('/api/notes/7', { cookie: 'refresh_token=old' }), context)
    expect([renewed.headers.getSetCookie().length, (await renewed.json())[0]]).toEqual([2, 'renewed'])
    expect((await handler(request('/api/notes/7'), context)).status).toBe(401)
    const withoutContext = app.route((_, { user }) => new Response(user.username))
    expect(await (await withoutContext(request('/api/me', { cookie: await cookieOf() }))).text()).toBe('ada')
    const ofAdmins = app.route(() => new Response(''), { group: 'admins' })
    expect((await ofAdmins(request('/api/notes/7', { cookie: await cookieOf() }), context)).status).toBe(403)
  })
})

describe('a sign-out on the server', () => {
  const cookie = 'theme=dark; access_token=a; refresh_token=r; __Host-csrf_secret=own'

  it('sends the tokens and a CSRF token, and clears the cookies where the service has set them', async () => {
    const app = application()
    app.withoutProxy({ origin: appUrl, cookie, 'user-agent': 'Browser' })
    await app.signOut()
    expect(app.asked.map(({ method, path }) => `${method} ${path}`)).toEqual([
      'GET /api/auth/csrf-token',
      'POST /api/auth/logout',
    ])
    const tokens = 'access_token=a; refresh_token=r'
    expect(app.asked.map(({ headers }) => headers.get('cookie'))).toEqual([
      tokens,
      `${tokens}; __Host-csrf_secret=once`,
    ])
    expect(Object.fromEntries(app.asked[1]?.headers ?? [])).toMatchObject({
      'x-csrf-token': 'nonce.mac',
      'content-type': 'application/json',
      'user-agent': 'Browser',
    })
    const attributes = { maxAge: 0, path: '/', httpOnly: true, sameSite: 'strict', secure: true, domain: 'example.com' }
    expect(app.written).toEqual([
      ['access_token', '', attributes],
      ['refresh_token', '', attributes],
    ])
  })

  it('ends every session of cookies that came twice, also behind an optional proxy', async () => {
    const app = application()
    const doubled = 'access_token=planted; access_token=a; refresh_token=planted; refresh_token=r'
    await app.proxy({ optional: true })(request('/notes', { origin: appUrl, cookie: doubled }, 'POST'))
    expect([await app.auth(), app.problems]).toEqual([undefined, []])
    await app.signOut()
    expect(app.asked.at(-1)?.headers.get('cookie')).toBe(`${doubled}; __Host-csrf_secret=once`)
  })

  it.each([['https://other.example.com'], ['null'], [undefined]])('is refused with the origin %s', async (origin) => {
    const app = application()
    app.withoutProxy({ cookie, ...(origin !== undefined && { origin }) })
    // By the digest, Next answers with 403.
    await expect(app.signOut()).rejects.toMatchObject({
      message: expect.stringContaining(`only a form of ${appUrl} (appUrl) may send it`),
      digest: 'NEXT_HTTP_ERROR_FALLBACK;403',
    })
    expect(app.problems).toEqual([expect.stringContaining(origin === undefined ? 'from no page' : `from "${origin}"`)])
    expect([app.asked, app.written]).toEqual([[], []])
  })

  it('fails if the session goes on, and keeps the cookies', async () => {
    const app = application({}, service(429))
    app.withoutProxy({ cookie, origin: appUrl })
    await expect(app.signOut()).rejects.toMatchObject({
      name: 'StillSignedIn',
      message: expect.stringContaining('with 429'),
    })
    const away = application({}, service())
    away.withoutProxy({ cookie, origin: appUrl })
    await expect(away.signOut()).rejects.toMatchObject({
      name: 'StillSignedIn',
      message: expect.stringContaining('ECONNREFUSED'),
    })
    expect([app.written, away.written]).toEqual([[], []])
  })
})

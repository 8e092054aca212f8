import { describe, expect, it, onTestFinished } from 'vitest'
import { createTestKeys } from '../../testing/src/keys.js'
import { sharedVerifier } from './shared-verifier.js'
import { createLatchkey, type SsrOptions } from './ssr.js'

const publicUrl = 'https://auth.example.com'
const appUrl = 'https://app.example.com'
const keys = await createTestKeys({ publicUrl })

/** An application beside a service that renews every session, and answers to a sign-out with this status. */
const application = (options: Partial<SsrOptions> = {}, signOutStatus = 204) => {
  let reads = 0
  const asked: string[] = []
  const fetch = async (input: string | URL | Request, init: RequestInit = {}) => {
    const { pathname } = new URL(input instanceof Request ? input.url : input)
    if (pathname.endsWith('jwks.json')) return keys.fetch(input)
    asked.push(`${init.method ?? 'GET'} ${pathname}`)
    if (pathname.endsWith('/csrf-token'))
      return Response.json({ csrfToken: 'x' }, { headers: { 'set-cookie': 'csrf_secret=y' } })
    const isSignOut = pathname.endsWith('/logout')
    const token = isSignOut ? '' : await keys.token({ username: 'renewed' })
    return new Response(null, {
      status: isSignOut ? signOutStatus : 204,
      headers: [
        ['set-cookie', `access_token=${token}; Path=/`],
        ['set-cookie', `refresh_token=${isSignOut ? '' : 'next'}; Path=/`],
      ],
    })
  }
  const problems: string[] = []
  const latchkey = createLatchkey(() => {
    reads += 1
    return { publicUrl, appUrl, jwks: true, fetch, onProblem: (text) => problems.push(text), ...options } as SsrOptions
  })
  onTestFinished(latchkey.close)
  return { ...latchkey, asked, problems, reads: () => reads }
}

/** As a framework sees it behind a proxy. */
const request = (path: string, headers: Record<string, string> = {}, method = 'GET') =>
  new Request(`http://10.0.0.9:3000${path}`, { method, headers })
const navigation = { 'sec-fetch-mode': 'navigate' }
const login = (path: string) => `${publicUrl}/login?returnTo=${encodeURIComponent(appUrl + path)}`

describe('a guard for pages that are rendered on the server', () => {
  it('goes on to learn of ended sessions when another one of the same service is closed', async () => {
    const options = {
      publicUrl,
      secret: 'x'.repeat(64),
      revocations: { serviceKey: 'y'.repeat(43), url: 'http://127.0.0.1:9' },
    }
    const [one, two] = [sharedVerifier(options), sharedVerifier(options)]
    let isClosed = false
    const { close } = one.verifier
    Object.assign(one.verifier, {
      close: () => {
        isClosed = true
        close()
      },
    })
    one.close()
    one.close()
    expect([one.verifier === two.verifier, isClosed]).toEqual([true, false])
    two.close()
    expect(isClosed).toBe(true)
  })

  it('takes an address without a path for the start page', async () => {
    for (const url of ['*', '', '?x'])
      expect(
        await application().guard({ optional: true })({ method: 'OPTIONS', url, headers: new Headers() }),
      ).toMatchObject({
        goOn: true,
      })
  })

  it('reads its options with the first request, so that a build needs no secret', async () => {
    const app = application()
    const guard = app.guard()
    expect(app.reads()).toBe(0)
    await Promise.all([guard(request('/')), app.guard({ optional: true })(request('/'))])
    expect(app.reads()).toBe(1)
    expect(() => app.guard({ groups: 'admins' } as object)).toThrow('groups: is no option of guard')
    expect(() => app.guard({ group: '' })).toThrow('group: must be')
  })

  it('gives the user, and keeps the page out of caches unless the application says something else', async () => {
    const decision = await application().guard()(request('/', { cookie: await keys.cookie({ username: 'ada' }) }))
    expect([decision.auth?.user.username, [...(decision.answerHeaders ?? [])]]).toEqual([
      'ada',
      [['cache-control', 'private, no-store']],
    ])
    const kept = new Response('', { headers: { 'cache-control': 'max-age=60' } })
    expect(decision.finish?.(Response.redirect(appUrl)).headers.get('cache-control')).toBe('private, no-store')
    expect(decision.finish?.(kept).headers.get('cache-control')).toBe('max-age=60')
  })

  it('gives renewed tokens to every answer', async () => {
    const decision = await application().guard({ optional: true })(request('/', { cookie: 'refresh_token=old' }))
    const { headers } = decision.finish?.(new Response('', { headers: { 'set-cookie': 'theme=dark' } })) ?? {}
    expect(decision.auth?.user.username).toBe('renewed')
    expect([headers?.getSetCookie().length, headers?.get('cache-control')]).toEqual([3, 'private, no-store'])
    expect(decision.answerHeaders?.getSetCookie().length).toBe(2)
  })

  it('leaves the page of a visitor as it is, and takes a doubled cookie for none', async () => {
    const cookie = `${await keys.cookie()}; access_token=planted; refresh_token=old`
    const app = application()
    const decision = await app.guard({ optional: true })(request('/', { cookie }))
    const page = new Response('page')
    expect([decision.auth, decision.finish?.(page) === page, app.asked]).toEqual([undefined, true, []])
  })

  it('sends a page load to sign in, also one by a script of the framework, and answers programs with 401', async () => {
    const guard = application().guard()
    const place = async (...asked: Parameters<typeof guard>) => {
      const { response } = await guard(...asked)
      return [response?.status, response?.headers.get('location')]
    }
    expect(await place(request('/notes?by=day', navigation))).toEqual([302, login('/notes?by=day')])
    const ofScript = request('/notes/__data.json?by=day&x-invalidated=1', { 'sec-fetch-mode': 'cors' })
    const url = new URL('http://10.0.0.9:3000/notes?by=day')
    expect(await place(ofScript, { url, isPage: true })).toEqual([302, login('/notes?by=day')])
    expect(await place(ofScript, { url })).toEqual([401, null])
    const ofNode = { method: 'GET', url: '//evil.example/x', headers: new Headers(navigation) }
    expect(await place(ofNode)).toEqual([302, login('//evil.example/x')])
  })
})

it('has a link to the sign-in page for pages', () => {
  const app = application()
  expect([app.signInUrl('/notes'), app.signInUrl('https://evil.example/')]).toEqual([login('/notes'), login('/')])
})

describe('a sign-out', () => {
  const cookie = 'access_token=a; refresh_token=r'

  it('ends the session, clears its cookies and leads to the start page', async () => {
    const app = application()
    const { status, headers } = await app.signOut(request('/sign-out', { cookie, origin: appUrl }, 'POST'))
    expect([status, headers.get('location'), headers.get('cache-control')]).toEqual([303, '/', 'no-store'])
    expect(headers.getSetCookie()).toEqual(['access_token=; Path=/', 'refresh_token=; Path=/'])
    expect(app.asked).toEqual(['GET /api/auth/csrf-token', 'POST /api/auth/logout'])
  })

  it.each([
    ['POST', 'https://other.example.com'],
    ['POST', undefined],
    ['GET', appUrl],
  ])('is refused for %s with the origin %s', async (method, origin) => {
    const app = application()
    const headers = { cookie, ...(origin !== undefined && { origin }) }
    const { status } = await app.signOut(request('/sign-out', headers, method))
    expect([status, app.asked, app.problems]).toEqual([403, [], [expect.stringContaining(`form of ${appUrl}`)]])
  })

  it('keeps the cookies if the session goes on, and says so', async () => {
    const app = application({}, 429)
    const answer = await app.signOut(request('/sign-out', { cookie, origin: appUrl }, 'POST'))
    expect([answer.status, answer.headers.getSetCookie()]).toEqual([503, []])
    expect(await answer.text()).toContain('You are still signed in')
    expect(app.problems).toEqual([expect.stringContaining('Latchkey answered with 429')])
  })
})

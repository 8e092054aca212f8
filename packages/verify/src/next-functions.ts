import type { NamesOf } from '../../option-names.js'
import type { Verified } from './claims.js'
import { type ConditionOptions, conditionsOf } from './conditions.js'
import { type AnyRequest, headerOf, readCookie } from './cookies.js'
import { createEndSession, foreignFormMessage } from './end-session.js'
import { refuseUnknown } from './faults.js'
import { fetchGuard } from './fetch.js'
import { headersWith, headersWithoutTokens, responseOf, uncached, withCookies } from './fetch-responses.js'
import { createGuard, type GuardOptions } from './guard.js'
import { createServicePages, createSignInUrl } from './redirects.js'
import type { VerifierOptions } from './settings.js'
import { createLazySetup, type LazySetup, sharedVerifier } from './shared-verifier.js'

type AnyHeaders = { get(name: string): string | null }

/** The parts of Next that are used. */
export type NextParts = {
  headers(): Promise<AnyHeaders>
  cookies(): Promise<{ set(name: string, value: string, attributes: object): unknown }>
  redirect(address: string): Promise<never>
  /** Lets a request through the proxy with these headers. */
  goOn(headers: Headers): Response
}

export type NextOptions = VerifierOptions & {
  /** The address of your application, if its host is not that of the service. */
  appUrl?: string
  /** The address of the client, if a proxy in front of Next says it, such as `(headers) => headers.get('x-real-ip')`. */
  addressOf?: (headers: AnyHeaders) => string | null | undefined
}
/** What a page asks for beyond a session. */
export type PageOptions = ConditionOptions
export type ProxyOptions = Pick<GuardOptions, 'factors' | 'fresh' | 'group' | 'optional'>
export type RouteOptions = Pick<GuardOptions, 'factors' | 'fresh' | 'group' | 'bearer'>

const conditionNames: NamesOf<PageOptions> = { factors: true, fresh: true, group: true }
const proxyNames: NamesOf<ProxyOptions> = { ...conditionNames, optional: true }
const routeNames: NamesOf<RouteOptions> = { ...conditionNames, bearer: true }

/** The header in which the proxy tells a page its own path. */
const pathHeader = 'x-latchkey-path'
/**
 * A page redirects to itself with this in the query, to ask the proxy for a redirect to the sign-in page. The page itself cannot count
 * redirects.
 */
const signInMark = 'latchkey=sign-in'
/** The parameter that Next adds to the URLs of its own requests. */
const nextParameter = /^_rsc(?:=|$)/

/**
 * The path with its query, without the parameters that Next and a page have added. It begins with one slash: a browser takes `//host`
 * for another site.
 */
const placeOf = (url: URL) => {
  const { search } = url
  const pathname = `/${url.pathname.replace(/^\/+/, '')}`
  const pairs = search.slice(1).split('&')
  const query = pairs.filter((pair) => pair !== '' && pair !== signInMark && !nextParameter.test(pair)).join('&')
  return { asksForSignIn: pairs.includes(signInMark), path: query === '' ? pathname : `${pathname}?${query}` }
}

const withSignInMark = (path: string) => `${path}${path.includes('?') ? '&' : '?'}${signInMark}`

/** The path that the proxy has written. Without a proxy, a client can send this header, so its value is checked. */
const readPlace = (headers: AnyHeaders, ownOrigin: string) => {
  const path = headers.get(pathHeader)
  return path !== null && URL.canParse(path, ownOrigin) ? placeOf(new URL(path, ownOrigin)) : undefined
}

/** Reads the options, and creates what depends on them. */
const openSetup = (readOptions: () => NextOptions) => {
  const { appUrl, addressOf, ...options } = readOptions()
  const { verifier, readyFor, close } = sharedVerifier(options, appUrl)
  const { publicUrl, onProblem } = verifier.service
  const servicePages = createServicePages(publicUrl, appUrl)
  let hasWarned = false
  return {
    verifier,
    close,
    readyFor,
    servicePages,
    ownOrigin: new URL(appUrl ?? publicUrl).origin,
    guardOptions: appUrl === undefined ? {} : { appUrl },
    addressOf: (headers: AnyHeaders) => addressOf?.(headers) ?? undefined,
    endSession: createEndSession(verifier),
    /** Warns at once, and not only after a token has expired. The warning cannot name the path: Next does not tell a page its own. */
    warnOfMissingProxy: (request: AnyRequest) => {
      const { value } = readCookie(headerOf(request, 'cookie'), 'refresh_token')
      if (value === undefined || headerOf(request, pathHeader) !== undefined || hasWarned) return
      hasWarned = true
      onProblem(
        'auth() or requireAuth() was called for a path that `matcher` in proxy.ts leaves out: expired tokens are not renewed there',
      )
    },
  }
}

type Setup = ReturnType<typeof openSetup>

/** Makes a guard with the first request, and keeps it. The returned function waits until the guard can decide. */
const lazyGuard = <Guard>(lazySetup: LazySetup<Setup>, make: (setup: Setup) => Guard) => {
  let guard: Guard | undefined
  return async (headers: AnyHeaders) => {
    const setup = lazySetup.get()
    guard ??= make(setup)
    await setup.readyFor(headers)
    return { ...setup, guard }
  }
}

/** For server components, server actions and route handlers behind the proxy. */
const createPageAuth = (next: NextParts, lazySetup: LazySetup<Setup>) => {
  const auth = async (): Promise<Verified | undefined> => {
    // `headers()` comes first: during a build, it tells Next that the page is made for each request.
    const request = { headers: await next.headers() }
    const { verifier, readyFor, warnOfMissingProxy } = lazySetup.get()
    warnOfMissingProxy(request)
    await readyFor(request.headers)
    const verified = await verifier.verify(request)
    if (verified.ok) return verified
    if (verified.code === 'unavailable') throw new Error('Latchkey cannot be asked at the moment. This is no sign-out')
    return undefined
  }

  const requireAuth = async (options: PageOptions = {}): Promise<Verified> => {
    refuseUnknown(options, conditionNames, 'requireAuth')
    const conditions = conditionsOf(options)
    const found = await auth()
    const { servicePages, ownOrigin, verifier } = lazySetup.get()
    const place = readPlace(await next.headers(), ownOrigin)
    const { now } = verifier.service
    const pageUrl = (page: string) => servicePages.pageUrl(page, place?.path ?? '/')
    if (!found) {
      if (place?.asksForSignIn)
        throw new Error('The proxy knows the user and the page does not: do both use the same options?')
      // The address has its origin, because Next would put its `basePath` in front of a path that already has it.
      return next.redirect(place ? ownOrigin + withSignInMark(place.path) : pageUrl('/login'))
    }
    const missing = conditions.firstMissing(found, now())
    return missing ? next.redirect(pageUrl(`/step-up?${missing.query}`)) : found
  }
  return { auth, requireAuth }
}

const hasDoubledTokens = (request: Request) =>
  ['access_token', 'refresh_token'].some((name) => readCookie(headerOf(request, 'cookie'), name).isDoubled)

const createProxy =
  (next: NextParts, lazySetup: LazySetup<Setup>) =>
  (options: ProxyOptions = {}) => {
    refuseUnknown(options, proxyNames, 'proxy')
    // A wrong condition throws now, and not only with the first request.
    conditionsOf(options)
    const getGuard = lazyGuard(lazySetup, ({ verifier, guardOptions }) => ({
      asConfigured: createGuard(verifier, { ...options, ...guardOptions }),
      requiringUser: createGuard(verifier, { ...options, ...guardOptions, optional: false }),
    }))
    return async (request: Request): Promise<Response> => {
      const { method, url, headers } = request
      const { guard, addressOf } = await getGuard(headers)
      const { path, asksForSignIn } = placeOf(new URL(url))
      const decide = asksForSignIn ? guard.requiringUser : guard.asConfigured
      const decision = await decide({ method, path, headers, address: addressOf(headers) })
      if ('answer' in decision) return responseOf(decision.answer)
      const { auth, setCookies } = decision.passed
      // Cookies that came twice stay, so that a sign-out can end both sessions.
      const requestHeaders =
        auth || hasDoubledTokens(request) ? headersWith(request, setCookies) : headersWithoutTokens(request)
      requestHeaders.set(pathHeader, asksForSignIn ? withSignInMark(path) : path)
      const answer = next.goOn(requestHeaders)
      // Next lets every cache keep a static page, and this one is not for everyone.
      return withCookies(options.optional && !asksForSignIn ? answer : uncached(answer), setCookies)
    }
  }

type Handler<Incoming, Context> = (request: Incoming, auth: Verified, context: Context) => Response | Promise<Response>

/** A handler that takes no context can be called without one, as a test does. */
type RouteContext<Context> = unknown extends Context ? [context?: Context] : [context: Context]

const createRoute =
  (lazySetup: LazySetup<Setup>) =>
  <Incoming extends Request, Context>(handler: Handler<Incoming, Context>, options: RouteOptions = {}) => {
    refuseUnknown(options, routeNames, 'route')
    // A wrong condition throws now, and not only with the first request.
    conditionsOf(options)
    const getGuard = lazyGuard(lazySetup, ({ verifier, guardOptions }) =>
      fetchGuard(verifier, { ...options, ...guardOptions }),
    )
    return async (request: Incoming, ...[context]: RouteContext<Context>): Promise<Response> => {
      const { guard, addressOf } = await getGuard(request.headers)
      const decision = await guard(request, addressOf(request.headers))
      if (!decision.goOn) return decision.response
      if (!decision.auth) throw new Error('A guard that is not optional has let a request through without a user')
      const response = decision.finish(await handler(request, decision.auth, context as Context))
      // A handler may set its own `cache-control`.
      return response.headers.has('cache-control') ? response : uncached(response)
    }
  }

const clearingAttributes = (line: string) => {
  const domain = /; *domain=([^;]+)/i.exec(line)?.[1]
  return {
    maxAge: 0,
    path: '/',
    httpOnly: true,
    sameSite: 'strict',
    secure: /; *secure/i.test(line),
    ...(domain !== undefined && { domain }),
  }
}

class ForeignForm extends Error {
  /** Next answers an error with this digest with 403. */
  readonly digest = 'NEXT_HTTP_ERROR_FALLBACK;403'
}

const createSignOut = (next: NextParts, lazySetup: LazySetup<Setup>) => async (): Promise<void> => {
  const headers = await next.headers()
  const { ownOrigin, endSession, addressOf, verifier } = lazySetup.get()
  // Other hosts of the domain can send forms with the user's cookies, and a link sends no Origin at all.
  const origin = headers.get('origin')
  if (origin !== ownOrigin) {
    const problem = foreignFormMessage(origin, ownOrigin)
    // Next writes no such error into its log.
    verifier.service.onProblem(problem)
    throw new ForeignForm(problem)
  }
  const lines = await endSession({ headers }, addressOf(headers))
  const jar = await next.cookies()
  // Next keeps one cookie of each name, so only the first line counts: it clears the cookie of the session. Others clear planted cookies.
  for (const name of ['access_token', 'refresh_token'])
    jar.set(name, '', clearingAttributes(lines.find((line) => line.startsWith(`${name}=`)) ?? ''))
}

export type Latchkey = {
  /**
   * The user of the request, in server components, server actions and route handlers whose path the proxy has in its `matcher`.
   * Undefined without a session. It throws while Latchkey cannot be asked: that is no sign-out.
   */
  readonly auth: () => Promise<Verified | undefined>
  /**
   * The user, for a page or an action that needs one, and perhaps a group, a recent proof or two factors. Everyone else is sent to sign
   * in or to prove their identity again, and comes back. In a route handler use `route` instead: the redirect would repeat a POST.
   */
  readonly requireAuth: (options?: PageOptions) => Promise<Verified>
  /** `export const proxy = latchkey.proxy()` in proxy.ts: renews tokens, and sends visitors without a session to sign in. */
  readonly proxy: (options?: ProxyOptions) => (request: Request) => Promise<Response>
  /** `export const GET = latchkey.route(…)` in route.ts. It needs no proxy: it renews tokens itself, and answers 401, 403 and 503. */
  readonly route: <Incoming extends Request, Context>(
    handler: Handler<Incoming, Context>,
    options?: RouteOptions,
  ) => (request: Incoming, ...context: RouteContext<Context>) => Promise<Response>
  /**
   * The address of the sign-in page, for a link. It leads back to `returnTo`, a path or an address of your application as the browser
   * shows it; without one, or with an address of another site, to the start page.
   */
  readonly signInUrl: (returnTo?: string) => string
  /**
   * Ends the session, in a server action or in a route handler that a form of your own pages posts to. If the session goes on, because
   * Latchkey is away, it throws an error with the name `StillSignedIn`. A form of another site is answered with 403.
   */
  readonly signOut: () => Promise<void>
  /** Stops following the ended sessions, so that a test or a program can end. */
  readonly close: () => void
}

export const createForNext = (next: NextParts, readOptions: () => NextOptions): Latchkey => {
  const lazySetup = createLazySetup(() => openSetup(readOptions))
  return {
    ...createPageAuth(next, lazySetup),
    proxy: createProxy(next, lazySetup),
    route: createRoute(lazySetup),
    signInUrl: createSignInUrl(readOptions),
    signOut: createSignOut(next, lazySetup),
    close: lazySetup.close,
  }
}

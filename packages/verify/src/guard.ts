import type { NamesOf } from '../../option-names.js'
import { type Answer, escapeHtml, jsonAnswer, pageAnswer, redirect, refusals } from './answers.js'
import type { Verified } from './claims.js'
import { type ConditionOptions, conditionsOf, type MissingCondition } from './conditions.js'
import { type AnyRequest, headerOf, readCookie } from './cookies.js'
import { refuseUnknown } from './faults.js'
import { createServicePages } from './redirects.js'
import { createRenewal } from './renewal.js'
import type { Verifier } from './verifier.js'

export type GuardOptions = ConditionOptions & {
  /** The address of your application, if its host is not that of the service: the user returns there after signing in. */
  appUrl?: string
  /** Lets visitors without a session through as well. `optionalAuthOf` then gives undefined. */
  optional?: boolean
  /**
   * A check from `@latchkey/verify/bearer`, which accepts `Authorization: Bearer`, too. The cookies of a request with that header are
   * ignored.
   */
  bearer?: BearerCheck
}

const optionNames: NamesOf<GuardOptions> = {
  factors: true,
  fresh: true,
  group: true,
  appUrl: true,
  optional: true,
  bearer: true,
}

/** A request in a form that every framework can give. `path` includes the query. */
export type Incoming = AnyRequest & {
  readonly method: string
  readonly path: string
  /** The IP address of the client. */
  readonly address?: string | undefined
  /** The user, if another guard has let this request through before by its cookies. */
  readonly earlierAuth?: Verified | undefined
}

export type Passed = {
  readonly auth: Verified | undefined
  /** Whether a bearer token identified the user. The next guard of the request may accept other tokens, so it checks again. */
  readonly isByBearer: boolean
  /** Renewed tokens, and a cleared counter of redirects. They must be sent with the answer, which no cache may keep. */
  readonly setCookies: readonly string[]
}
type Identified = { outcome: 'known' | 'signed_out' | 'unavailable'; auth?: Verified; setCookies: readonly string[] }

/** Returns the user of the token in the header, or the answer to send. Undefined without such a header. */
export type BearerCheck = (request: Incoming, verifier: Verifier) => Promise<Verified | { answer: Answer } | undefined>

export type Decision = { readonly passed: Passed } | { readonly answer: Answer }

/** Browsers without `Sec-Fetch-Mode` are recognised by what they accept. */
const isNavigation = (request: Incoming) => {
  const mode = headerOf(request, 'sec-fetch-mode')
  return mode === undefined ? (headerOf(request, 'accept') ?? '').includes('text/html') : mode === 'navigate'
}

const isSafeMethod = ({ method }: Incoming) => method === 'GET' || method === 'HEAD'

const unavailableAnswer = (request: Incoming) =>
  isNavigation(request)
    ? pageAnswer(503, 'Please try again', '<p>This page is not available at the moment. Try again in a minute.</p>')
    : jsonAnswer('unavailable')

const withCookies = (answer: Answer, setCookies: readonly string[]) => ({
  answer: { ...answer, setCookies: [...answer.setCookies, ...setCookies] },
})

/** How long a service that knows no groups is not asked for new tokens, in milliseconds. */
const pauseWhileOutdated = 60_000

/** The user of the request, with cookies if the tokens were renewed. */
const createIdentify = (verifier: Verifier, isOutdated: (auth: Verified) => boolean) => {
  const renew = createRenewal(verifier)
  let acceptOutdatedUntil = 0
  return async (request: Incoming): Promise<Identified> => {
    const verified = request.earlierAuth ?? (await verifier.verify(request))
    if (!verified.ok && verified.code === 'unavailable') return { outcome: 'unavailable', setCookies: [] }
    const withoutRenewal: Identified = verified.ok
      ? { outcome: 'known', auth: verified, setCookies: [] }
      : { outcome: 'signed_out', setCookies: [] }
    const isGood = verified.ok && (!isOutdated(verified) || verifier.service.now() < acceptOutdatedUntil)
    if (isGood || (!verified.ok && verified.code === 'doubled')) return withoutRenewal
    const refreshToken = readCookie(headerOf(request, 'cookie'), 'refresh_token').value
    // HEAD changes nothing, and a program that sends it may not keep cookies.
    if (refreshToken === undefined || request.method === 'HEAD') return withoutRenewal
    const userAgent = headerOf(request, 'user-agent')
    const skipped = headerOf(request, 'secure-session-skipped')
    const renewed = await renew({ refreshToken, userAgent, address: request.address, skipped })
    if (renewed.outcome !== 'renewed')
      return verified.ok ? withoutRenewal : { outcome: renewed.outcome, setCookies: renewed.setCookies }
    // The service itself knows no groups, so it is not asked again with each request.
    if (isOutdated(renewed.verified)) acceptOutdatedUntil = verifier.service.now() + pauseWhileOutdated
    return { outcome: 'known', auth: renewed.verified, setCookies: renewed.setCookies }
  }
}

/** Decides about one request. It passes, with the user and perhaps with renewed tokens, or the guard answers it. */
export const createGuard = (verifier: Verifier, options: GuardOptions = {}) => {
  refuseUnknown(options, optionNames, 'a guard')
  const { optional = false, bearer } = options
  if (typeof optional !== 'boolean') throw new TypeError('optional: must be true or false')
  if (bearer !== undefined && typeof bearer !== 'function')
    throw new TypeError('bearer: must be made by a function of @latchkey/verify/bearer')
  const { publicUrl, now, onProblem } = verifier.service
  const servicePages = createServicePages(publicUrl, options.appUrl)
  const conditions = conditionsOf(options)
  const identify = createIdentify(verifier, conditions.isOutdated)

  const signedOutAnswer = (request: Incoming) => {
    if (!isNavigation(request)) return jsonAnswer('not_authenticated', bearer && { 'www-authenticate': 'Bearer' })
    const login = servicePages.pageAddress('/login', request.path)
    const link = (text: string, target = '') => `<a href="${escapeHtml(login)}"${target}>${text}</a>`
    if (!isSafeMethod(request)) {
      const signIn = link('Sign in in a new tab', ' target="_blank"')
      return pageAnswer(401, 'Your entries were not sent', `<p>${signIn}, go back to this form and send it again.</p>`)
    }
    const counterCookie = servicePages.redirectCounter.nextCookie(headerOf(request, 'cookie'))
    if (counterCookie !== undefined) return redirect(login, [counterCookie])
    onProblem(
      'a browser returns from the sign-in page without a session: see COOKIE_DOMAIN, or use one host name for the application and the service',
    )
    return pageAnswer(
      401,
      'Not signed in',
      `<p>This application does not see that you are signed in. ${link('Try again')}</p>`,
    )
  }

  const missingAnswer = (request: Incoming, { code, query }: MissingCondition, isProgram: boolean) => {
    const page = `/step-up?${query}`
    const headers = { 'x-auth-step-up': servicePages.pageAddress(page) }
    if (isProgram) return jsonAnswer(code, headers)
    if (isSafeMethod(request)) return redirect(servicePages.pageAddress(page, request.path))
    const { message } = refusals[code]
    const link = `<a href="${escapeHtml(servicePages.pageAddress(page))}" target="_blank">Continue in a new tab</a>`
    const text = `<p>${message}. ${link}, then go back to this form and send it again.</p>`
    return pageAnswer(403, 'Your entries were not sent', text)
  }

  return async (request: Incoming): Promise<Decision> => {
    const bearerResult = await bearer?.(request, verifier)
    if (bearerResult && 'answer' in bearerResult) return bearerResult
    const { outcome, auth, setCookies }: Identified = bearerResult
      ? { outcome: 'known', auth: bearerResult, setCookies: [] }
      : await identify(request)
    if (outcome === 'unavailable') return withCookies(unavailableAnswer(request), setCookies)
    if (outcome === 'signed_out' && !optional) return withCookies(signedOutAnswer(request), setCookies)
    const missing = auth && conditions.firstMissing(auth, now())
    const isProgram = bearerResult !== undefined || !isNavigation(request)
    if (missing) return withCookies(missingAnswer(request, missing, isProgram), setCookies)
    const clearedCounter =
      auth && !bearerResult ? servicePages.redirectCounter.clearingCookies(headerOf(request, 'cookie')) : []
    return { passed: { auth, setCookies: [...setCookies, ...clearedCounter], isByBearer: bearerResult !== undefined } }
  }
}

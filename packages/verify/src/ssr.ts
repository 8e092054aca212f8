import type { NamesOf } from '../../option-names.js'
import { pageAnswer } from './answers.js'
import { reasonOf } from './bounded-fetch.js'
import type { Verified } from './claims.js'
import { conditionsOf } from './conditions.js'
import { createEndSession, foreignFormMessage } from './end-session.js'
import { refuseUnknown } from './faults.js'
import { responseOf, uncached, withCookies } from './fetch-responses.js'
import { createGuard, type GuardOptions } from './guard.js'
import { createSignInUrl } from './redirects.js'
import type { VerifierOptions } from './settings.js'
import { createLazySetup, type LazySetup, sharedVerifier } from './shared-verifier.js'

export type SsrOptions = VerifierOptions & {
  /** The address of your application, if its host is not that of the service. */
  appUrl?: string
}
export type SsrGuardOptions = Omit<GuardOptions, 'appUrl'>

/** A `Request`, or the parts of it that a framework on Node has. */
export type SsrRequest = {
  readonly method: string
  /** The address with its query, with or without its origin. */
  readonly url: string
  readonly headers: { get(name: string): string | null }
}

export type SsrDetails = {
  /** The address of the page, if the framework adds something to it in the request. */
  readonly url?: URL
  /** Whether a script of the framework loads a page with this request. Then a visitor is sent to sign in, as with a navigation. */
  readonly isPage?: boolean
  /** The IP address of the client. */
  readonly address?: string
}

/** Both alternatives have all properties, so that `if (!decision.goOn)` compiles without `strict`, too. */
export type SsrDecision =
  | {
      readonly goOn: true
      readonly response?: undefined
      /** Undefined only with `optional`. */
      readonly auth: Verified | undefined
      /** Adds renewed tokens to the response of the application, and keeps what a user sees out of caches. Every response must go through it. */
      finish(response: Response): Response
      /** The headers that `finish` adds, for a framework whose responses cannot go through it. */
      readonly answerHeaders: Headers
    }
  | {
      readonly goOn: false
      readonly response: Response
      readonly auth?: undefined
      readonly answerHeaders?: undefined
      readonly finish?: undefined
    }

export type Latchkey = {
  /** A guard for some of the pages. Renews tokens, and sends visitors without a session to sign in. */
  readonly guard: (options?: SsrGuardOptions) => (request: SsrRequest, details?: SsrDetails) => Promise<SsrDecision>
  /**
   * The address of the sign-in page, for a link. It leads back to `returnTo`, a path or an address of your application as the browser
   * shows it; without one, or with an address of another site, to the start page.
   */
  readonly signInUrl: (returnTo?: string) => string
  /** The answer to a form of your own pages that signs the user out: a redirect to the start page. Ask no guard before it. */
  readonly signOut: (request: SsrRequest, details?: Pick<SsrDetails, 'address'>) => Promise<Response>
  /** Stops following the ended sessions, so that the program can end. */
  readonly close: () => void
}

const guardNames: NamesOf<SsrGuardOptions> = { factors: true, fresh: true, group: true, optional: true, bearer: true }

/** Reads the options, and creates what depends on them. */
const openSetup = (readOptions: () => SsrOptions) => {
  const { appUrl, ...options } = readOptions()
  const { verifier, readyFor, close } = sharedVerifier(options, appUrl)
  return {
    verifier,
    readyFor,
    close,
    ownOrigin: new URL(appUrl ?? verifier.service.publicUrl).origin,
    guardOptions: appUrl === undefined ? {} : { appUrl },
    endSession: createEndSession(verifier),
  }
}

type Setup = ReturnType<typeof openSetup>

const pathOf = (url: string) => {
  if (url.startsWith('/')) return url
  // A request for the server itself (`*`) has no path.
  if (!URL.canParse(url)) return '/'
  const { pathname, search } = new URL(url)
  return pathname + search
}

const createPageGuard =
  ({ get: getSetup }: LazySetup<Setup>): Latchkey['guard'] =>
  (options = {}) => {
    refuseUnknown(options, guardNames, 'guard')
    // A wrong condition throws now, and not only with the first request.
    conditionsOf(options)
    let guard: ReturnType<typeof createGuard> | undefined
    return async ({ method, url, headers }, { url: pageUrl, isPage = false, address } = {}) => {
      const { verifier, guardOptions, readyFor } = getSetup()
      guard ??= createGuard(verifier, { ...options, ...guardOptions })
      await readyFor(headers)
      const get = (name: string) => (isPage && name === 'sec-fetch-mode' ? 'navigate' : headers.get(name))
      const decision = await guard({ method, path: pathOf(pageUrl?.href ?? url), headers: { get }, address })
      if ('answer' in decision) return { goOn: false, response: responseOf(decision.answer) }
      const { auth, setCookies } = decision.passed
      const finish = (response: Response) => {
        const withRenewedTokens = withCookies(response, setCookies)
        // The `cache-control` of the application stays.
        return auth && !withRenewedTokens.headers.has('cache-control') ? uncached(withRenewedTokens) : withRenewedTokens
      }
      return { goOn: true, auth, finish, answerHeaders: finish(new Response()).headers }
    }
  }

const notSignedOutPage = (status: number, text: string) =>
  responseOf(pageAnswer(status, 'You are still signed in', `<p>${text}</p>`))

const createSignOut =
  ({ get: getSetup }: LazySetup<Setup>): Latchkey['signOut'] =>
  async (request, { address } = {}) => {
    const { verifier, ownOrigin, endSession } = getSetup()
    // Other hosts of the domain can send forms with the user's cookies, and a link sends no Origin at all.
    if (request.method !== 'POST' || request.headers.get('origin') !== ownOrigin) {
      verifier.service.onProblem(foreignFormMessage(request.headers.get('origin'), ownOrigin))
      return notSignedOutPage(403, 'This request does not come from a form of this site.')
    }
    try {
      const setCookies = await endSession(request, address)
      return responseOf({ status: 303, headers: { location: '/', 'cache-control': 'no-store' }, setCookies, body: '' })
    } catch (error) {
      verifier.service.onProblem(`a session cannot be ended: ${reasonOf(error)}`)
      return notSignedOutPage(503, 'Go back and try again in a minute.')
    }
  }

/**
 * For frameworks that render pages on a server: SvelteKit, Nuxt, Astro and others. `readOptions` is called with the first request and
 * not before, so a build needs no secret.
 */
export const createLatchkey = (readOptions: () => SsrOptions): Latchkey => {
  const lazySetup = createLazySetup(() => openSetup(readOptions))
  return {
    guard: createPageGuard(lazySetup),
    signInUrl: createSignInUrl(readOptions),
    signOut: createSignOut(lazySetup),
    close: lazySetup.close,
  }
}

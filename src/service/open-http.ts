import type { TermsOfUse } from '../contract/schemas.js'
import { createFreshness } from '../factors/freshness.js'
import { createCookies } from '../http/cookies.js'
import { routeLimitersFor } from '../http/limiters.js'
import { createCountedRequests, type OnRejection } from '../http/limits.js'
import { clientOf } from '../http/request-origin.js'
import { createNeedsMail, createNeedsMailSignIn } from '../http/route.js'
import { createLimitEvents } from '../messages/limit-events.js'
import type { OpenidProvider } from '../openid/openid-door.js'
import type { Assets } from '../pages/assets.js'
import { createServiceCallers } from '../programs/service-callers.js'
import type { ServiceKeys } from '../programs/service-keys.js'
import { type Callers, createCallers } from '../sessions/callers.js'
import { createCsrf } from '../sessions/csrf.js'
import { createGuards, createLimits, createRotationLimits } from '../sessions/guards.js'
import { createSignInCookies, type SignInCookies } from '../sessions/session-cookies.js'
import type { Config } from '../settings/config.js'
import { createAttemptCookies, createCeremonyCookies, createPendingLinkCookie } from '../sign-in/browser-cookies.js'
import { createCeilings } from '../sign-in/ceilings.js'
import { createEnrolling } from '../sign-in/enrol-guard.js'
import { createGuessLimits, hooksOfWays } from '../sign-in/guess-limits.js'
import { createReturnToNotes } from '../sign-in/return-to-notes.js'
import type { Platform as OpenedPlatform } from './open-platform.js'
import type { RoomPlatform, Rooms } from './open-rooms.js'

/** What finds out who sends a request. */
type Senders = { callers: Callers; signInCookies: SignInCookies }

/** The limiters, and what counts in them. */
const openLimits = (config: Config, platform: RoomPlatform, rooms: Rooms, { callers, signInCookies }: Senders) => {
  const { cache, metrics, clock } = platform
  const reportLimited = createLimitEvents(rooms.events, clock)
  const onRejection: OnRejection = async (rejection, request) => {
    metrics?.countRejection(rejection.limiter)
    await reportLimited(rejection, clientOf(request))
  }
  const routeLimiters = routeLimitersFor({
    LOGIN_LIMIT: config.loginLimit,
    ACCOUNT_LIMIT: config.accountLimit,
    SIGN_IN_LIMIT: config.signInLimit,
    NETWORK_SIGN_IN_LIMIT: config.networkSignInLimit,
    NETWORK_MAIL_LIMIT: config.networkMailLimit,
    GENERAL_LIMIT: config.generalLimit,
    SENSITIVE_LIMIT: config.sensitiveLimit,
    TOTAL_REGISTRATION_LIMIT: config.totalRegistrationLimit,
    TOTAL_MAIL_LIMIT: config.totalMailLimit,
    TOTAL_WAITING_LIMIT: config.totalWaitingLimit,
  })
  const countedRequests = createCountedRequests({ cache, onRejection })
  const ceilings = createCeilings({ ...rooms, countedRequests, routeLimiters })
  const counting = { countedRequests, routeLimiters, ceilings }
  const shared = { ...counting, callers }
  const guessLimits = createGuessLimits({
    ...rooms,
    ...shared,
    cache,
    signInCookies,
    knownDeviceCounter: config.loginLimitKnownDevices,
  })
  const limits = createLimits(routeLimiters, countedRequests, callers)
  return {
    ...counting,
    ...guessLimits,
    limits: {
      ...limits,
      beforeSignIn: hooksOfWays({
        login: guessLimits.passwordGuesses.beforeName,
        general: limits.byNetwork,
        confirm: limits.confirm,
      }),
    },
    ...createRotationLimits(routeLimiters, cache, callers, onRejection),
  }
}

export type Platform = OpenedPlatform & RoomPlatform & { serviceKeys: ServiceKeys }

/** Creates the parts that routes share: cookies, callers, guards, CSRF, limits. */
export const openHttp = (config: Config, platform: Platform, rooms: Rooms) => {
  const { clock } = platform
  const { tokens, loadedKeys, keysFor, attempts, pendingLinks, events } = rooms
  const cookies = createCookies({
    secure: config.production,
    host: new URL(config.publicUrl).hostname,
    domain: config.cookieDomain,
  })
  const callers = createCallers({ cookies, tokens, loadedKeys })
  const trustedFor = config.trustedDevices === 'off' ? undefined : config.trustedDevices
  const signInCookies = createSignInCookies(cookies, callers, trustedFor)
  const csrf = createCsrf(keysFor('csrf'), cookies, callers, signInCookies)
  const limitParts = openLimits(config, platform, rooms, { callers, signInCookies })
  const { limits } = limitParts
  const freshness = createFreshness({ ...rooms, callers, clock, freshFor: config.freshFor })
  const attemptCookies = createAttemptCookies(cookies, attempts)
  const enrolling = createEnrolling({ callers, csrf, signInCookies, freshness })
  const ceremonyCookies = createCeremonyCookies({ cookies })
  const pendingLinkCookie = createPendingLinkCookie(cookies, pendingLinks)
  const serviceCallers = createServiceCallers({
    serviceKeys: platform.serviceKeys,
    limits,
    events,
    clock,
  })
  const { read, change, changeLimitedBy } = createGuards(callers, csrf, limits)
  const guards = {
    read,
    /** A signed-in user looks at something that a stolen session must not see. */
    sensitiveRead: [...read, freshness.required],
    change,
    changeLimitedBy,
    /** A change that a stolen session must not make. */
    sensitive: [...change, freshness.required],
    /** A factor is added, by a signed-in user or at a sign-in that cannot go on without one. */
    enrol: [enrolling.required, limits.bySessionOrNetwork, enrolling.fresh],
  }
  return {
    guards,
    cookies,
    callers,
    csrf,
    ...limitParts,
    freshness,
    enrolling,
    signInCookies,
    attemptCookies,
    ceremonyCookies,
    pendingLinkCookie,
    serviceCallers,
  }
}

export type Http = ReturnType<typeof openHttp>

/** The terms of use with their version, if there are any. */
const termsOf = ({ termsVersion: version, termsUrl: url }: Config): TermsOfUse | undefined =>
  version === undefined || url === undefined ? undefined : { version, url }

type Served = {
  openidProvider: OpenidProvider
  assets: Assets
  isStarting: () => boolean
  isDraining: () => boolean
  isClosing: () => boolean
}

export type App = ReturnType<typeof openApp>

/** Everything that routes can use: the settings, the platform, the rooms, and what requests need. */
export const openApp = (config: Config, platform: Platform, rooms: Rooms, http: Http, served: Served) => ({
  ...platform,
  ...rooms,
  ...http,
  ...served,
  config,
  secondFactorRequired: () => rooms.liveSettings.now().secondFactor === 'required',
  usernameSource: config.usernames,
  termsOfUse: termsOf(config),
  needsMail: createNeedsMail(config.mailIsOff),
  needsMailSignIn: createNeedsMailSignIn(() => rooms.liveSettings.now().mailSignIn === 'on'),
  noteReturnTo: createReturnToNotes(config.allowedOrigins, rooms.protectedApplications),
})

import { createDeletedAccounts } from '../accounts/deletion.routes.js'
import type { TermsOfUse } from '../contract/schemas.js'
import { createFreshness } from '../factors/freshness.js'
import { createCeremonyCookies } from '../factors/passkey-ceremonies.js'
import { createCookies } from '../http/cookies.js'
import { createNeedsMail } from '../http/errors.js'
import { routeLimitersFor } from '../http/limiters.js'
import { createCountedRequests, createFindExcess, type OnRejection } from '../http/limits.js'
import type { OpenidProvider } from '../openid/openid-door.js'
import type { Assets } from '../pages/assets.js'
import { createServiceCallers } from '../programs/service-callers.js'
import type { ServiceKeys } from '../programs/service-keys.js'
import { createAttemptCookies } from '../providers/attempts.js'
import { type Callers, createBrowserSessions, createCallers } from '../sessions/callers.js'
import { createCsrf } from '../sessions/csrf.js'
import { createGuards, createLimitedEvents, createLimits, createReserveRotation } from '../sessions/guards.js'
import { createSignInCookies, type SignInCookies } from '../sessions/session-cookies.js'
import type { Config } from '../settings/config.js'
import { createPendingLinkCookie, createRecoveredAccounts } from '../sign-in/answers.js'
import { createCeilings } from '../sign-in/ceilings.js'
import { createEnrolling } from '../sign-in/enrol-guard.js'
import {
  createKnownBrowsers,
  createMailLimits,
  createMailSignInLimits,
  createPasswordGuesses,
  createSignInLimits,
} from '../sign-in/guess-limits.js'
import type { Platform as OpenedPlatform } from './open-platform.js'
import type { RoomPlatform, Rooms } from './open-rooms.js'

type Callees = { callers: Callers; signInCookies: SignInCookies }

/** Creates the limiters: they count requests, and refuse those that are too many. */
const createLimitParts = (config: Config, platform: RoomPlatform, rooms: Rooms, parts: Callees) => {
  const { cache, metrics, clock } = platform
  const { callers, signInCookies } = parts
  const { loginLimit: login, generalLimit: general, sensitiveLimit: sensitive } = config
  const knownDeviceCounter = config.loginLimitKnownDevices
  const reportLimited = createLimitedEvents({ events: rooms.events, clock })
  const onRejection: OnRejection = async (rejection, request) => {
    metrics?.countRejection(rejection.limiter)
    await reportLimited(rejection, request)
  }
  const routeLimiters = routeLimitersFor({ login, general, sensitive })
  const countedRequests = createCountedRequests({ cache, onRejection })
  const findExcess = createFindExcess({ cache, onRejection })
  const ceilings = createCeilings({
    ...rooms,
    findExcess,
    limits: {
      registrations: config.totalRegistrationLimit,
      mails: config.totalMailLimit,
      waiting: config.totalWaitingLimit,
    },
  })
  const knownBrowsers = createKnownBrowsers({ knownDevices: rooms.knownDevices, signInCookies })
  const passwordGuesses = createPasswordGuesses({
    countedRequests,
    routeLimiters,
    nameLimit: config.accountLimit,
    knownDeviceCounter,
    nameMarks: rooms.nameMarks,
    knownBrowsers,
    callers,
    users: rooms.users,
  })
  return {
    countedRequests,
    ceilings,
    routeLimiters,
    passwordGuesses,
    limits: createLimits({ countedRequests, routeLimiters, callers, passwordGuesses }),
    signInLimits: createSignInLimits({
      countedRequests,
      accountLimit: config.signInLimit,
      networkLimit: config.networkSignInLimit,
      knownDeviceCounter,
      cache,
      knownBrowsers,
    }),
    mailLimits: createMailLimits({
      cache,
      countedRequests,
      routeLimiters,
      strangerMailLimit: config.networkMailLimit,
      findExcess,
      ceilings,
    }),
    mailSignInLimits: createMailSignInLimits({ ...rooms, knownBrowsers, findExcess, ceilings }),
    reserveRotation: createReserveRotation({ cache, callers, routeLimiters, onRejection }),
  }
}

export type Platform = OpenedPlatform & RoomPlatform & { serviceKeys: ServiceKeys }

/** Creates the parts that routes share: cookies, callers, guards, CSRF, limits. */
export const openHttp = (config: Config, platform: Platform, rooms: Rooms) => {
  const { clock } = platform
  const { tokens, loadedKeys, keysFor, attempts, pendingLinks, events, sessionLookups, proofs } = rooms
  const cookies = createCookies({
    secure: config.production,
    host: new URL(config.publicUrl).hostname,
    domain: config.cookieDomain,
  })
  const callers = createCallers({ cookies, tokens, loadedKeys })
  const trustedFor = config.trustedDevices === 'off' ? undefined : config.trustedDevices
  const signInCookies = createSignInCookies({ cookies, callers, trustedFor })
  const csrf = createCsrf({ keys: keysFor('csrf'), cookies, callers, signInCookies })
  const limitParts = createLimitParts(config, platform, rooms, { callers, signInCookies })
  const { limits } = limitParts
  const freshness = createFreshness({ callers, sessionLookups, proofs, clock, freshFor: config.freshFor })
  const attemptCookies = createAttemptCookies({ cookies, attempts })
  const enrolling = createEnrolling({ callers, csrf, signInCookies, freshness })
  const ceremonyCookies = createCeremonyCookies({ cookies })
  const pendingLinkCookie = createPendingLinkCookie({ cookies, pendingLinks })
  const serviceCallers = createServiceCallers({
    serviceKeys: platform.serviceKeys,
    limits,
    events,
    clock,
  })
  const guards = createGuards({ callers, csrf, limits, freshness, enrolling })
  return {
    guards,
    cookies,
    callers,
    browserSessionsOf: createBrowserSessions({ tokens }),
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

type Served = { openidProvider: OpenidProvider; assets: Assets; isClosing: () => boolean }

export type App = ReturnType<typeof openApp>

/** Everything that routes can use: the settings, the platform, the rooms, and what requests need. */
export const openApp = (config: Config, platform: Platform, rooms: Rooms, http: Http, served: Served) => ({
  ...platform,
  ...rooms,
  ...http,
  ...served,
  config,
  secondFactorRequired: config.secondFactor === 'required',
  usernameSource: config.usernames,
  termsOfUse: termsOf(config),
  recoveredAccounts: createRecoveredAccounts({ ...rooms, ...http }),
  deletedAccounts: createDeletedAccounts({ ...rooms, ...http }),
  needsMail: createNeedsMail(config.mailIsOff),
})

import type { Config } from '../config.js'
import type { Callers } from '../http/caller.js'
import type { SignInCookies } from '../http/cookies/sign-in-cookies.js'
import { createAdminLimit } from '../http/limits/admin-limit.js'
import { createAuthorizationLimit } from '../http/limits/authorization-limit.js'
import { createCeilings } from '../http/limits/ceilings.js'
import { createCountedRequests } from '../http/limits/counted-requests.js'
import { createFindExcess } from '../http/limits/find-excess.js'
import { createKnownBrowsers } from '../http/limits/known-browsers.js'
import { createLimitedEvents, type OnRejection } from '../http/limits/limited-events.js'
import { routeLimitersFor } from '../http/limits/limiter.js'
import { createLimits } from '../http/limits/limits.js'
import { createMailLimits } from '../http/limits/mail-limits.js'
import { createMailSignInLimits } from '../http/limits/mail-sign-in-limits.js'
import { createPasswordGuesses } from '../http/limits/password-guesses.js'
import { createReserveRotation } from '../http/limits/rotation-limit.js'
import { createSignInLimits } from '../http/limits/sign-in-limits.js'
import { createUserCodeLimit } from '../http/limits/user-code-limit.js'
import type { NounPlatform, Nouns } from './nouns.js'

type HttpParts = { callers: Callers; signInCookies: SignInCookies }

/** Creates the limiters: they count requests, and refuse those that are too many. */
export const createLimitParts = (config: Config, platform: NounPlatform, nouns: Nouns, parts: HttpParts) => {
  const { cache, metrics, clock } = platform
  const { callers, signInCookies } = parts
  const { loginLimit: login, generalLimit: general, sensitiveLimit: sensitive } = config
  const knownDeviceCounter = config.loginLimitKnownDevices
  const reportLimited = createLimitedEvents({ events: nouns.events, clock })
  const onRejection: OnRejection = async (rejection, request) => {
    metrics?.countRejection(rejection.limiter)
    await reportLimited(rejection, request)
  }
  const routeLimiters = routeLimitersFor({ login, general, sensitive })
  const countedRequests = createCountedRequests({ cache, onRejection })
  const findExcess = createFindExcess({ cache, onRejection })
  const ceilings = createCeilings({
    ...nouns,
    findExcess,
    limits: {
      registrations: config.totalRegistrationLimit,
      mails: config.totalMailLimit,
      waiting: config.totalWaitingLimit,
    },
  })
  const knownBrowsers = createKnownBrowsers({ knownDevices: nouns.knownDevices, signInCookies })
  const passwordGuesses = createPasswordGuesses({
    countedRequests,
    routeLimiters,
    nameLimit: config.accountLimit,
    knownDeviceCounter,
    nameMarks: nouns.nameMarks,
    knownBrowsers,
    callers,
    users: nouns.users,
  })
  return {
    countedRequests,
    ceilings,
    routeLimiters,
    passwordGuesses,
    authorizationLimit: createAuthorizationLimit({ countedRequests, ceilings, routeLimiters, callers }),
    userCodeLimit: createUserCodeLimit({ countedRequests, callers }),
    adminLimit: createAdminLimit({ countedRequests, routeLimiters, callers }),
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
    mailSignInLimits: createMailSignInLimits({ ...nouns, knownBrowsers, findExcess, ceilings }),
    reserveRotation: createReserveRotation({ cache, callers, routeLimiters, onRejection }),
  }
}

import { createAdminLimit } from '../admin/admin-guard.js'
import { routeLimitersFor } from '../http/limiters.js'
import { createCountedRequests, createFindExcess } from '../http/limits.js'

import { createAuthorizationLimit } from '../openid/authorize/authorize.routes.js'
import { createUserCodeLimit } from '../openid/device/device.routes.js'

import type { Callers } from '../sessions/callers.js'
import { createLimitedEvents, createLimits, createReserveRotation, type OnRejection } from '../sessions/guards.js'
import type { SignInCookies } from '../sessions/session-cookies.js'

import type { Config } from '../settings/config.js'
import { createCeilings } from '../sign-in/ceilings.js'
import {
  createKnownBrowsers,
  createMailLimits,
  createMailSignInLimits,
  createPasswordGuesses,
  createSignInLimits,
} from '../sign-in/guess-limits.js'

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

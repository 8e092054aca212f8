import { createFreshness } from '../factors/freshness.js'
import { createCookies } from '../http/cookies.js'
import { createAttemptCookies, createCeremonyCookies } from '../http/tab-cookies.js'
import { createServiceCallers } from '../programs/service-callers.js'
import type { ServiceKeys } from '../programs/service-keys.js'

import { createBrowserSessions, createCallers } from '../sessions/callers.js'
import { createCsrf } from '../sessions/csrf.js'
import { createGuards } from '../sessions/guards.js'
import { createSignInCookies } from '../sessions/session-cookies.js'

import type { Config } from '../settings/config.js'
import { createPendingLinkCookie } from '../sign-in/answers.js'
import { createEnrolling } from '../sign-in/enrol-guard.js'

import { createLimitParts } from './limit-parts.js'
import type { NounPlatform, Nouns } from './nouns.js'
import type { Platform as OpenedPlatform } from './open-platform.js'

export type Platform = OpenedPlatform & NounPlatform & { serviceKeys: ServiceKeys }

/** Creates the parts that routes share: cookies, callers, guards, CSRF, limits. */
export const createHttpParts = (config: Config, platform: Platform, nouns: Nouns) => {
  const { clock } = platform
  const { tokens, loadedKeys, keysFor, attempts, pendingLinks, events, sessionLookups, proofs } = nouns
  const cookies = createCookies({
    secure: config.production,
    host: new URL(config.publicUrl).hostname,
    domain: config.cookieDomain,
  })
  const callers = createCallers({ cookies, tokens, loadedKeys })
  const trustedFor = config.trustedDevices === 'off' ? undefined : config.trustedDevices
  const signInCookies = createSignInCookies({ cookies, callers, trustedFor })
  const csrf = createCsrf({ keys: keysFor('csrf'), cookies, callers, signInCookies })
  const limitParts = createLimitParts(config, platform, nouns, { callers, signInCookies })
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
  const guards = createGuards({ callers, csrf, limits, freshness, enrolling, serviceCallers })
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

export type HttpParts = ReturnType<typeof createHttpParts>

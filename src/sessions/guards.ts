import type { FastifyRequest } from 'fastify'
import type { LimitCode } from '../contract/limits.js'
import { refuse } from '../contract/outcome.js'
import { sendRefusal } from '../http/errors.js'
import {
  type Limiter,
  limiterKey,
  type RouteLimiters,
  sessionAtNetworkSubject,
  sessionSubject,
  userSubject,
} from '../http/limiters.js'
import { type CountedRequests, type LimitHook, limitHook, type OnRejection } from '../http/limits.js'
import { clientNetwork } from '../http/request-origin.js'
import { type GuardHook, guardHook } from '../http/route.js'
import type { Cache } from '../platform/cache/cache.js'
import type { Metrics } from '../platform/metrics/metrics.js'
import type { BoundSessions } from './bound-sessions.js'
import type { Callers } from './callers.js'
import type { Csrf } from './csrf.js'

/** The session of an access or refresh token that has not expired; without one, the network of the client. */
const sessionOrClientNetwork = (callers: Callers, request: FastifyRequest) => {
  const session = callers.currentSessionOf(request)
  return session === undefined ? clientNetwork(request) : sessionSubject(session)
}

/** The hooks that count requests in front of routes. Each has a limiter, and the subject by which a request counts. */
export const createLimits = (limiters: RouteLimiters, countedRequests: CountedRequests, callers: Callers) => {
  const hook = (limiter: Limiter, subject: (request: FastifyRequest) => string): LimitHook =>
    limitHook({ names: [limiter.name], code: limiter.code }, (request, reply) =>
      countedRequests.count(limiter, subject(request), request, reply),
    )

  /** Each signed-in caller has its own count, so that an office behind one address does not lock itself out. */
  const callersSession = (request: FastifyRequest) => sessionSubject(callers.of(request).sessionId)
  const callersUser = (request: FastifyRequest) => userSubject(callers.of(request).userId)
  const serviceKey = (request: FastifyRequest) => `key:${request.serviceKey?.id}`
  const anySessionOrNetwork = (request: FastifyRequest) => sessionOrClientNetwork(callers, request)
  const callerOrNetwork = (request: FastifyRequest) =>
    callers.find(request) === undefined ? clientNetwork(request) : callersSession(request)

  return {
    login: hook(limiters.login, clientNetwork),
    confirm: hook(limiters.confirm, clientNetwork),
    sensitive: hook(limiters.sensitive, clientNetwork),
    /** For routes without a sign-in: counts by network, also if the request has a token. */
    byNetwork: hook(limiters.general, clientNetwork),
    /** For routes behind `callers.required`. */
    bySession: hook(limiters.general, callersSession),
    /** For routes that a sign-in that waits may use, too: a request without a valid access token counts by network. */
    bySessionOrNetwork: hook(limiters.general, callerOrNetwork),
    mailedCodes: hook(limiters.mailed_codes, callersUser),
    emailChanges: hook(limiters.email_changes, callersUser),
    /** `session` and `logout` count apart from the general limit and from each other: a session can always be refreshed, and ended. */
    session: hook(limiters.session, anySessionOrNetwork),
    logout: hook(limiters.logout, anySessionOrNetwork),
    /** For other programs: each key has its own counts. */
    forPrograms: {
      service: hook(limiters.service, serviceKey),
      service_revocations: hook(limiters.service_revocations, serviceKey),
      service_tokens: hook(limiters.service_tokens, serviceKey),
    },
  }
}

/** What stands in front of the routes of signed-in users. The hooks that ask a store come last, behind the limiter. */
export const createGuards = (callers: Callers, csrf: Csrf, limits: ReturnType<typeof createLimits>) => {
  const changeLimitedBy = (limiter: LimitHook) => [callers.required, csrf.required, limiter]
  return {
    /** A signed-in user looks at something. */
    read: [callers.required, limits.bySession],
    /** A signed-in user changes something. */
    change: changeLimitedBy(limits.bySession),
    /** A signed-in user changes something, with another limiter than the general one. */
    changeLimitedBy,
  }
}

/** What stands in front of the registration of a bound session: the setting, and behind the limiter the sender. */
export const createRegistrationGuards = (
  boundSessions: Pick<BoundSessions, 'isOffered'>,
  metrics: Pick<Metrics, 'countBoundSession'> | undefined,
) => ({
  isOffered: guardHook({}, ['not_found'], async (_, reply) =>
    boundSessions.isOffered ? undefined : sendRefusal(reply, refuse('not_found')),
  ),
  /**
   * A script of our origin can read the offer, and must not bind the session to a key of its own. The browser adds these headers to its
   * requests, and not to those that it sends by itself.
   */
  notByScript: guardHook({}, ['cross_site'], async ({ headers }, reply) => {
    if (headers.origin === undefined && headers['sec-fetch-site'] === undefined) return undefined
    metrics?.countBoundSession('registration_refused_script')
    return sendRefusal(reply, refuse('cross_site'))
  }),
})

/** The limits of all rooms, as routes get them. */
export type Limits = ReturnType<typeof createLimits> & {
  beforeSignIn: Record<'registration' | 'mail' | 'password' | 'reset' | 'passkey' | 'provider', LimitHook>
}

/** The guards of all rooms, as routes get them. */
export type Guards = ReturnType<typeof createGuards> & Record<'sensitiveRead' | 'sensitive' | 'enrol', GuardHook[]>

export type ReserveRotation = ReturnType<typeof createRotationLimits>['reserveRotation']

/** Count a refresh from inside a handler, where it is first known whether the request refreshes the session. */
export const createRotationLimits = (
  limiters: RouteLimiters,
  cache: Cache,
  callers: Callers,
  onRejection: OnRejection,
) => {
  const reserve = async ({ name, limit }: Limiter<LimitCode | null>, subject: string, request: FastifyRequest) => {
    const key = limiterKey(name, subject)
    const { granted, resetsIn, window } = await cache.reserve(key, limit)
    if (!granted) await onRejection({ limiter: name, key, resetsIn }, request)
    const retryAfter = Math.max(1, Math.ceil(resetsIn / 1000))
    return { granted, retryAfter, refund: () => cache.refund([{ key, window }]) }
  }
  return {
    reserveRotation: (request: FastifyRequest) =>
      reserve(limiters.session, sessionOrClientNetwork(callers, request), request),
    reserveBoundRefresh: (sessionId: string, request: FastifyRequest) =>
      reserve(limiters.bound_refreshes, sessionAtNetworkSubject(sessionId, clientNetwork(request)), request),
  }
}

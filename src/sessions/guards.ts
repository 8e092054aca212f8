import type { FastifyRequest } from 'fastify'
import type { Freshness } from '../factors/freshness.js'
import { waysToSignIn } from '../factors/ways-to-sign-in.js'
import {
  type Limiter,
  limiterKey,
  limiters,
  type RouteLimiters,
  sessionSubject,
  userSubject,
} from '../http/limiters.js'
import {
  type CountedRequests,
  createOncePerWindow,
  type FindAttemptedUser,
  type LimitHook,
  limitHook,
  type OnRejection,
  type Rejection,
} from '../http/limits.js'
import { clientNetwork, clientOf } from '../http/request-origin.js'
import type { Clock } from '../lib/clock.js'
import type { Events } from '../messages/events.js'
import type { Cache } from '../platform/cache/cache.js'

import type { Enrolling } from '../sign-in/enrol-guard.js'
import type { PasswordGuesses } from '../sign-in/guess-limits.js'

import type { Callers } from './callers.js'
import type { Csrf } from './csrf.js'

export type Guards = ReturnType<typeof createGuards>

type GuardsDependencies = {
  callers: Callers
  csrf: Csrf
  limits: Limits
  freshness: Freshness
  enrolling: Enrolling
}

/** The hooks of a route by one word. Those that ask a store come last, behind the limiter. */
export const createGuards = ({ callers, csrf, limits, freshness, enrolling }: GuardsDependencies) => {
  const changeLimitedBy = (limiter: Limits['bySession']) => [callers.required, csrf.required, limiter]
  const read = [callers.required, limits.bySession]
  const change = changeLimitedBy(limits.bySession)

  return {
    /** A signed-in user looks at something. */
    read,
    /** A signed-in user looks at something that a stolen session must not see. */
    sensitiveRead: [...read, freshness.required],
    /** A signed-in user changes something. */
    change,
    /** A signed-in user changes something, with another limiter than the general one. */
    changeLimitedBy,
    /** A change that a stolen session must not make. */
    sensitive: [...change, freshness.required],
    /** A factor is added, by a signed-in user or at a sign-in that cannot go on without one. */
    enrol: [enrolling.required, limits.bySessionOrNetwork, enrolling.fresh],
  }
}

type SubjectOf = (request: FastifyRequest) => string
type WaysToSignIn = typeof waysToSignIn
/** The setup counts in its handler, because a right token always works. */
type HookOfWay = {
  [Way in keyof WaysToSignIn as WaysToSignIn[Way]['limiter'] extends 'setup' ? never : Way]: LimitHook
}

type LimitsDependencies = {
  countedRequests: CountedRequests
  routeLimiters: RouteLimiters
  callers: Callers
  passwordGuesses: PasswordGuesses
}

/** The session of an access or refresh token that has not expired; without one, the network of the client. */
const sessionOrClientNetwork = (callers: Callers, request: FastifyRequest) => {
  const session = callers.currentSessionOf(request)
  return session === undefined ? clientNetwork(request) : sessionSubject(session)
}

/** The hook of the limiter in front of each way to sign in. */
const hooksOfWays = (hooks: Record<WaysToSignIn[keyof HookOfWay]['limiter'], LimitHook>) =>
  Object.fromEntries(
    Object.entries(waysToSignIn).flatMap(([way, { limiter }]) => (limiter === 'setup' ? [] : [[way, hooks[limiter]]])),
  ) as HookOfWay

export type Limits = ReturnType<typeof createLimits>

/** The hooks that count requests in front of routes. Each has a limiter, and the subject by which a request counts. */
export const createLimits = (deps: LimitsDependencies) => {
  const { countedRequests, routeLimiters: limiters, callers, passwordGuesses } = deps

  const hook = (limiter: Limiter, subject: SubjectOf) =>
    limitHook({ names: [limiter.name], code: limiter.code }, (request, reply) =>
      countedRequests.count(limiter, subject(request), request, reply),
    )

  /** Each signed-in caller has its own count, so that an office behind one address does not lock itself out. */
  const callersSession: SubjectOf = (request) => sessionSubject(callers.of(request).sessionId)
  const serviceKey: SubjectOf = (request) => `key:${request.serviceKey?.id}`
  const callersUser: SubjectOf = (request) => userSubject(callers.of(request).userId)
  const anySessionOrNetwork: SubjectOf = (request) => sessionOrClientNetwork(callers, request)
  const callerOrNetwork: SubjectOf = (request) =>
    callers.find(request) === undefined ? clientNetwork(request) : callersSession(request)
  const byNetwork = hook(limiters.general, clientNetwork)
  const confirm = hook(limiters.confirm, clientNetwork)

  return {
    login: hook(limiters.login, clientNetwork),
    confirm,
    sensitive: hook(limiters.sensitive, clientNetwork),
    /** For routes without a sign-in: counts by network, also if the request has a token. */
    byNetwork,
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
    beforeSignIn: hooksOfWays({ login: passwordGuesses.beforeName, general: byNetwork, confirm }),
  }
}

type ReserveRotationDependencies = {
  cache: Cache
  callers: Callers
  routeLimiters: RouteLimiters
  onRejection: OnRejection
}

export type ReserveRotation = ReturnType<typeof createReserveRotation>

/** Counts a refresh from inside a handler, where it is first known whether the request refreshes the session. */
export const createReserveRotation =
  ({ cache, callers, routeLimiters, onRejection }: ReserveRotationDependencies) =>
  async (request: FastifyRequest) => {
    const { name, limit } = routeLimiters.session
    const key = limiterKey(name, sessionOrClientNetwork(callers, request))
    const { granted, resetsIn, window } = await cache.reserve(key, limit)
    if (!granted) await onRejection({ limiter: name, key, resetsIn }, request)
    const retryAfter = Math.max(1, Math.ceil(resetsIn / 1000))
    return { granted, retryAfter, refund: () => cache.refund([{ key, window }]) }
  }

/** At most so many counters are remembered. Events of further ones would say nothing new. */
const maxKeys = 10_000

/**
 * Records one event for each counter (a limiter with its subject, such as a client network) and window, however many requests are refused.
 * So no client can fill the table: before each event, a whole limit must be used up.
 */
export const createLimitedEvents = ({ events, clock }: { events: Events; clock: Clock }) => {
  const isNew = createOncePerWindow({ maxKeys, clock })

  /** The refusal stays a refusal when the database is away. */
  const findSafely = (findAttemptedUser: FindAttemptedUser | undefined) => findAttemptedUser?.().catch(() => undefined)

  return async ({ limiter, key, resetsIn, findAttemptedUser }: Rejection, request: FastifyRequest) => {
    const { refusalIsEvent, countsBy } = limiters[limiter]
    if (!refusalIsEvent || !isNew(key, resetsIn)) return
    // The client that happens to be one too many is not the cause.
    if (countsBy.some((subject) => subject === 'installation'))
      return events.record({ kind: 'ceiling_reached', reason: limiter }, { ip: '', userAgent: '' })
    const { userId, typedName } = (await findSafely(findAttemptedUser)) ?? {}
    await events.record(
      { kind: 'rate_limited', reason: limiter, ...(userId !== undefined && { userId }) },
      { ...clientOf(request), ...(typedName !== undefined && { typedName }) },
    )
  }
}

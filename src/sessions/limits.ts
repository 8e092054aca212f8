import type { FastifyRequest } from 'fastify'
import { waysToSignIn } from '../factors/ways-to-sign-in.js'
import { type Limiter, type RouteLimiters, sessionSubject, userSubject } from '../http/limiters.js'
import { type CountedRequests, type LimitHook, limitHook } from '../http/limits.js'
import { clientNetwork } from '../http/request-origin.js'

import type { PasswordGuesses } from '../sign-in/password-guesses.js'
import type { Callers } from './caller.js'

type SubjectOf = (request: FastifyRequest) => string
type WaysToSignIn = typeof waysToSignIn
/** The setup counts in its handler, because a right token always works. */
type HookOfWay = {
  [Way in keyof WaysToSignIn as WaysToSignIn[Way]['limiter'] extends 'setup' ? never : Way]: LimitHook
}

type Dependencies = {
  countedRequests: Pick<CountedRequests, 'count'>
  routeLimiters: RouteLimiters
  callers: Callers
  passwordGuesses: Pick<PasswordGuesses, 'beforeName'>
}

/** The session of an access or refresh token that has not expired; without one, the network of the client. */
export const sessionOrClientNetwork = (callers: Callers, request: FastifyRequest) => {
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
export const createLimits = (deps: Dependencies) => {
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

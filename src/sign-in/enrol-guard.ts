import type { FastifyRequest } from 'fastify'
import { refuse } from '../contract/outcome.js'
import type { Freshness } from '../factors/freshness.js'
import { sendRefusal } from '../http/errors.js'
import { guardHook } from '../http/route.js'
import type { Caller, Callers } from '../sessions/callers.js'
import type { Csrf } from '../sessions/csrf.js'
import type { SignInCookies } from '../sessions/session-cookies.js'

/** The party that adds a factor: a signed-in user, or a sign-in that cannot go on without a factor. */
export type Enroller = { caller: Caller } | { challenge: string }

/** The credentials of these routes, for the API document. */
export const enrollerSecurity: Record<string, string[]>[] = [
  { accessToken: [], csrfToken: [] },
  { challenge: [], csrfToken: [] },
]

/** For the API document: the credential of a sign-in that waits, and what happens to its cookie. */
export const needsChallenge = { security: [{ challenge: [] }] }
export const clearsChallenge = { 401: { 'Set-Cookie': 'Clears challenge, if the sign-in is over' } }

type Dependencies = {
  callers: Callers
  csrf: Csrf
  signInCookies: SignInCookies
  freshness: Freshness
}

/**
 * The guard of routes that add a factor. A browser can have a session of one account and a sign-in of another that waits: the CSRF
 * token is bound to one of them, and so says which is meant.
 */
export const createEnrolling = ({ callers, csrf, signInCookies, freshness }: Dependencies) => {
  const enrollers = new WeakMap<FastifyRequest, Enroller>()

  const enrollerOf = (request: FastifyRequest): Enroller | undefined => {
    const challenge = signInCookies.challengeOf(request)
    if (challenge !== undefined && csrf.isOfChallenge(request)) return { challenge }
    const caller = callers.find(request)
    return caller && csrf.isOfSession(request) ? { caller } : undefined
  }

  const of = (request: FastifyRequest) => {
    const enroller = enrollers.get(request)
    if (!enroller) throw new Error('A handler asked who adds a factor without requiring it')
    return enroller
  }

  return {
    required: guardHook(
      { byEnrolment: true },
      ['not_authenticated', 'invalid_csrf_token', 'cross_site'],
      async (request, reply) => {
        const enroller = enrollerOf(request)
        if (!enroller) {
          const isIdentified = callers.find(request) !== undefined || signInCookies.challengeOf(request) !== undefined
          return sendRefusal(reply, refuse(isIdentified ? 'invalid_csrf_token' : 'not_authenticated'))
        }
        enrollers.set(request, enroller)
        return undefined
      },
    ),
    /** A hook behind the limiter. A sign-in that waits is fresh by itself. */
    fresh: guardHook({ isSensitive: true }, freshness.required.refusals, async (request, reply) =>
      'challenge' in of(request) ? undefined : freshness.required(request, reply),
    ),
    of,
  }
}

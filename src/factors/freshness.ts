import type { FastifyRequest } from 'fastify'
import { refuse } from '../contract/outcome.js'
import { sendRefusal } from '../http/errors.js'
import { guardHook } from '../http/route.js'
import type { Clock } from '../lib/clock.js'
import type { Callers } from '../sessions/callers.js'
import type { SessionLookups } from '../sessions/session-lookups.js'
import type { Factors } from './second-factors.js'

export type Freshness = ReturnType<typeof createFreshness>

/**
 * For changes that a stolen session must not make: the user must have proven who they are a short time ago, by a sign-in or a step-up.
 * The row of the session decides, because an older token may say something else.
 */
export const createFreshness = ({
  callers,
  sessionLookups,
  factors,
  clock,
  freshFor,
}: {
  callers: Callers
  sessionLookups: SessionLookups
  factors: Factors
  clock: Clock
  freshFor: number
}) => {
  /** Refuses if the caller's session is not fresh; else undefined. */
  const refusalFor = async (request: FastifyRequest) => {
    const caller = callers.of(request)
    const proof = await sessionLookups.proofOfCaller(caller)
    if (!proof) return refuse('not_authenticated')
    if (clock.now().getTime() - proof.provenAt.getTime() <= freshFor) return undefined
    const methods = await factors.proofsByUserId(caller.userId)
    return methods ? refuse('fresh_sign_in_required', { methods }) : refuse('not_authenticated')
  }

  return {
    /** For handlers that find out only later whether a fresh session is needed. */
    refusalFor,
    /** A hook for routes behind `callers.required` and their limiter, because it asks the database. */
    required: guardHook(
      { isSensitive: true },
      ['not_authenticated', 'fresh_sign_in_required'],
      async (request, reply) => {
        const refusal = await refusalFor(request)
        return refusal && sendRefusal(reply, refusal)
      },
    ),
  }
}

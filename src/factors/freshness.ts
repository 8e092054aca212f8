import type { FastifyRequest } from 'fastify'
import { countFactors } from '../contract/factors.js'
import { refuse } from '../contract/outcome.js'
import { reachingTwoFactors } from '../contract/second-factors.js'
import { sendRefusal } from '../http/errors.js'
import { guardHook } from '../http/route.js'
import type { Clock } from '../lib/clock.js'
import { minutes } from '../lib/durations.js'
import type { Administrators } from '../sessions/administrators.js'
import type { Callers } from '../sessions/callers.js'
import type { Proof } from '../sessions/session-facts.js'
import type { SessionLookups } from '../sessions/session-lookups.js'
import type { Factors } from './second-factors.js'

/** How old the second factor of an administrator may be for what gives an access: a factor, a group, an address of an application. */
const newProofLifetime = 5 * minutes
/** The same where FRESH_FOR is shorter. */
export const newProofLifetimeFor = (freshFor: number) => Math.min(newProofLifetime, freshFor)

export const hasSecondFactorSince = ({ methods, secondFactorAt }: Proof, now: Date, maxAge: number) =>
  countFactors(methods) === 2 && secondFactorAt !== null && now.getTime() - secondFactorAt.getTime() <= maxAge

export type Freshness = ReturnType<typeof createFreshness>

/**
 * For changes that a stolen session must not make: the user must have proven who they are a short time ago, by a sign-in or a step-up.
 * The row of the session decides, because an older token may say something else.
 *
 * Whoever may administer, and has a second factor, must have proven that one in the last 5 minutes. Otherwise the copied cookies of a session
 * that is still fresh would make recovery codes or a passkey, and with them the proof that a change of an application needs.
 */
export const createFreshness = ({
  callers,
  sessionLookups,
  administrators,
  factors,
  clock,
  freshFor,
}: {
  callers: Callers
  sessionLookups: SessionLookups
  administrators: Pick<Administrators, 'areAdministering'>
  factors: Factors
  clock: Clock
  freshFor: number
}) => {
  const lacksSecondFactor = async (userId: string, proof: Proof & { groups: readonly string[] }) =>
    !hasSecondFactorSince(proof, clock.now(), newProofLifetimeFor(freshFor)) &&
    (await administrators.areAdministering(proof.groups)) &&
    (await factors.hasFactor(userId))

  /** Refuses if the caller's session is not fresh; else undefined. */
  const refusalFor = async (request: FastifyRequest) => {
    const caller = callers.of(request)
    const proof = await sessionLookups.proofOfCaller(caller)
    if (!proof) return refuse('not_authenticated')
    const isFresh = clock.now().getTime() - proof.provenAt.getTime() <= freshFor
    const needsSecondFactor = await lacksSecondFactor(caller.userId, proof)
    if (isFresh && !needsSecondFactor) return undefined
    const methods = await factors.proofsByUserId(caller.userId)
    if (!methods) return refuse('not_authenticated')
    const helpful = needsSecondFactor ? reachingTwoFactors(methods, proof.methods) : methods
    return refuse('fresh_sign_in_required', { methods: helpful })
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

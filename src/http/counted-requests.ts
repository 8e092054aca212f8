import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Cache } from '../platform/cache/cache.js'
import type { OnRejection } from '../sessions/limited-events.js'
import type { Limiter } from './limiter.js'
import { sendLimited, setLimitHeaders } from './limiter-answers.js'
import { type CountedAttempt, createReservations } from './reservations.js'

/** Which answers give the attempts of their request back. */
const createRefunds = (release: ReturnType<typeof createReservations>['release']) => {
  const refundedAnyway = new WeakSet<FastifyRequest>()
  return {
    /**
     * An attempt that succeeded, or that we could not check, is given back. 409 and 422 count as successes,
     * because the proof was right and only the new value was wrong.
     */
    refundSuccess: async (request: FastifyRequest, reply: FastifyReply) => {
      const isFailure = reply.statusCode >= 400 && reply.statusCode < 500 && ![409, 422].includes(reply.statusCode)
      if (!isFailure || refundedAnyway.has(request)) release(request, reply)
    },
    /** An attempt that the service could not answer is given back; one that succeeded is not. */
    refundFailure: async (request: FastifyRequest, reply: FastifyReply) => {
      if (reply.statusCode >= 500) release(request, reply)
    },
    /** Gives the attempt back although the answer is a refusal: the proof was right, or it was not compared. */
    refundDespiteRefusal: (request: FastifyRequest) => {
      refundedAnyway.add(request)
    },
  }
}

export type CountedRequests = ReturnType<typeof createCountedRequests>

/** Counts requests in limiters, answers those that are too many, and gives back those that succeeded. */
export const createCountedRequests = ({ cache, onRejection }: { cache: Cache; onRejection: OnRejection }) => {
  const { reserveAll, hasReservation, release } = createReservations(cache)

  /**
   * Counts the attempts in the given order, until one is refused. Answers with that refusal and returns `answered`. After a refusal, the
   * reservations of the request in other counters are given back, because nothing is compared. The reply itself is not returned,
   * because awaiting a sent reply gives undefined. If an optional attempt is refused, nothing is answered.
   */
  const countAll = async (
    attempts: readonly CountedAttempt[],
    request: FastifyRequest,
    reply: FastifyReply,
  ): Promise<'answered' | 'optional refused' | undefined> => {
    const refused = await reserveAll(attempts, reply)
    // The client left while it waited, so nothing is compared and nothing has failed.
    if (reply.raw.closed && attempts.some(({ limiter }) => limiter.refundsSuccess)) {
      release(request, reply)
      reply.hijack()
      return 'answered'
    }
    if (!refused) return undefined
    if (refused.isOptional) return 'optional refused'
    const { limiter, key, reservation, findAttemptedUser } = refused
    release(request, reply)
    await onRejection({ limiter: limiter.name, key, resetsIn: reservation.resetsIn, findAttemptedUser }, request)
    sendLimited(reply, limiter, reservation)
    return 'answered'
  }

  return {
    hasReservation,
    countAll,
    /** As `countAll`, in one limiter. */
    count: (limiter: Limiter, subject: string, request: FastifyRequest, reply: FastifyReply) =>
      countAll([{ limiter, subject }], request, reply),
    /** Counts the request. If it is over the limit, returns its reservation, and the caller answers. */
    countAndFindExcess: async (limiter: Limiter, subject: string, request: FastifyRequest, reply: FastifyReply) => {
      const refused = await reserveAll([{ limiter, subject }], reply)
      if (!refused) return undefined
      const { key, reservation } = refused
      setLimitHeaders(reply, limiter, reservation)
      await onRejection({ limiter: limiter.name, key, resetsIn: reservation.resetsIn }, request)
      return reservation
    },
    ...createRefunds(release),
  }
}

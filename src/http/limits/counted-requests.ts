import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Cache, Reservation } from '../../platform/cache/cache.js'
import type { FindAttemptedUser, OnRejection } from './limited-events.js'
import type { Limiter } from './limiter.js'
import { sendLimited, setLimitHeaders } from './limiter-answers.js'
import { createReservations } from './reservations.js'

const createReportRejection =
  (onRejection: OnRejection) =>
  (
    { name: limiter }: Limiter,
    key: string,
    { resetsIn }: Reservation,
    request: FastifyRequest,
    findAttemptedUser?: FindAttemptedUser,
  ) =>
    onRejection({ limiter, key, resetsIn, findAttemptedUser }, request)

/** Which answers give the attempts of their request back. */
const createRefunds = (release: ReturnType<typeof createReservations>['release']) => {
  const refundedAnyway = new WeakSet<FastifyRequest>()
  return {
    /**
     * An attempt that succeeded, or that we could not check, is given back before the answer is sent. 409 and 422 count as successes,
     * because the proof was right and only the new value was wrong.
     */
    refundSuccess: async (request: FastifyRequest, reply: FastifyReply) => {
      const isFailure = reply.statusCode >= 400 && reply.statusCode < 500 && ![409, 422].includes(reply.statusCode)
      if (!isFailure || refundedAnyway.has(request)) await release(request, reply)
    },
    /** An attempt that the service could not answer is given back before the answer is sent; one that succeeded is not. */
    refundFailure: async (request: FastifyRequest, reply: FastifyReply) => {
      if (reply.statusCode >= 500) await release(request, reply)
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
  const { reserve, reserveOrWait, hasReservation, release } = createReservations(cache)
  const reportRejection = createReportRejection(onRejection)

  return {
    reserve,
    hasReservation,
    /**
     * Reserves an attempt, or answers with a refusal and returns `answered`. After a refusal, the reservations of the request in other
     * counters are given back, because nothing is compared. `findAttemptedUser` is for the event of the refusal. The reply itself is
     * not returned, because awaiting a sent reply gives undefined.
     */
    count: async (
      limiter: Limiter,
      subject: string,
      request: FastifyRequest,
      reply: FastifyReply,
      findAttemptedUser?: FindAttemptedUser,
    ): Promise<'answered' | undefined> => {
      const { key, reservation } = await reserveOrWait(limiter, subject, reply)
      // The client left while it waited, so nothing is compared and nothing has failed.
      if (limiter.refundsSuccess && reply.raw.closed) {
        await release(request, reply)
        reply.hijack()
        return 'answered'
      }
      if (!reservation.granted) {
        await release(request, reply)
        await reportRejection(limiter, key, reservation, request, findAttemptedUser)
        sendLimited(reply, limiter, reservation)
        return 'answered'
      }
      if (!limiter.silent) setLimitHeaders(reply, limiter, reservation)
      return undefined
    },
    /** Counts the request. If it is over the limit, returns its reservation, and the caller answers. */
    countAndFindExcess: async (limiter: Limiter, subject: string, request: FastifyRequest, reply: FastifyReply) => {
      const { key, reservation } = await reserveOrWait(limiter, subject, reply)
      setLimitHeaders(reply, limiter, reservation)
      if (!reservation.granted) await reportRejection(limiter, key, reservation, request)
      return reservation.granted ? undefined : reservation
    },
    ...createRefunds(release),
  }
}

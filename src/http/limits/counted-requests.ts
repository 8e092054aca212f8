import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Cache, Reservation } from '../../platform/cache/cache.js'
import type { FindSubject, OnRejection } from './limited-events.js'
import type { Limiter } from './limiter.js'
import { sendLimited, setLimitHeaders } from './limiter-answers.js'
import { createReservations } from './reservations.js'

const createReject =
  (onRejection: OnRejection) =>
  (
    { name: limiter }: Limiter,
    key: string,
    { resetsIn }: Reservation,
    request: FastifyRequest,
    findSubject?: FindSubject,
  ) =>
    onRejection({ limiter, key, resetsIn, findSubject }, request)

export type CountedRequests = ReturnType<typeof createCountedRequests>

/** Counts requests in limiters, answers those that are too many, and gives back those that succeeded. */
export const createCountedRequests = ({ cache, onRejection }: { cache: Cache; onRejection: OnRejection }) => {
  const { reserve, reserveOrWait, hasReservation, release } = createReservations(cache)
  const reject = createReject(onRejection)
  const successes = new WeakSet<FastifyRequest>()

  return {
    reserve,
    hasReservation,
    /**
     * Reserves, or answers with a refusal and says so. Then what the request has reserved in other counters is given back: nothing is
     * compared. `findSubject` says for the event whose attempt it was. Not the reply is returned: awaited, a sent reply is undefined.
     */
    count: async (
      limiter: Limiter,
      subject: string,
      request: FastifyRequest,
      reply: FastifyReply,
      findSubject?: FindSubject,
    ): Promise<'answered' | undefined> => {
      const { key, reservation } = await reserveOrWait(limiter, subject, reply)
      // The client left while it waited. Nothing is compared for it, and nothing has failed.
      if (limiter.refundsSuccess && reply.raw.closed) {
        await release(request, reply)
        reply.hijack()
        return 'answered'
      }
      if (!reservation.granted) {
        await release(request, reply)
        await reject(limiter, key, reservation, request, findSubject)
        sendLimited(reply, limiter, reservation)
        return 'answered'
      }
      if (!limiter.silent) setLimitHeaders(reply, limiter, reservation)
      return undefined
    },
    /** Counts, and returns the reservation of a request that is too much, which the caller answers. */
    tooMany: async (limiter: Limiter, subject: string, request: FastifyRequest, reply: FastifyReply) => {
      const { key, reservation } = await reserveOrWait(limiter, subject, reply)
      setLimitHeaders(reply, limiter, reservation)
      if (!reservation.granted) await reject(limiter, key, reservation, request)
      return reservation.granted ? undefined : reservation
    },
    /**
     * An attempt that succeeded, or that we could not check, is given back before the answer is sent. 409 and 422 are successes
     * here: the proof was right, only the new value was not.
     */
    refundSuccess: async (request: FastifyRequest, reply: FastifyReply) => {
      const isFailure = reply.statusCode >= 400 && reply.statusCode < 500 && ![409, 422].includes(reply.statusCode)
      if (!isFailure || successes.has(request)) await release(request, reply)
    },
    /** The proof was right although the answer is a refusal: the attempt is given back. */
    refundDespiteRefusal: (request: FastifyRequest) => {
      successes.add(request)
    },
  }
}

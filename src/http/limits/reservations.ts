import type { FastifyReply, FastifyRequest } from 'fastify'
import { limiterKey } from '../../domain/limiters/limiters.js'
import { seconds } from '../../lib/durations.js'
import type { Cache, Reservation } from '../../platform/cache/cache.js'
import type { Limiter } from './limiter.js'
import { setLimitHeaders } from './limiter-answers.js'
import { createWaitingReservations } from './waiting-reservations.js'

/** The longest that a request waits, for all its counters together. */
const maxWait = 5 * seconds

/** `onDecision` wakes the attempts that wait for this one. */
type HeldReservation = { limiter: Limiter; key: string; reservation: Reservation; onDecision: () => void }

/** Remembers the reservations of each request until it is answered, because it may get them back. */
export const createReservations = (cache: Pick<Cache, 'reserve' | 'refund'>) => {
  const held = new WeakMap<FastifyRequest, readonly HeldReservation[]>()
  const waitDeadlines = new WeakMap<FastifyRequest, number>()
  const reserveOrQueue = createWaitingReservations()
  const heldBy = (request: FastifyRequest) => held.get(request) ?? []

  const hold = (reserved: HeldReservation, reply: FastifyReply) => {
    // The attempt is decided here at the latest: its client may be gone, or its answer may fail.
    reply.raw.once('close', reserved.onDecision)
    held.set(reply.request, [...heldBy(reply.request), reserved])
  }

  const deadlineOf = (request: FastifyRequest) => {
    const deadline = waitDeadlines.get(request) ?? performance.now() + maxWait
    waitDeadlines.set(request, deadline)
    return deadline
  }

  /** Reserves without a wait. */
  const reserve = async (limiter: Limiter, subject: string, reply: FastifyReply) => {
    const key = limiterKey(limiter.name, subject)
    const reservation = await cache.reserve(key, limiter.limit)
    if (reservation.granted) hold({ limiter, key, reservation, onDecision: () => undefined }, reply)
    return reservation
  }

  return {
    reserve,
    /** If the counter is full, waits for attempts that may still be given back. Only limiters that give back successes wait. */
    reserveOrWait: async (limiter: Limiter, subject: string, reply: FastifyReply) => {
      const key = limiterKey(limiter.name, subject)
      if (limiter.refundsFailure) return { key, reservation: await reserve(limiter, subject, reply) }
      const ask = () => cache.reserve(key, limiter.limit)
      if (!limiter.refundsSuccess) return { key, reservation: await ask() }
      const { reservation, onDecision } = await reserveOrQueue(key, ask, reply.raw, deadlineOf(reply.request))
      if (onDecision) hold({ limiter, key, reservation, onDecision }, reply)
      return { key, reservation }
    },
    hasReservation: (request: FastifyRequest, { name }: Limiter) =>
      heldBy(request).some(({ limiter }) => limiter.name === name),
    /** Gives back what the request holds. A reservation that can never be given back is not held. */
    release: async (request: FastifyRequest, reply: FastifyReply) => {
      const reservations = heldBy(request)
      held.delete(request)
      for (const { limiter, key, reservation, onDecision } of reservations) {
        await cache.refund(key, reservation.window).finally(onDecision)
        if (!limiter.silent) setLimitHeaders(reply, limiter, { ...reservation, remaining: reservation.remaining + 1 })
      }
    },
  }
}

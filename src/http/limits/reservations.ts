import type { FastifyReply, FastifyRequest } from 'fastify'
import { limiterKey } from '../../domain/limiters/limiters.js'
import { seconds } from '../../lib/durations.js'
import type { Cache, Reservation } from '../../platform/cache/cache.js'
import type { Limiter } from './limiter.js'
import { setLimitHeaders } from './limiter-answers.js'
import { createWaitingReservations } from './waiting-reservations.js'

/** The longest that a request waits, for all its counters together. */
const longestWait = 5 * seconds

/** `onDecision` tells the attempts that wait for this one. */
type Held = { limiter: Limiter; key: string; reservation: Reservation; onDecision: () => void }

/** Remembers what each request has reserved in which counters, until it is answered: it may get that back. */
export const createReservations = (cache: Pick<Cache, 'reserve' | 'refund'>) => {
  const held = new WeakMap<FastifyRequest, readonly Held[]>()
  const waitsEnd = new WeakMap<FastifyRequest, number>()
  const reserveOrQueue = createWaitingReservations()
  const heldBy = (request: FastifyRequest) => held.get(request) ?? []

  const hold = (reserved: Held, reply: FastifyReply) => {
    // At the latest, if its client is gone or its answer fails.
    reply.raw.once('close', reserved.onDecision)
    held.set(reply.request, [...heldBy(reply.request), reserved])
  }

  const endOfWait = (request: FastifyRequest) => {
    const end = waitsEnd.get(request) ?? performance.now() + longestWait
    waitsEnd.set(request, end)
    return end
  }

  return {
    /** For attempts that count only for this client: they wait for no others. */
    reserve: async (limiter: Limiter, subject: string, reply: FastifyReply) => {
      const key = limiterKey(limiter.name, subject)
      const reservation = await cache.reserve(key, limiter.limit)
      if (reservation.granted) hold({ limiter, key, reservation, onDecision: () => undefined }, reply)
      return reservation
    },
    reserveOrWait: async (limiter: Limiter, subject: string, reply: FastifyReply) => {
      const key = limiterKey(limiter.name, subject)
      const ask = () => cache.reserve(key, limiter.limit)
      if (!limiter.refundsSuccess) return { key, reservation: await ask() }
      const { reservation, onDecision } = await reserveOrQueue(key, ask, reply.raw, endOfWait(reply.request))
      if (onDecision) hold({ limiter, key, reservation, onDecision }, reply)
      return { key, reservation }
    },
    hasReservation: (request: FastifyRequest, { name }: Limiter) =>
      heldBy(request).some(({ limiter }) => limiter.name === name),
    /** Gives back what can be given back. */
    release: async (request: FastifyRequest, reply: FastifyReply) => {
      const mine = heldBy(request)
      held.delete(request)
      for (const { limiter, key, reservation, onDecision } of mine) {
        await cache.refund(key, reservation.window).finally(onDecision)
        if (!limiter.silent) setLimitHeaders(reply, limiter, { ...reservation, remaining: reservation.remaining + 1 })
      }
    },
  }
}

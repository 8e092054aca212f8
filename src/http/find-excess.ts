import type { FastifyRequest } from 'fastify'
import type { Cache, Limit, Reservation } from '../platform/cache/cache.js'
import type { FindAttemptedUser, OnRejection } from '../sessions/limited-events.js'
import { type LimiterName, limiterKey } from './limiters.js'

/** What a request counts from inside a handler, which answers a refusal itself or hides it. It is never given back. */
export type HandlerAttempt = {
  limiter: LimiterName
  subject: string
  limit: Limit
  findAttemptedUser?: FindAttemptedUser
}

/** The first refusal, and its place among the attempts. */
type Excess = { place: number; reservation: Reservation }

/** Counts in the given order, until one is refused. What follows it is not counted. */
export const createFindExcess =
  ({ cache, onRejection }: { cache: Pick<Cache, 'reserveAll'>; onRejection: OnRejection }) =>
  async (attempts: readonly HandlerAttempt[], request: FastifyRequest): Promise<Excess | undefined> => {
    const keyed = attempts.map((each) => ({ ...each, key: limiterKey(each.limiter, each.subject) }))
    const reservations = await cache.reserveAll(keyed)
    const place = reservations.length - 1
    const [refused, reservation] = [keyed[place], reservations[place]]
    if (!refused || !reservation || reservation.granted) return undefined
    const { limiter, key, findAttemptedUser } = refused
    await onRejection({ limiter, key, resetsIn: reservation.resetsIn, findAttemptedUser }, request)
    return { place, reservation }
  }

export type FindExcess = ReturnType<typeof createFindExcess>

import type { FastifyReply, FastifyRequest } from 'fastify'
import type { LimitCode } from '../../contract/limits.js'
import { refusals } from '../../contract/refusals.js'
import { type LimiterName, limiterKey } from '../../domain/limiters/limiters.js'
import { seconds } from '../../lib/durations.js'
import type { Cache, Limit, Reservation } from '../../platform/cache/cache.js'
import type { Rejection, Whom } from './limited-events.js'
import { createWaitingReservations } from './waiting-reservations.js'

export type Limiter = {
  name: LimiterName
  limit: Limit
  code: LimitCode
  refundsSuccess?: true
  /** Only a refusal has its headers: others are about a limiter that the client can do more about. */
  silent?: true
  /** A refusal says in `Retry-After` how long this limiter really waits, also if its body names another time. */
  tellsWait?: true
}

/** The bodies of docs/specification.md, 7, word for word: they carry no code. */
const limitedBody = (code: LimitCode) => {
  const { status: _, ...body } = refusals[code]
  return body
}

const setLimitHeaders = (reply: FastifyReply, { name, limit }: Limiter, { remaining, resetsIn }: Reservation) => {
  const wait = Math.max(1, Math.ceil(resetsIn / 1000))
  reply.headers({
    'RateLimit-Limit': limit.maximum,
    'RateLimit-Remaining': remaining,
    'RateLimit-Reset': wait,
    'RateLimit-Policy': `"${name}";q=${limit.maximum};w=${Math.ceil(limit.window / 1000)}`,
    RateLimit: `"${name}";r=${remaining};t=${wait}`,
  })
  return wait
}

/** For all counters of a request together. */
const longestWait = 5 * seconds

type Counted = { limiter: Limiter; key: string; reservation: Reservation }
type Held = Counted & { decided: () => void }

export type CountedRequests = ReturnType<typeof createCountedRequests>

/** What a request has reserved in which counters and may get back, until it is answered. */
export const createCountedRequests = ({
  cache,
  onRejection,
}: {
  cache: Cache
  onRejection: (rejection: Rejection, request: FastifyRequest) => Promise<void>
}) => {
  const held = new WeakMap<FastifyRequest, readonly Held[]>()
  const successes = new WeakSet<FastifyRequest>()
  const reserveOrQueue = createWaitingReservations()
  const waitsEnd = new WeakMap<FastifyRequest, number>()
  const heldBy = (request: FastifyRequest) => held.get(request) ?? []

  const hold = (counted: Held, reply: FastifyReply) => {
    // At the latest, if its client is gone or its answer fails.
    reply.raw.once('close', counted.decided)
    held.set(reply.request, [...heldBy(reply.request), counted])
  }

  const endOfWait = (request: FastifyRequest) => {
    const end = waitsEnd.get(request) ?? performance.now() + longestWait
    waitsEnd.set(request, end)
    return end
  }

  /** Of attempts that count only for this client: they wait for no others. */
  const reserve = async (limiter: Limiter, subject: string, reply: FastifyReply) => {
    const key = limiterKey(limiter.name, subject)
    const reservation = await cache.reserve(key, limiter.limit)
    if (reservation.granted) hold({ limiter, key, reservation, decided: () => undefined }, reply)
    return reservation
  }

  const reserveOrWait = async (limiter: Limiter, subject: string, reply: FastifyReply): Promise<Counted> => {
    const key = limiterKey(limiter.name, subject)
    const ask = () => cache.reserve(key, limiter.limit)
    if (!limiter.refundsSuccess) return { limiter, key, reservation: await ask() }
    const { reservation, decided } = await reserveOrQueue(key, ask, reply.raw, endOfWait(reply.request))
    if (decided) hold({ limiter, key, reservation, decided }, reply)
    return { limiter, key, reservation }
  }

  const reject = async (counted: Counted, request: FastifyRequest, reply: FastifyReply, whom: Whom | undefined) => {
    const { limiter, key, reservation } = counted
    await onRejection({ limiter: limiter.name, key, resetsIn: reservation.resetsIn, whom }, request)
    const body = limitedBody(limiter.code)
    const wait = setLimitHeaders(reply, limiter, reservation)
    // The ceiling of a name is answered like the login limiter, whose wait is part of its body.
    const retryAfter = limiter.silent && !limiter.tellsWait && 'retryAfter' in body ? body.retryAfter : wait
    reply.header('Retry-After', retryAfter).status(429).send(body)
  }

  /** Gives back what can be given back. */
  const release = async (request: FastifyRequest, reply: FastifyReply) => {
    const mine = heldBy(request)
    held.delete(request)
    for (const { limiter, key, reservation, decided } of mine) {
      await cache.refund(key, reservation.window).finally(decided)
      if (!limiter.silent) setLimitHeaders(reply, limiter, { ...reservation, remaining: reservation.remaining + 1 })
    }
  }

  /**
   * Reserves, or answers and says so. What was reserved before in other counters is given back then: nothing is compared. `whom` says
   * for the event whose attempt it was. The reply itself is no result: a promise of it is one of undefined, once it is sent.
   */
  const count = async (
    limiter: Limiter,
    subject: string,
    request: FastifyRequest,
    reply: FastifyReply,
    whom?: Whom,
  ): Promise<'answered' | undefined> => {
    const counted = await reserveOrWait(limiter, subject, reply)
    // The client left while it waited. Nothing is compared for it, and nothing has failed.
    if (limiter.refundsSuccess && reply.raw.closed) {
      await release(request, reply)
      reply.hijack()
      return 'answered'
    }
    if (!counted.reservation.granted) {
      await release(request, reply)
      await reject(counted, request, reply, whom)
      return 'answered'
    }
    if (!limiter.silent) setLimitHeaders(reply, limiter, counted.reservation)
    return undefined
  }

  /**
   * An attempt that succeeded, or that we could not check, is given back before the answer is sent. 409 and 422 are successes
   * here: the proof was right, only the new value was not.
   */
  const refundSuccess = async (request: FastifyRequest, reply: FastifyReply) => {
    const failed = reply.statusCode >= 400 && reply.statusCode < 500 && ![409, 422].includes(reply.statusCode)
    if (!failed || successes.has(request)) await release(request, reply)
  }

  return {
    reserve,
    count,
    release,
    refundSuccess,
    holds: (request: FastifyRequest, { name }: Limiter) => heldBy(request).some(({ limiter }) => limiter.name === name),
    /** The proof was right although the answer is a refusal: the attempt is given back. */
    countAsSuccess: (request: FastifyRequest) => {
      successes.add(request)
    },
  }
}

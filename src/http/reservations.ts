import type { FastifyReply, FastifyRequest } from 'fastify'
import { seconds } from '../lib/durations.js'
import type { Cache, Reservation } from '../platform/cache/cache.js'
import type { FindAttemptedUser } from '../sessions/limited-events.js'
import type { Limiter } from './limiter.js'
import { setLimitHeaders } from './limiter-answers.js'
import { limiterKey } from './limiters.js'
import { createUndecidedAttempts } from './undecided-attempts.js'

/** The longest that a request waits, for all its counters together. */
const maxWait = 5 * seconds

/** What a request counts in one limiter. `findAttemptedUser` is for the event of a refusal. */
export type CountedAttempt = {
  limiter: Limiter
  subject: string
  findAttemptedUser?: FindAttemptedUser | undefined
  /** A refusal is not answered, and does not wait: the caller counts the request in another way. */
  isOptional?: true
}

type KeyedAttempt = CountedAttempt & { key: string }
type AnsweredAttempt = KeyedAttempt & { reservation: Reservation }

/** `onDecision` wakes the attempts that wait for this one. */
type HeldAttempt = AnsweredAttempt & { onDecision: () => void }

/** Remembers the reservations of each request until it is answered, because it may get them back. */
export const createReservations = (cache: Pick<Cache, 'reserveAll' | 'refund'>) => {
  const held = new WeakMap<FastifyRequest, readonly HeldAttempt[]>()
  const waitDeadlines = new WeakMap<FastifyRequest, number>()
  const undecidedAttempts = createUndecidedAttempts()
  const heldBy = (request: FastifyRequest) => held.get(request) ?? []

  const hold = (answered: AnsweredAttempt, reply: FastifyReply) => {
    const { refundsSuccess, refundsFailure } = answered.limiter
    if (!refundsSuccess && !refundsFailure) return
    const isAwaited = refundsSuccess && !answered.isOptional
    const onDecision = isAwaited ? undecidedAttempts.begin(answered.key) : () => undefined
    // The attempt is decided here at the latest: its client may be gone, or its answer may fail.
    reply.raw.once('close', onDecision)
    held.set(reply.request, [...heldBy(reply.request), { ...answered, onDecision }])
  }

  const deadlineOf = (request: FastifyRequest) => {
    const deadline = waitDeadlines.get(request) ?? performance.now() + maxWait
    waitDeadlines.set(request, deadline)
    return deadline
  }

  const askAndHold = async (
    attempts: readonly KeyedAttempt[],
    reply: FastifyReply,
  ): Promise<AnsweredAttempt | undefined> => {
    const watches = attempts.map(({ key }) => undecidedAttempts.watch(key))
    const reservations = await cache.reserveAll(attempts.map(({ key, limiter }) => ({ key, limit: limiter.limit })))
    for (const [place, reservation] of reservations.entries()) {
      const attempt = attempts[place]
      if (!attempt) break
      if (reservation.granted) {
        hold({ ...attempt, reservation }, reply)
        if (!attempt.limiter.silent) setLimitHeaders(reply, attempt.limiter, reservation)
        continue
      }
      const mayWait = attempt.limiter.refundsSuccess && !attempt.isOptional
      const isWorthAsking = mayWait && (await watches[place]?.(reply.raw, deadlineOf(reply.request)))
      return isWorthAsking ? askAndHold(attempts.slice(place), reply) : { ...attempt, reservation }
    }
    return undefined
  }

  return {
    /**
     * Counts in the given order, and returns the first refusal; what follows it is not counted. At a full counter it waits for attempts
     * that may still be given back, and goes on there. Only limiters that give back successes wait.
     */
    reserveAll: (attempts: readonly CountedAttempt[], reply: FastifyReply) =>
      askAndHold(
        attempts.map((each) => ({ ...each, key: limiterKey(each.limiter.name, each.subject) })),
        reply,
      ),
    hasReservation: (request: FastifyRequest, { name }: Limiter) =>
      heldBy(request).some(({ limiter }) => limiter.name === name),
    /**
     * Gives back what the request holds. The answer does not wait for that: only attempts that find a full counter do. If it fails, they
     * stay counted until the window ends.
     */
    release: (request: FastifyRequest, reply: FastifyReply) => {
      const attempts = heldBy(request)
      if (attempts.length === 0) return
      held.delete(request)
      for (const { limiter, reservation } of attempts)
        if (!limiter.silent) setLimitHeaders(reply, limiter, { ...reservation, remaining: reservation.remaining + 1 })
      const taken = attempts.map(({ key, reservation }) => ({ key, window: reservation.window }))
      const decide = () => {
        for (const { onDecision } of attempts) onDecision()
      }
      cache.refund(taken).then(decide, decide)
    },
  }
}

import type { ServerResponse } from 'node:http'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { LimitCode } from '../contract/limits.js'
import { refusals } from '../contract/refusals.js'
import { seconds } from '../lib/durations.js'
import type { Cache, Reservation, Taken } from '../platform/cache/cache.js'
import { protocolBodyOf } from './errors.js'
import { isForPrograms } from './exempt-routes.js'
import { type Limiter, type LimiterName, limiterKey } from './limiters.js'
import { type GuardHook, guardHook } from './route.js'

/** Finds the user at whose account an attempt was aimed; only the typed name if no user has it. */
export type FindAttemptedUser = () => Promise<{ userId: string | undefined; typedName: string }>

export type Rejection = {
  limiter: LimiterName
  key: string
  resetsIn: number
  findAttemptedUser?: FindAttemptedUser | undefined
}
export type OnRejection = (rejection: Rejection, request: FastifyRequest) => Promise<void>

/** The bodies of docs/specification.md, 7, word for word: they carry no code. */
const limitedBody = (code: LimitCode) => {
  const { status: _, ...body } = refusals[code]
  return body
}

/** The body for limiters with `tellsWait`: the sentence has the real wait instead of the fixed one. */
const bodyWithWait = (code: LimitCode, seconds: number) => {
  const minutes = Math.ceil(seconds / 60)
  const message = `Please try again after ${minutes} ${minutes === 1 ? 'minute' : 'minutes'}`
  return { ...limitedBody(code), message, retryAfter: seconds }
}

export const setLimitHeaders = (
  reply: FastifyReply,
  { name, limit }: Limiter,
  { remaining, resetsIn }: Reservation,
) => {
  const waitSeconds = Math.max(1, Math.ceil(resetsIn / 1000))
  reply.headers({
    'RateLimit-Limit': limit.maximum,
    'RateLimit-Remaining': remaining,
    'RateLimit-Reset': waitSeconds,
    'RateLimit-Policy': `"${name}";q=${limit.maximum};w=${Math.ceil(limit.window / 1000)}`,
    RateLimit: `"${name}";r=${remaining};t=${waitSeconds}`,
  })
  return waitSeconds
}

/** Sets the status and the headers of a refusal, and returns its body. */
const beginLimited = (reply: FastifyReply, limiter: Limiter, reservation: Reservation) => {
  const waitSeconds = setLimitHeaders(reply, limiter, reservation)
  const body = limiter.tellsWait ? bodyWithWait(limiter.code, waitSeconds) : limitedBody(limiter.code)
  // A silent limiter gives the body of the login limiter, which names a wait: `Retry-After` must say the same.
  const retryAfter = limiter.silent && 'retryAfter' in body ? body.retryAfter : waitSeconds
  reply.header('Retry-After', retryAfter).status(429)
  return isForPrograms(reply.request) ? protocolBodyOf(limiter.code, limiter.protocolMessage ?? body.message) : body
}

export const sendLimited = (reply: FastifyReply, limiter: Limiter, reservation: Reservation) => {
  const body = beginLimited(reply, limiter, reservation)
  reply.send(body)
}

type Undecided = { count: number; decisions: number; waiting: Set<() => void> }

/** At most so many attempts wait at one counter. If there are more, they hardly come from colleagues who sign in at the same moment. */
const maxWaiting = 50

/** False if the time is over or the client has left. */
const nextDecision = ({ waiting }: Undecided, milliseconds: number, response: ServerResponse) =>
  new Promise<boolean>((resolve) => {
    const settle = (isDecided: boolean) => {
      clearTimeout(timer)
      waiting.delete(wake)
      response.off('close', giveUp)
      resolve(isDecided)
    }
    const wake = () => settle(true)
    const giveUp = () => settle(false)
    const timer = setTimeout(giveUp, milliseconds)
    waiting.add(wake)
    response.once('close', giveUp)
  })

/**
 * Attempts of this process that are counted and may still be given back. An attempt that finds a counter full waits until one of them
 * is decided: otherwise colleagues behind one address who sign in at the same moment would refuse each other, although none has failed.
 * The wait does not change which attempts are refused in the end: the counter decides.
 */
const createUndecidedAttempts = () => {
  const undecidedByKey = new Map<string, Undecided>()

  return {
    /** An attempt was granted. The caller calls what this returns when the attempt is decided. */
    begin: (key: string) => {
      const undecided = undecidedByKey.get(key) ?? { count: 0, decisions: 0, waiting: new Set() }
      undecided.count += 1
      undecidedByKey.set(key, undecided)
      let isOpen = true
      return () => {
        if (!isOpen) return
        isOpen = false
        undecided.count -= 1
        undecided.decisions += 1
        if (undecided.count === 0) undecidedByKey.delete(key)
        for (const wake of [...undecided.waiting]) wake()
      }
    },
    /**
     * Called before the counter is asked. If the counter refuses, the caller calls what this returns. It says whether to ask again, after
     * one more attempt was decided: not when none of them is left, when too many wait, after `deadline` (a time of `performance`), or when
     * the client has left.
     */
    watch: (key: string) => {
      const undecidedBefore = undecidedByKey.get(key)
      const decisionsBefore = undecidedBefore?.decisions ?? 0
      return async (response: ServerResponse, deadline: number) => {
        const undecided = undecidedBefore ?? undecidedByKey.get(key)
        const timeLeft = deadline - performance.now()
        if (!undecided || timeLeft <= 0 || undecided.waiting.size >= maxWaiting || response.closed) return false
        // An attempt may have been decided while the counter was asked.
        return undecided.decisions !== decisionsBefore || nextDecision(undecided, timeLeft, response)
      }
    },
  }
}

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

/** What a request held and gives back. `decide` wakes the attempts that wait for it, as soon as the store has it. */
type Released = { taken: readonly Taken[]; decide: () => void }
const nothing: Released = { taken: [], decide: () => undefined }

/** `onDecision` wakes the attempts that wait for this one. */
type HeldAttempt = AnsweredAttempt & { onDecision: () => void }

const releasedFrom = (attempts: readonly HeldAttempt[], reply: FastifyReply): Released => {
  // Decided when it is given back, and not when the answer has left: the next attempt would find the counter still full.
  for (const { onDecision } of attempts) reply.raw.off('close', onDecision)
  for (const { limiter, reservation } of attempts)
    if (!limiter.silent) setLimitHeaders(reply, limiter, { ...reservation, remaining: reservation.remaining + 1 })
  const decide = () => {
    for (const { onDecision } of attempts) onDecision()
  }
  return { taken: attempts.map(({ key, reservation }) => ({ key, window: reservation.window })), decide }
}

/** Remembers the reservations of each request until it is answered, because it may get them back. */
export const createReservations = (cache: Cache) => {
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
    { taken, decide }: Released = nothing,
  ): Promise<AnsweredAttempt | undefined> => {
    const watches = attempts.map(({ key }) => undecidedAttempts.watch(key))
    const asked = attempts.map(({ key, limiter }) => ({ key, limit: limiter.limit }))
    const reservations = await cache.reserveAll(asked, taken).finally(decide)
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

  const letGo = (reply: FastifyReply) => {
    const attempts = heldBy(reply.request)
    held.delete(reply.request)
    return releasedFrom(attempts, reply)
  }

  return {
    /**
     * Counts in the given order, and returns the first refusal; what follows it is not counted. At a full counter it waits for attempts
     * that may still be given back, and goes on there. Only limiters that give back successes wait. `releases`: what the request holds is
     * given back in the same moment.
     */
    reserveAll: (attempts: readonly CountedAttempt[], reply: FastifyReply, releases = false) =>
      askAndHold(
        attempts.map((each) => ({ ...each, key: limiterKey(each.limiter.name, each.subject) })),
        reply,
        releases ? letGo(reply) : nothing,
      ),
    hasReservation: (request: FastifyRequest, { name }: Limiter) =>
      heldBy(request).some(({ limiter }) => limiter.name === name),
    /**
     * Gives back what the request holds. The answer does not wait for that: only attempts that find a full counter do. If it fails, they
     * stay counted until the window ends.
     */
    release: (request: FastifyRequest, reply: FastifyReply) => {
      if (heldBy(request).length === 0) return
      const { taken, decide } = letGo(reply)
      cache.refund(taken).then(decide, decide)
    },
  }
}

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

/** What a request counts from inside a handler, which answers a refusal itself or hides it. It is never given back. */
export type HandlerAttempt = {
  limiter: Limiter<LimitCode | null>
  subject: string
  findAttemptedUser?: FindAttemptedUser
}

/** The first refusal, and its place among the attempts. */
type Excess = { place: number; reservation: Reservation }

export type CountedRequests = ReturnType<typeof createCountedRequests>

/** Counts requests in limiters, answers those that are too many, and gives back those that succeeded. */
export const createCountedRequests = ({ cache, onRejection }: { cache: Cache; onRejection: OnRejection }) => {
  const { reserveAll, hasReservation, release } = createReservations(cache)

  /**
   * Counts the attempts in the given order, until one is refused. Answers with that refusal and returns `answered`. After a refusal, the
   * reservations of the request in other counters are given back, because nothing is compared. The reply itself is not returned,
   * because awaiting a sent reply gives undefined. If an optional attempt is refused, nothing is answered. `releases`: what the request
   * holds is given back in the same moment.
   */
  const countAll = async (
    attempts: readonly CountedAttempt[],
    request: FastifyRequest,
    reply: FastifyReply,
    { releases = false } = {},
  ): Promise<'answered' | 'optional refused' | undefined> => {
    const refused = await reserveAll(attempts, reply, releases)
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

  /** Counts in the given order, until one is refused. What follows it is not counted. */
  const findExcess = async (
    attempts: readonly HandlerAttempt[],
    request: FastifyRequest,
  ): Promise<Excess | undefined> => {
    const keyed = attempts.map(({ limiter: { name, limit }, subject, findAttemptedUser }) => ({
      limiter: name,
      key: limiterKey(name, subject),
      limit,
      findAttemptedUser,
    }))
    const reservations = await cache.reserveAll(keyed)
    const place = reservations.length - 1
    const [refused, reservation] = [keyed[place], reservations[place]]
    if (!refused || !reservation || reservation.granted) return undefined
    const { limiter, key, findAttemptedUser } = refused
    await onRejection({ limiter, key, resetsIn: reservation.resetsIn, findAttemptedUser }, request)
    return { place, reservation }
  }

  return {
    hasReservation,
    release,
    countAll,
    findExcess,
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
    /** Counts a request that is answered already. If it is over the limit, the payload is another one. For `onSend`. */
    countAnswered: async (limiter: Limiter, subject: string, reply: FastifyReply, payload: unknown) => {
      const refused = await reserveAll([{ limiter, subject }], reply)
      if (!refused) return payload
      const { key, reservation } = refused
      await onRejection({ limiter: limiter.name, key, resetsIn: reservation.resetsIn }, reply.request)
      return JSON.stringify(beginLimited(reply, limiter, reservation))
    },
    ...createRefunds(release),
  }
}

export type LimitHook = GuardHook<LimitCode | 'unavailable'>

/** A hook that counts requests. The counters may be out of reach. */
export const limitHook = (
  { names, code }: { names: readonly LimiterName[]; code: LimitCode },
  hook: (request: FastifyRequest, reply: FastifyReply) => Promise<unknown>,
): LimitHook => guardHook({ limiters: names, limitCodes: [code] }, [code, 'unavailable'], hook)

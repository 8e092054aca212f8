import type { FastifyReply, FastifyRequest } from 'fastify'
import type { LimitCode } from '../contract/limits.js'
import { refusals } from '../contract/refusals.js'
import { hours, minutes } from '../lib/durations.js'
import type { Cache, Limit, Reservation } from '../platform/cache/cache.js'
import type { Callers } from './caller.js'
import { clientNetwork } from './client.js'
import type { Rejection } from './limited-events.js'

type Limiter = {
  name: string
  limit: Limit
  code: LimitCode
  /** The key that is counted. */
  subject: (request: FastifyRequest) => string
  refundsSuccess?: true
}

const ofServiceKeys: Limiter = {
  name: 'service',
  limit: { maximum: 600, window: 1 * minutes },
  code: 'too_many_requests',
  subject: (request) => `key:${request.serviceKey?.id}`,
}

const ofMailedCodes = {
  name: 'mailed_codes',
  limit: { maximum: 5, window: 1 * hours },
  code: 'too_many_requests',
} as const

/** The bodies of docs/specification.md, 7, word for word: they carry no code. */
const limitedBody = (code: LimitCode) => {
  const { status: _, ...body } = refusals[code]
  return body
}

const setLimitHeaders = (reply: FastifyReply, { name, limit }: Limiter, { remaining, resetsIn }: Reservation) => {
  const seconds = Math.max(1, Math.ceil(resetsIn / 1000))
  reply.headers({
    'RateLimit-Limit': limit.maximum,
    'RateLimit-Remaining': remaining,
    'RateLimit-Reset': seconds,
    'RateLimit-Policy': `"${name}";q=${limit.maximum};w=${Math.ceil(limit.window / 1000)}`,
    RateLimit: `"${name}";r=${remaining};t=${seconds}`,
  })
  return seconds
}

type Held = { limiter: Limiter; key: string; reservation: Reservation }

export type Limits = ReturnType<typeof createLimits>

export const createLimits = (deps: {
  cache: Cache
  callers: Callers
  login: Limit
  general: Limit
  sensitive: Limit
  onRejection: (rejection: Rejection, request: FastifyRequest) => Promise<void>
}) => {
  const { cache, callers, onRejection, login, general, sensitive } = deps
  const held = new WeakMap<FastifyRequest, Held>()
  const successes = new WeakSet<FastifyRequest>()

  /** Each signed-in caller has its own count, so that an office behind one address does not lock itself out. */
  const sessionOf = (request: FastifyRequest) => `session:${callers.of(request).sessionId}`

  const userOf = (request: FastifyRequest) => `user:${callers.of(request).userId}`

  const sessionOrClientNetwork = (request: FastifyRequest) => {
    const session = callers.currentSessionOf(request)
    return session === undefined ? clientNetwork(request) : `session:${session}`
  }

  const codes = new Map<unknown, LimitCode>()

  const hook = (limiter: Limiter) => {
    const reserve = async (request: FastifyRequest, reply: FastifyReply) => {
      const key = `${limiter.name}:${limiter.subject(request)}`
      const reservation = await cache.reserve(key, limiter.limit)
      const seconds = setLimitHeaders(reply, limiter, reservation)
      if (reservation.granted) {
        held.set(request, { limiter, key, reservation })
        return undefined
      }
      await onRejection({ limiter: limiter.name, key, resetsIn: reservation.resetsIn }, request)
      return reply.header('Retry-After', seconds).status(429).send(limitedBody(limiter.code))
    }
    codes.set(reserve, limiter.code)
    return reserve
  }

  /**
   * An attempt that succeeded, or that we could not check, is given back before the answer is sent. 422 is a success here:
   * the proof was right, only the new password was not.
   */
  const refundSuccess = async (request: FastifyRequest, reply: FastifyReply) => {
    const mine = held.get(request)
    const failed = reply.statusCode >= 400 && reply.statusCode < 500 && reply.statusCode !== 422
    if (!mine?.limiter.refundsSuccess || (failed && !successes.has(request))) return
    held.delete(request)
    await cache.refund(mine.key, mine.reservation.window)
    setLimitHeaders(reply, mine.limiter, { ...mine.reservation, remaining: mine.reservation.remaining + 1 })
  }

  const byClientNetwork = { subject: clientNetwork }
  const ofRequests: Limiter = { name: 'general', limit: general, code: 'too_many_requests', ...byClientNetwork }
  const ofSessions: Limiter = { ...ofRequests, name: 'session', subject: sessionOrClientNetwork }

  /** Counts in the limit of refreshes from inside a handler, which knows only later whether there is anything to count. */
  const reserveRotation = async (request: FastifyRequest) => {
    const { name, limit, subject } = ofSessions
    const key = `${name}:${subject(request)}`
    const { granted, resetsIn, window } = await cache.reserve(key, limit)
    if (!granted) await onRejection({ limiter: name, key, resetsIn }, request)
    return { granted, refund: () => cache.refund(key, window) }
  }

  return {
    login: hook({ name: 'login', limit: login, code: 'too_many_logins', refundsSuccess: true, ...byClientNetwork }),
    confirm: hook({ ...ofRequests, name: 'confirm', limit: login, refundsSuccess: true }),
    sensitive: hook({ name: 'sensitive', limit: sensitive, code: 'too_many_attempts', ...byClientNetwork }),
    /** For routes without sign-in, by network: a token does not change what is counted. */
    byNetwork: hook(ofRequests),
    /** For routes behind `callers.required`. */
    bySession: hook({ ...ofRequests, subject: sessionOf }),
    /** The mails to one account with a code, whichever session asks for them. */
    mailedCodes: hook({ ...ofMailedCodes, subject: userOf }),
    /** Separate from the general limit: a session that has used that up can still be refreshed and ended. */
    session: hook(ofSessions),
    /** For other programs: each key has its own count. */
    service: hook(ofServiceKeys),
    reserveRotation,
    /** How this hook refuses, if it is one of these limiters: the API document is made of it. */
    codeOf: (hook: unknown) => codes.get(hook),
    /** The proof was right although the answer is a refusal: the attempt is given back. */
    countAsSuccess: (request: FastifyRequest) => {
      successes.add(request)
    },
    refundSuccess,
  }
}

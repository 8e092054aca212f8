import type { FastifyReply } from 'fastify'
import { type LimitCode, refusals } from '../contract/refusals.js'

import type { Reservation } from '../platform/cache/cache.js'
import type { Limiter } from './limiter.js'
import { protocolBodyOf } from './protocol-errors.js'
import { isForPrograms } from './protocol-routes.js'

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
  { remaining, resetsIn }: Pick<Reservation, 'remaining' | 'resetsIn'>,
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

export const sendLimited = (reply: FastifyReply, limiter: Limiter, reservation: Reservation) => {
  const waitSeconds = setLimitHeaders(reply, limiter, reservation)
  const body = limiter.tellsWait ? bodyWithWait(limiter.code, waitSeconds) : limitedBody(limiter.code)
  // A silent limiter gives the body of the login limiter, which names a wait: `Retry-After` must say the same.
  const retryAfter = limiter.silent && 'retryAfter' in body ? body.retryAfter : waitSeconds
  const answer = isForPrograms(reply.request)
    ? protocolBodyOf(limiter.code, limiter.protocolMessage ?? body.message)
    : body
  reply.header('Retry-After', retryAfter).status(429).send(answer)
}

import type { FastifyRequest } from 'fastify'
import { limiterKey, type RouteLimiters } from '../http/limiters.js'

import type { Cache } from '../platform/cache/cache.js'
import type { Callers } from './caller.js'
import type { OnRejection } from './limited-events.js'
import { sessionOrClientNetwork } from './limits.js'

type Dependencies = { cache: Cache; callers: Callers; routeLimiters: RouteLimiters; onRejection: OnRejection }

export type ReserveRotation = ReturnType<typeof createReserveRotation>

/** Counts a refresh from inside a handler, where it is first known whether the request refreshes the session. */
export const createReserveRotation =
  ({ cache, callers, routeLimiters, onRejection }: Dependencies) =>
  async (request: FastifyRequest) => {
    const { name, limit } = routeLimiters.session
    const key = limiterKey(name, sessionOrClientNetwork(callers, request))
    const { granted, resetsIn, window } = await cache.reserve(key, limit)
    if (!granted) await onRejection({ limiter: name, key, resetsIn }, request)
    const retryAfter = Math.max(1, Math.ceil(resetsIn / 1000))
    return { granted, retryAfter, refund: () => cache.refund([{ key, window }]) }
  }

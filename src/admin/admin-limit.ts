import { type RouteLimiters, sessionSubject } from '../http/limiters.js'
import { type CountedRequests, type LimitHook, limitHook } from '../http/limits.js'

import type { Callers } from '../sessions/callers.js'

type Dependencies = {
  countedRequests: Pick<CountedRequests, 'count'>
  routeLimiters: Pick<RouteLimiters, 'administrators'>
  callers: Pick<Callers, 'of'>
}

/**
 * The limit of administrators, behind a hook that has found a caller. A page that follows events sends more requests than the general
 * limit allows.
 */
export const createAdminLimit = ({ countedRequests, routeLimiters, callers }: Dependencies): LimitHook => {
  const limiter = routeLimiters.administrators
  return limitHook({ names: [limiter.name], code: limiter.code }, (request, reply) =>
    countedRequests.count(limiter, sessionSubject(callers.of(request).sessionId), request, reply),
  )
}

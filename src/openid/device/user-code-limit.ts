import type { FastifyReply, FastifyRequest } from 'fastify'
import { type Limiter, limiters, userSubject } from '../../http/limiters.js'
import type { CountedRequests } from '../../http/limits.js'
import { clientNetwork } from '../../http/request-origin.js'

import type { Callers } from '../../sessions/callers.js'

const networkLimiter: Limiter = {
  name: 'network_user_codes',
  limit: limiters.network_user_codes.limit,
  code: 'too_many_requests',
  refundsSuccess: true,
}
const userLimiter: Limiter = {
  name: 'user_codes',
  limit: limiters.user_codes.limit,
  code: 'too_many_requests',
  refundsSuccess: true,
}

type Dependencies = { countedRequests: Pick<CountedRequests, 'countAll'>; callers: Pick<Callers, 'of'> }

export type UserCodeLimit = ReturnType<typeof createUserCodeLimit>

/** Counts an attempt to enter the code of a device, before the code is compared. The attempt is given back if the code is right. */
export const createUserCodeLimit =
  ({ countedRequests, callers }: Dependencies) =>
  async (request: FastifyRequest, reply: FastifyReply) => {
    const attempts = [
      { limiter: networkLimiter, subject: clientNetwork(request) },
      { limiter: userLimiter, subject: userSubject(callers.of(request).userId) },
    ]
    return (await countedRequests.countAll(attempts, request, reply)) ? reply : undefined
  }

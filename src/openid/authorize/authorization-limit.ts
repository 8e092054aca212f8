import type { FastifyReply, FastifyRequest } from 'fastify'
import { type RouteLimiters, userSubject } from '../../http/limiters.js'
import { type CountedRequests, sendLimited } from '../../http/limits.js'
import { clientNetwork } from '../../http/request-origin.js'

import type { Callers } from '../../sessions/callers.js'
import type { Ceilings } from '../../sign-in/ceilings.js'

type Dependencies = {
  countedRequests: Pick<CountedRequests, 'countAndFindExcess'>
  ceilings: Pick<Ceilings, 'findExcess' | 'answerExcess'>
  routeLimiters: Pick<RouteLimiters, 'authorization_requests'>
  callers: Pick<Callers, 'find'>
}

const total = 'total_authorization_requests'

export type AuthorizationLimit = ReturnType<typeof createAuthorizationLimit>

/**
 * Limits new authorization requests: each stores a row, also for a visitor who is not signed in. A signed-in user has their own count,
 * so that strangers behind the same address cannot keep them from signing in. All sessions of a user count together, because many
 * sessions could otherwise fill the table.
 */
export const createAuthorizationLimit = ({ countedRequests, ceilings, routeLimiters, callers }: Dependencies) => {
  const limiter = routeLimiters.authorization_requests
  return {
    /** Returns undefined for a request that may go on, and otherwise the function that answers it. */
    countAndFindExcess: async (request: FastifyRequest, reply: FastifyReply) => {
      const caller = callers.find(request)
      const subject = caller ? userSubject(caller.userId) : clientNetwork(request)
      const excess = await countedRequests.countAndFindExcess(limiter, subject, request, reply)
      if (excess) return () => sendLimited(reply, limiter, excess)
      const totalExcess = caller ? undefined : await ceilings.findExcess(total, request)
      return totalExcess && (() => ceilings.answerExcess(reply, total, totalExcess))
    },
  }
}

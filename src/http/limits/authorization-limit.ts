import type { FastifyReply, FastifyRequest } from 'fastify'
import { sessionSubject } from '../../domain/limiters/limiters.js'
import type { Reservation } from '../../platform/cache/cache.js'
import type { Callers } from '../caller.js'
import { clientNetwork } from '../client.js'
import type { CountedRequests } from './counted-requests.js'
import type { RouteLimiters } from './limiter.js'
import { sendLimited } from './limiter-answers.js'

type Dependencies = {
  countedRequests: Pick<CountedRequests, 'tooMany'>
  routeLimiters: Pick<RouteLimiters, 'authorization_requests'>
  callers: Pick<Callers, 'peek'>
}

export type AuthorizationLimit = ReturnType<typeof createAuthorizationLimit>

/**
 * New requests of applications, which store a row for any visitor. A signed-in browser has its own count: strangers behind the same
 * address cannot keep it from signing in.
 */
export const createAuthorizationLimit = ({ countedRequests, routeLimiters, callers }: Dependencies) => {
  const limiter = routeLimiters.authorization_requests
  return {
    tooMany: (request: FastifyRequest, reply: FastifyReply) => {
      const caller = callers.peek(request)
      const subject = caller ? sessionSubject(caller.sessionId) : clientNetwork(request)
      return countedRequests.tooMany(limiter, subject, request, reply)
    },
    refuse: (reply: FastifyReply, reservation: Reservation) => {
      sendLimited(reply, limiter, reservation)
      return reply
    },
  }
}

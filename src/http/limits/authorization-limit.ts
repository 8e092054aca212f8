import type { FastifyReply, FastifyRequest } from 'fastify'
import { userSubject } from '../../domain/limiters/limiters.js'
import type { Reservation } from '../../platform/cache/cache.js'
import type { Callers } from '../caller.js'
import { clientNetwork } from '../client.js'
import type { CountedRequests } from './counted-requests.js'
import type { RouteLimiters } from './limiter.js'
import { sendLimited } from './limiter-answers.js'

type Dependencies = {
  countedRequests: Pick<CountedRequests, 'countAndFindExcess'>
  routeLimiters: Pick<RouteLimiters, 'authorization_requests'>
  callers: Pick<Callers, 'find'>
}

export type AuthorizationLimit = ReturnType<typeof createAuthorizationLimit>

/**
 * Limits new authorization requests: each stores a row, also for a visitor who is not signed in. A signed-in user has their own count,
 * so that strangers behind the same address cannot keep them from signing in. All sessions of a user count together, because many
 * sessions could otherwise fill the table.
 */
export const createAuthorizationLimit = ({ countedRequests, routeLimiters, callers }: Dependencies) => {
  const limiter = routeLimiters.authorization_requests
  return {
    countAndFindExcess: (request: FastifyRequest, reply: FastifyReply) => {
      const caller = callers.find(request)
      const subject = caller ? userSubject(caller.userId) : clientNetwork(request)
      return countedRequests.countAndFindExcess(limiter, subject, request, reply)
    },
    answerExcess: (reply: FastifyReply, reservation: Reservation) => {
      sendLimited(reply, limiter, reservation)
      return reply
    },
  }
}

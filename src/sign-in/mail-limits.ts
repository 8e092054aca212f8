import type { FastifyReply, FastifyRequest } from 'fastify'
import { limiterKey, type RouteLimiters, userSubject } from '../http/limiters.js'
import type { CountedRequests, FindExcess } from '../http/limits.js'
import { customerNetwork } from '../http/request-origin.js'

import type { Cache, Limit } from '../platform/cache/cache.js'
import type { Ceilings } from './ceilings.js'

/** `newcomer`: the mail is about a registration. `visitor`: about an account, and so are those that a signed-in `user` asks for. */
type MailAskedBy = 'newcomer' | 'visitor' | 'user'

type Dependencies = {
  cache: Pick<Cache, 'forget'>
  countedRequests: Pick<CountedRequests, 'count'>
  routeLimiters: Pick<RouteLimiters, 'mailed_codes'>
  /** The limit of mails to addresses that the client has not proven. */
  strangerMailLimit: Limit
  findExcess: FindExcess
  ceilings: Pick<Ceilings, 'mailAttempts'>
}

export type MailLimits = ReturnType<typeof createMailLimits>

/** How many mails a client can cause, counted from inside a handler. */
export const createMailLimits = (deps: Dependencies) => {
  const { cache, countedRequests, strangerMailLimit, findExcess, ceilings } = deps
  const mailedCodesLimiter = deps.routeLimiters.mailed_codes
  return {
    /** Counts a mailed code for a user who is not signed in yet. */
    countMailedCode: (userId: string, request: FastifyRequest, reply: FastifyReply) =>
      countedRequests.count(mailedCodesLimiter, userSubject(userId), request, reply),
    /** Resets the count, because a thief who knew the old password may have used up the codes of this hour. */
    forgetMailedCodes: (userId: string) => cache.forget(limiterKey(mailedCodesLimiter.name, userSubject(userId))),
    /**
     * Counts one more mail to an address that this client has not proven, and says whether it may be sent. Each address has its own
     * limit, too, but there are very many addresses. The answer to the client must not show the result.
     */
    mayMailStranger: async (request: FastifyRequest, askedBy: MailAskedBy) => {
      const byNetwork = {
        limiter: 'network_mails',
        subject: customerNetwork(request),
        limit: strangerMailLimit,
      } as const
      // A signed-in user has a limit of their own, and is not stopped by what strangers do.
      const ofEverybody = askedBy === 'user' ? [] : ceilings.mailAttempts(askedBy, request)
      return (await findExcess([byNetwork, ...ofEverybody], request)) === undefined
    },
  }
}

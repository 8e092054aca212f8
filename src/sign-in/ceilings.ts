import type { FastifyReply, FastifyRequest } from 'fastify'
import type { LimiterName, RouteLimiters } from '../http/limiters.js'
import { type CountedRequests, type HandlerAttempt, sendLimited } from '../http/limits.js'
import { siteNetwork } from '../http/request-origin.js'

import type { Limit, Reservation } from '../platform/cache/cache.js'
import type { Invitations, RegistrationGate } from '../registration/invitations.js'

import type { Email } from '../users/names.js'

type Ceiling = Extract<LimiterName, `total_${string}`>
/** Those of mails must not show. */
type AnsweredCeiling = Exclude<Ceiling, 'total_mails' | 'total_newcomer_mails'>

/** The one subject of these counters. */
const everybody = 'all'

const smallestShare = 100

/** What one network may use of a ceiling, so that nobody reaches it alone. A small installation may have all its users in one network. */
const shareOf = ({ maximum, window }: Limit): Limit => ({
  maximum: Math.min(maximum, Math.max(smallestShare, Math.ceil(maximum / 20))),
  window,
})

type Parts = {
  countedRequests: CountedRequests
  routeLimiters: RouteLimiters
  registrationGate: RegistrationGate
  invitations: Invitations
}

export type Ceilings = ReturnType<typeof createCeilings>

/**
 * Limits for the whole installation: each client has limits of its own, but a botnet has very many clients. When one is reached, what
 * strangers ask for stops, and not what they cannot ask for (docs/scale.md has the order).
 */
export const createCeilings = ({ countedRequests, routeLimiters, registrationGate: gate, invitations }: Parts) => {
  /** One more, of the network of the client and of everybody. */
  const attemptsAt = (ceiling: Ceiling, request: FastifyRequest): HandlerAttempt[] => {
    const limiter = routeLimiters[ceiling]
    const share = { ...routeLimiters.ceiling_shares, limit: shareOf(limiter.limit) }
    return [
      { limiter: share, subject: `${ceiling}:${siteNetwork(request)}` },
      { limiter, subject: everybody },
    ]
  }

  /** Counts one more. Returns the reservation if it is one too many, for everybody or for the network of the client. */
  const findExcess = async (ceiling: Ceiling, request: FastifyRequest): Promise<Reservation | undefined> =>
    (await countedRequests.findExcess(attemptsAt(ceiling, request), request))?.reservation

  const answerExcess = (reply: FastifyReply, ceiling: AnsweredCeiling, excess: Reservation) => {
    sendLimited(reply, routeLimiters[ceiling], excess)
    return reply
  }

  return {
    findExcess,
    /**
     * As `findExcess` for the account of an address that is proven: only then may it show whether the address is invited. What the gate
     * refuses is not counted.
     */
    findExcessOfProven: async (email: Email, request: FastifyRequest) => {
      const isInvited = (await invitations.findByEmails([email.email])).length > 0
      return isInvited || gate.refusalFor(email) ? undefined : findExcess('total_registrations', request)
    },
    answerExcess,
    attemptsAt,
    /** One more mail. Whether it is one too many must not show in the answer to the client. */
    mailAttempts: (askedBy: 'newcomer' | 'visitor', request: FastifyRequest) => [
      ...(askedBy === 'newcomer' ? attemptsAt('total_newcomer_mails', request) : []),
      ...attemptsAt('total_mails', request),
    ],
  }
}

import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Invitations } from '../../domain/invitations/invitations.js'
import { type LimiterName, limiterKey } from '../../domain/limiters/limiters.js'
import type { RegistrationGate } from '../../domain/registrations/registration-gate.js'
import type { Email } from '../../domain/users/email.js'
import type { Cache, Limit, Reservation } from '../../platform/cache/cache.js'
import { siteNetwork } from '../client.js'
import type { OnRejection } from './limited-events.js'
import { sendLimited } from './limiter-answers.js'

export type Ceiling = Extract<LimiterName, `total_${string}`>

/** The one subject of these counters. */
const everybody = 'all'

const smallestShare = 100

/** What one network may use of a ceiling, so that nobody reaches it alone. A small installation may have all its users in one network. */
const shareOf = ({ maximum, window }: Limit): Limit => ({
  maximum: Math.min(maximum, Math.max(smallestShare, Math.ceil(maximum / 20))),
  window,
})

type Dependencies = {
  cache: Pick<Cache, 'reserve'>
  onRejection: OnRejection
  registrationGate: Pick<RegistrationGate, 'refusalFor'>
  invitations: Pick<Invitations, 'findByEmails'>
  limits: { registrations: Limit; mails: Limit; waiting: Limit }
}

export type Ceilings = ReturnType<typeof createCeilings>

/**
 * Limits for the whole installation: each client has limits of its own, but a botnet has very many clients. When one is reached, what
 * strangers ask for stops, and not what they cannot ask for (docs/scale.md has the order).
 */
export const createCeilings = (deps: Dependencies) => {
  const { cache, onRejection, registrationGate: gate, invitations } = deps
  const { registrations, mails, waiting } = deps.limits
  const limits: Readonly<Record<Ceiling, Limit>> = {
    total_registrations: registrations,
    total_mails: mails,
    // The other half is for people who have an account.
    total_newcomer_mails: { ...mails, maximum: Math.ceil(mails.maximum / 2) },
    total_mail_sign_ins: waiting,
    total_authorization_requests: waiting,
    total_device_requests: waiting,
  }

  const reserve = async (limiter: LimiterName, subject: string, limit: Limit, request: FastifyRequest) => {
    const key = limiterKey(limiter, subject)
    const reservation = await cache.reserve(key, limit)
    if (reservation.granted) return undefined
    await onRejection({ limiter, key, resetsIn: reservation.resetsIn }, request)
    return reservation
  }

  /** Counts one more. Returns the reservation if it is one too many, for everybody or for the network of the client. */
  const findExcess = async (ceiling: Ceiling, request: FastifyRequest): Promise<Reservation | undefined> => {
    const limit = limits[ceiling]
    const share = `${ceiling}:${siteNetwork(request)}`
    return (
      (await reserve('ceiling_shares', share, shareOf(limit), request)) ?? reserve(ceiling, everybody, limit, request)
    )
  }

  const answerExcess = (reply: FastifyReply, ceiling: Ceiling, excess: Reservation) => {
    sendLimited(reply, { name: ceiling, limit: limits[ceiling], code: 'too_many_requests' }, excess)
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
    /** Counts one more mail, and says whether it may be sent. The answer to the client must not show the result. */
    mayMail: async (askedBy: 'newcomer' | 'visitor', request: FastifyRequest) =>
      !(
        (askedBy === 'newcomer' && (await findExcess('total_newcomer_mails', request))) ||
        (await findExcess('total_mails', request))
      ),
  }
}

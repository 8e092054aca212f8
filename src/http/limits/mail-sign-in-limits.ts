import type { FastifyRequest } from 'fastify'
import { deviceSubject, type LimiterName, limiterKey, limiters } from '../../domain/limiters/limiters.js'
import { recipientKey } from '../../domain/mails/mail-limits.js'
import type { NameMarks } from '../../domain/users/name-marks.js'
import type { Users } from '../../domain/users/users.js'
import type { Cache, Reservation } from '../../platform/cache/cache.js'
import { customerNetwork } from '../client.js'
import type { Ceilings } from './ceilings.js'
import type { KnownBrowsers } from './known-browsers.js'
import type { FindAttemptedUser, OnRejection } from './limited-events.js'

type MailSignInLimiter = Extract<LimiterName, 'mail_sign_ins' | 'network_mail_sign_ins'>

type Dependencies = {
  cache: Cache
  users: Pick<Users, 'findByEmail'>
  nameMarks: Pick<NameMarks, 'of'>
  knownBrowsers: Pick<KnownBrowsers, 'claimsAny' | 'browserOf'>
  onRejection: OnRejection
  ceilings: Pick<Ceilings, 'findExcess' | 'mayMail'>
}

export type MailSignInLimits = ReturnType<typeof createMailSignInLimits>

/**
 * Limits the sign-in mails that a network can cause and that a mailbox gets, however its address is spelled. A browser in which the
 * account was signed in before has its own limit, so that others cannot use up the mails of the owner, and no ceiling of the installation
 * stops it. The answer to the client must not show the result.
 */
export const createMailSignInLimits = (deps: Dependencies) => {
  const { cache, users, nameMarks, knownBrowsers, onRejection, ceilings } = deps
  const reserve = async (
    limiter: MailSignInLimiter,
    subject: string,
    request: FastifyRequest,
    findAttemptedUser?: FindAttemptedUser,
  ) => {
    const key = limiterKey(limiter, subject)
    const { granted, resetsIn } = await cache.reserve(key, limiters[limiter].limit)
    if (!granted) await onRejection({ limiter, key, resetsIn, findAttemptedUser }, request)
    return granted
  }

  /** The browser of the account, if it was signed in there before. */
  const knownBrowserOf = async (email: string, request: FastifyRequest) => {
    const user = knownBrowsers.claimsAny(request) ? await users.findByEmail(email) : undefined
    const browser = user && knownBrowsers.browserOf(user, request)
    return user && browser !== undefined ? deviceSubject(user.id, browser) : undefined
  }

  const countMail = async (email: string, knownBrowser: string | undefined, request: FastifyRequest) => {
    if (!(await reserve('network_mail_sign_ins', customerNetwork(request), request))) return false
    // When the limit is reached, the address is looked up for the event whether or not it has an account, so the time tells nothing.
    const findAttemptedUser = async () => ({ userId: (await users.findByEmail(email))?.id, typedName: email })
    const subject = knownBrowser ?? nameMarks.of(recipientKey(email)) ?? ''
    if (!(await reserve('mail_sign_ins', subject, request, findAttemptedUser))) return false
    return knownBrowser !== undefined || ceilings.mayMail('visitor', request)
  }

  return {
    /**
     * Counts one more sign-in, and says whether its mail may be sent. A mail that the limit of the network stops does not count for the
     * mailbox. `excess`: too many sign-ins wait in the whole installation, whatever the address, so the request is refused.
     */
    count: async (email: string, request: FastifyRequest): Promise<{ mayMail: boolean } | { excess: Reservation }> => {
      const knownBrowser = await knownBrowserOf(email, request)
      const excess = knownBrowser === undefined ? await ceilings.findExcess('total_mail_sign_ins', request) : undefined
      return excess ? { excess } : { mayMail: await countMail(email, knownBrowser, request) }
    },
  }
}

import type { FastifyRequest } from 'fastify'
import { deviceSubject, type LimiterName, limiterKey, limiters } from '../../domain/limiters/limiters.js'
import { recipientKey } from '../../domain/mails/mail-limits.js'
import type { NameMarks } from '../../domain/users/name-marks.js'
import type { Users } from '../../domain/users/users.js'
import type { Cache } from '../../platform/cache/cache.js'
import { customerNetwork } from '../client.js'
import type { KnownBrowsers } from './known-browsers.js'
import type { FindAttemptedUser, OnRejection } from './limited-events.js'

type MailSignInLimiter = Extract<LimiterName, 'mail_sign_ins' | 'network_mail_sign_ins'>

type Dependencies = {
  cache: Cache
  users: Pick<Users, 'findByEmail'>
  nameMarks: Pick<NameMarks, 'of'>
  knownBrowsers: Pick<KnownBrowsers, 'claimsAny' | 'browserOf'>
  onRejection: OnRejection
}

export type MailSignInLimits = ReturnType<typeof createMailSignInLimits>

/**
 * Limits the sign-in mails that a network can cause and that a mailbox gets, however its address is spelled. A browser in which the
 * account was signed in before has its own limit, so that others cannot use up the mails of the owner. The answer to the
 * client must not show the result.
 */
export const createMailSignInLimits = ({ cache, users, nameMarks, knownBrowsers, onRejection }: Dependencies) => {
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

  const subjectOf = async (email: string, request: FastifyRequest) => {
    const user = knownBrowsers.claimsAny(request) ? await users.findByEmail(email) : undefined
    const browser = user && knownBrowsers.browserOf(user, request)
    if (user && browser !== undefined) return deviceSubject(user.id, browser)
    return nameMarks.of(recipientKey(email)) ?? ''
  }

  return {
    /** Counts one more mail, and says whether it may be sent. A mail that the limit of the network stops does not count for the mailbox. */
    mayMail: async (email: string, request: FastifyRequest) => {
      if (!(await reserve('network_mail_sign_ins', customerNetwork(request), request))) return false
      // When the limit is reached, the address is looked up for the event whether or not it has an account, so the time tells nothing.
      const findAttemptedUser = async () => ({ userId: (await users.findByEmail(email))?.id, typedName: email })
      return reserve('mail_sign_ins', await subjectOf(email, request), request, findAttemptedUser)
    },
  }
}

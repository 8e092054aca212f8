import type { FastifyRequest } from 'fastify'
import { deviceSubject, limiters } from '../http/limiters.js'
import type { FindExcess } from '../http/limits.js'
import { customerNetwork } from '../http/request-origin.js'

import { recipientKey } from '../messages/mail-limits.js'
import type { Reservation } from '../platform/cache/cache.js'
import type { NameMarks } from '../users/usernames.js'
import type { Users } from '../users/users.js'

import type { Ceilings } from './ceilings.js'
import type { KnownBrowsers } from './known-browsers.js'

const byMailbox = { limiter: 'mail_sign_ins', limit: limiters.mail_sign_ins.limit } as const
const byNetwork = { limiter: 'network_mail_sign_ins', limit: limiters.network_mail_sign_ins.limit } as const

type Dependencies = {
  users: Pick<Users, 'findByEmail'>
  nameMarks: Pick<NameMarks, 'of'>
  knownBrowsers: Pick<KnownBrowsers, 'claimsAny' | 'browserOf'>
  findExcess: FindExcess
  ceilings: Pick<Ceilings, 'attemptsAt' | 'mailAttempts'>
}

export type MailSignInLimits = ReturnType<typeof createMailSignInLimits>

/**
 * Limits the sign-in mails that a network can cause and that a mailbox gets, however its address is spelled. A browser in which the
 * account was signed in before has its own limit, so that others cannot use up the mails of the owner, and no ceiling of the installation
 * stops it. The answer to the client must not show the result.
 */
export const createMailSignInLimits = (deps: Dependencies) => {
  const { users, nameMarks, knownBrowsers, findExcess, ceilings } = deps

  /** The browser of the account, if it was signed in there before. */
  const knownBrowserOf = async (email: string, request: FastifyRequest) => {
    const user = knownBrowsers.claimsAny(request) ? await users.findByEmail(email) : undefined
    const browser = user && knownBrowsers.browserOf(user, request)
    return user && browser !== undefined ? deviceSubject(user.id, browser) : undefined
  }

  return {
    /**
     * Counts one more sign-in, and says whether its mail may be sent. A mail that the limit of the network stops does not count for the
     * mailbox. `excess`: too many sign-ins wait in the whole installation, whatever the address, so the request is refused.
     */
    count: async (email: string, request: FastifyRequest): Promise<{ mayMail: boolean } | { excess: Reservation }> => {
      const knownBrowser = await knownBrowserOf(email, request)
      const isKnown = knownBrowser !== undefined
      // When the limit is reached, the address is looked up for the event whether or not it has an account, so the time tells nothing.
      const findAttemptedUser = async () => ({ userId: (await users.findByEmail(email))?.id, typedName: email })
      const waiting = isKnown ? [] : ceilings.attemptsAt('total_mail_sign_ins', request)
      const excess = await findExcess(
        [
          ...waiting,
          { ...byNetwork, subject: customerNetwork(request) },
          { ...byMailbox, subject: knownBrowser ?? nameMarks.of(recipientKey(email)) ?? '', findAttemptedUser },
          ...(isKnown ? [] : ceilings.mailAttempts('visitor', request)),
        ],
        request,
      )
      if (excess && excess.place < waiting.length) return { excess: excess.reservation }
      return { mayMail: excess === undefined }
    },
  }
}

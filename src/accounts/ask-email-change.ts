import type { Client } from '../http/request-origin.js'
import { type Clock, later } from '../lib/clock.js'
import { hours } from '../lib/durations.js'
import { fingerprint, randomToken } from '../lib/random.js'

import type { MailedCodes } from '../messages/mailed-codes.js'
import type { Mails } from '../messages/mails.js'

import type { Sql, Transaction } from '../platform/database/database.js'
import type { Email } from '../users/names.js'
import type { User, Users } from '../users/users.js'

import { codeIdOf, codeTries } from './email-change-codes.js'
import * as store from './email-changes.store.js'

const lifetime = 24 * hours

type Dependencies = {
  clock: Clock
  users: Pick<Users, 'holdByEmail'>
  mails: Pick<Mails, 'queue'>
  mailedCodes: Pick<MailedCodes, 'codeOf'>
  /** Whether another user has this address, or had it until a short time ago. */
  isTaken: (sql: Sql, userId: string, email: Email, owner: User | undefined) => Promise<boolean>
}
/** `withheld`: the mail to the new address is not sent. `sessionId`: the session that can enter the code of the mail. */
type Mailing = { client: Client; withheld: boolean; sessionId: string }

/**
 * Mails a link and a code to the new address. An earlier change becomes void even if the new address has had too many mails: the user must
 * not see whether a mail was queued, and no longer wants the earlier address.
 */
export const createAskEmailChange = ({ clock, users, mails, mailedCodes, isTaken }: Dependencies) => {
  /**
   * Mails the link to the new address, or a notice if the address is taken. Both cases write the same rows, so that the user sees no
   * difference.
   */
  const mailNewAddress = async (sql: Transaction, userId: string, email: Email, token: string, mailing: Mailing) => {
    const { client, withheld } = mailing
    const code = mailedCodes.codeOf(codeIdOf(fingerprint(token)))
    const owner = await users.holdByEmail(sql, email.email)
    const letter = (await isTaken(sql, userId, email, owner))
      ? ({ template: 'email-taken', values: {} } as const)
      : ({ template: 'confirm-email', values: { token, code, validFor: lifetime } } as const)
    return mails.queue(sql, { to: email.email, userId, ...letter, client, withheld })
  }

  return async (sql: Transaction, { id: userId }: User, email: Email, mailing: Mailing) => {
    const token = randomToken()
    await mailNewAddress(sql, userId, email, token, mailing)
    const expiresAt = later(clock.now(), lifetime)
    const { sessionId } = mailing
    await store.replace(sql, {
      userId,
      email,
      expiresAt,
      sessionId,
      codeTries,
      hash: fingerprint(token),
      clockOffset: clock.offset(),
    })
  }
}

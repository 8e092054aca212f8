import { randomToken } from '../lib/random.js'
import { type OneTimeTokens, resetLifetime } from '../messages/one-time-tokens.js'
import type { Transaction } from '../platform/database/database.js'
import type { User } from '../users/users.js'

type Dependencies = { oneTimeTokens: Pick<OneTimeTokens, 'replaceRestoreLink' | 'forgetRestoreLinks'> }

/** Prepares the mail to an owner who has got an account back. It has a link to choose a password if the account has none. */
export const createRestoredMail =
  ({ oneTimeTokens }: Dependencies) =>
  async (
    sql: Transaction,
    { id, email, username }: User,
    { byOperator, hasPassword }: { byOperator: boolean; hasPassword: boolean },
  ) => {
    const mail = { to: [email], username, byOperator }
    if (hasPassword) {
      await oneTimeTokens.forgetRestoreLinks(sql, id)
      return mail
    }
    const token = randomToken()
    await oneTimeTokens.replaceRestoreLink(sql, id, token)
    return { ...mail, token, validFor: resetLifetime }
  }

export type RestoredMail = ReturnType<typeof createRestoredMail>

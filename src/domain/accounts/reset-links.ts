import { isRefused } from '../../contract/outcome.js'
import { randomToken } from '../../lib/random.js'
import type { Database } from '../../platform/database/database.js'
import type { Mails } from '../mails/mails.js'
import { type OneTimeTokens, resetLifetime } from '../one-time-tokens/one-time-tokens.js'
import type { Client } from '../sessions/client.js'
import type { Users } from '../users/users.js'

type Dependencies = {
  database: Database
  users: Pick<Users, 'lock'>
  oneTimeTokens: Pick<OneTimeTokens, 'replaceReset'>
  mails: Pick<Mails, 'queue'>
}

type Sending = { withheld: boolean; applicationId?: string | undefined }

export type ResetLinks = ReturnType<typeof createResetLinks>

/** The links with which the owner of an account chooses a new password. */
export const createResetLinks = ({ database, users, oneTimeTokens, mails }: Dependencies) => ({
  /**
   * Anyone can ask for it. The last link stays valid until a newer mail is queued; if there were too many mails, nothing changes.
   * False if the account is gone or disabled. `withheld`: no mail is sent. `applicationId`: who has sent the user here.
   */
  send: (userId: string, client: Client, { withheld, applicationId }: Sending) =>
    database.transaction(async (sql) => {
      const user = await users.lock(sql, userId)
      if (!user || user.disabled) return false
      const token = randomToken()
      const values = { token, validFor: resetLifetime, hasPassword: user.passwordHash !== undefined }
      const mail = { to: user.email, userId, template: 'reset-password', values, client, withheld } as const
      const queued = await mails.queue(sql, mail)
      if (!isRefused(queued)) await oneTimeTokens.replaceReset(sql, user.id, token, applicationId)
      return true
    }),
})

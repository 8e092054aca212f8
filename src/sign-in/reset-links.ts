import type { OperatorContext } from '../account-changes/account-changes.js'
import { isRefused, refuse } from '../contract/outcome.js'
import type { Client } from '../http/request-origin.js'
import { randomToken } from '../lib/random.js'
import { resetLifetime } from '../messages/one-time-tokens.js'
import type { MessagesRoom } from '../messages/open-messages.js'
import { commitUnlessRefused, type Database, type Transaction } from '../platform/database/database.js'
import type { UsersRoom } from '../users/open-users.js'
import { isAddressTrusted, isOwnerInDoubt, type User } from '../users/users.js'

/** `withheld`: no mail is sent. `applicationId`: the application that has sent the user here. */
type Sending = { withheld: boolean; applicationId?: string | undefined }

const template = 'reset-password'

/** The links with which the owner of an account chooses a new password. */
export const createResetLinks = ({
  database,
  users,
  oneTimeTokens,
  mails,
  events,
  administratorTrail,
}: UsersRoom & MessagesRoom & { database: Database }) => {
  /** The last link stays valid until a newer mail is queued. Returns the refusal if no mail is queued: then nothing changes. */
  const queue = async (sql: Transaction, user: User, client: Client, { withheld, applicationId }: Sending) => {
    const token = randomToken()
    const values = { token, validFor: resetLifetime, hasPassword: user.passwordHash !== undefined }
    const mail = { to: user.email, userId: user.id, template, values, client, withheld } as const
    const refusal = await mails.queue(sql, mail)
    if (!refusal) await oneTimeTokens.replaceReset(sql, user.id, token, applicationId)
    return refusal
  }

  /** Whether a link can be mailed to the present address. An operator can always print one. */
  const canMailTo = ({ emailClaimed }: User) => !mails.isOff && !emailClaimed

  /** For an operator, who is told if the account has had too many mails. The transaction holds the user's row. */
  const sendInside = async (sql: Transaction, user: User, client: Client) => {
    if (isRefused(await queue(sql, user, client, { withheld: false })))
      return refuse('too_many_mails', { retryAfter: await mails.secondsUntilNext(sql, { to: user.email, template }) })
    const event = { kind: 'reset_requested', userId: user.id } as const
    await administratorTrail.record(sql, { event, user, change: 'reset_requested' }, client)
    return { user }
  }

  return {
    canMailTo,
    sendInside,

    /** For a request that anyone can make. False if the account is gone or disabled. */
    send: (userId: string, client: Client, sending: Sending) =>
      database.transaction(async (sql) => {
        const user = await users.lock(sql, userId)
        if (!user || user.disabled) return false
        await queue(sql, user, client, { ...sending, withheld: sending.withheld || !isAddressTrusted(user) })
        return true
      }),

    sendByOperator: ({ userId, client }: OperatorContext) =>
      commitUnlessRefused(database, async (sql) => {
        await events.checkActor(sql, client)
        const user = await users.lock(sql, userId)
        if (!user) return refuse('no_user')
        if (user.disabled) return refuse('account_disabled')
        if (mails.isOff) return refuse('mail_is_off')
        if (user.emailClaimed) return refuse('address_not_proven')
        // An administrator, and an operator, who mail a link say with it that the present address is the right one.
        if (client.actor?.role === 'support' && isOwnerInDoubt(user)) return refuse('locked_down')
        return sendInside(sql, user, client)
      }),

    /**
     * A link that an operator hands to the user. It is mailed to nobody, so it proves no address. The account of an owner in doubt needs an
     * address first: the password of the link would let mails go to the present one.
     */
    printByOperator: ({ userId, client }: OperatorContext) =>
      commitUnlessRefused(database, async (sql) => {
        const user = await users.lock(sql, userId)
        if (!user) return refuse('no_user')
        if (user.disabled) return refuse('account_disabled')
        if (isOwnerInDoubt(user)) return refuse('locked_down')
        const token = randomToken()
        const expiresAt = await oneTimeTokens.replacePrinted(sql, user.id, token)
        await events.recordInside(sql, { kind: 'reset_link_printed', userId: user.id }, client)
        return { token, expiresAt }
      }),
  }
}

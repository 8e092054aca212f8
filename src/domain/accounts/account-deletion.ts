import { type Refused, refuse } from '../../contract/outcome.js'
import type { Database, Transaction } from '../../platform/database/database.js'
import type { Events } from '../events/events.js'
import type { Mails } from '../mails/mails.js'
import { type Client, isOperator } from '../sessions/client.js'
import type { Sessions } from '../sessions/sessions.js'
import type { Undos } from '../undos/undos.js'
import type { Usernames } from '../users/usernames.js'
import type { User, Users } from '../users/users.js'

type Dependencies = {
  database: Database
  users: Pick<Users, 'lockForDeletion' | 'remove' | 'emailHistoryOf'>
  usernames: Pick<Usernames, 'formerOf'>
  undos: Pick<Undos, 'formerEmailsOf'>
  sessions: Pick<Sessions, 'endAll'>
  events: Pick<Events, 'recordInside' | 'forgetNames'>
  mails: Pick<Mails, 'queue'>
}

type Deletion<Refusal extends string> = {
  userId: string
  client: Client
  /** Asked with the user as it is now, which no other transaction can change any more. */
  refusalFor?: (sql: Transaction, user: User) => Promise<Refused<Refusal> | undefined>
}

/** Of the user's own request nothing is kept that leads to the user. */
const nobody: Client = { ip: '', userAgent: '' }

export type AccountDeletion = ReturnType<typeof createAccountDeletion>

/**
 * Deletes an account and everything of it, in one transaction: what refers to the user goes with the row, and a trigger
 * forgets the rest (`forget_user` and `forget_mails_of_user` in the migrations). What stays is the last mail until it is
 * sent, the webhook with the user's id, and events that say no more than what happened.
 */
export const createAccountDeletion = (deps: Dependencies) => {
  const { database, users, usernames, undos, sessions, events, mails } = deps

  const namesOf = async (sql: Transaction, { id, email, username }: User) => [
    email,
    username,
    ...(await undos.formerEmailsOf(id, sql)).map((former) => former.email),
    ...(await users.emailHistoryOf(id, sql)).map((former) => former.email),
    ...(await usernames.formerOf(id, sql)).map((former) => former.username_key),
  ]

  return async <Refusal extends string = never>(deletion: Deletion<Refusal>) => {
    const { userId, client, refusalFor } = deletion
    const byOperator = isOperator(client)
    return database.transaction(async (sql) => {
      const user = await users.lockForDeletion(sql, userId)
      if (!user) return refuse('no_user')
      const refused = await refusalFor?.(sql, user)
      if (refused) return refused
      // The cascade would end them too. This also tells the instance that it did.
      await sessions.endAll(userId, { sql })
      const former = (await undos.formerEmailsOf(userId, sql)).map(({ email }) => email)
      await events.forgetNames(sql, await namesOf(sql, user))
      await users.remove(sql, userId)
      // After the user: mails to these addresses that still wait are deleted with it. An address of the last days may be that of the
      // owner, and the present one that of a thief.
      for (const to of [user.email, ...former])
        await mails.queue(sql, {
          to,
          userId: null,
          template: 'account-deleted',
          values: { username: user.username, byOperator },
          // No row has the language of the account any more.
          client: { ...client, ...(user.language && { language: user.language }) },
        })
      // The id leads nowhere any more, and says which account it was to programs that got the webhook.
      const kind = byOperator ? 'user_deleted' : 'account_deleted'
      await events.recordInside(sql, { kind, reason: userId }, byOperator ? client : nobody)
      return undefined
    })
  }
}

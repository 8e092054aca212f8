import type { Undos } from '../account-changes/undos.js'
import type { Events } from '../messages/events.js'
import type { Transaction } from '../platform/database/database.js'
import type { Sessions } from '../sessions/sessions.js'
import type { Usernames } from '../users/usernames.js'
import type { User, UserChanges } from '../users/users.js'

import { clearingOf } from './recent-changes.js'

type Dependencies = {
  userChanges: Pick<UserChanges, 'remove' | 'emailHistoryOf'>
  usernames: Pick<Usernames, 'formerNamesOf'>
  undos: Pick<Undos, 'formerEmailsOf' | 'openOf'>
  sessions: Pick<Sessions, 'endAll'>
  events: Pick<Events, 'forgetNames'>
}

export type AccountDeletion = ReturnType<typeof createAccountDeletion>

/**
 * Deletes an account in a change that holds its row. What refers to the user is deleted with the row, and triggers delete the rest. Returns
 * the addresses and the language of the last mail. A thief may have changed both, so the mail also goes to the addresses of the last days,
 * and is in the former language.
 */
export const createAccountDeletion =
  ({ userChanges, usernames, undos, sessions, events }: Dependencies) =>
  async (sql: Transaction, user: User, event: 'account_deleted' | 'user_deleted') => {
    const { id, email, username } = user
    const { language } = clearingOf(user, await undos.openOf(sql, id))
    const restorableEmails = (await undos.formerEmailsOf(sql, id)).map((each) => each.email)
    const pastEmails = (await userChanges.emailHistoryOf(sql, id)).map((each) => each.email)
    const formerUsernameKeys = (await usernames.formerNamesOf(sql, id)).map((each) => each.key)
    // Deleting the row would end the sessions too, but this instance would learn it only from its next reading of the ended sessions.
    await sessions.endAll(sql, event, id)
    await events.forgetNames(sql, [email, username, ...restorableEmails, ...pastEmails, ...formerUsernameKeys])
    await userChanges.remove(sql, id)
    return { to: [email, ...restorableEmails], ...(language && { language }) }
  }

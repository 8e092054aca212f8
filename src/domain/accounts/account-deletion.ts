import type { Transaction } from '../../platform/database/database.js'
import type { Events } from '../events/events.js'
import type { Sessions } from '../sessions/sessions.js'
import type { Undos } from '../undos/undos.js'
import type { UserChanges } from '../users/user-changes.js'
import type { Usernames } from '../users/usernames.js'
import type { User } from '../users/users.js'
import { clearingOf } from './recent-changes.js'

type Dependencies = {
  userChanges: Pick<UserChanges, 'remove' | 'emailHistoryOf'>
  usernames: Pick<Usernames, 'formerOf'>
  undos: Pick<Undos, 'formerEmailsOf' | 'openOf'>
  sessions: Pick<Sessions, 'endAll'>
  events: Pick<Events, 'forgetNames'>
}

export type AccountDeletion = ReturnType<typeof createAccountDeletion>

/**
 * Deletes an account and everything of it, in a change that holds its row: what refers to the user goes with the row, and triggers
 * forget the rest. Returns whom to tell: an address of the last days may be that of the owner, and the present one that of a thief. The
 * same holds for the language, which is gone with the row.
 */
export const createAccountDeletion =
  ({ userChanges, usernames, undos, sessions, events }: Dependencies) =>
  async (sql: Transaction, user: User, event: 'account_deleted' | 'user_deleted') => {
    const { id, email, username } = user
    const { language } = clearingOf(user, await undos.openOf(sql, id))
    const former = (await undos.formerEmailsOf(sql, id)).map((each) => each.email)
    const earlier = (await userChanges.emailHistoryOf(sql, id)).map((each) => each.email)
    const usernameKeys = (await usernames.formerOf(sql, id)).map((each) => each.key)
    // The cascade would end them too. This also tells the instance that it did.
    await sessions.endAll(sql, event, id)
    await events.forgetNames(sql, [email, username, ...former, ...earlier, ...usernameKeys])
    await userChanges.remove(sql, id)
    return { to: [email, ...former], ...(language && { language }) }
  }

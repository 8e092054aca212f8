import type { AccountChanges } from '../account-changes/account-changes.js'
import { isRefused, refuse } from '../contract/outcome.js'
import type { CallerContext } from '../sessions/session-facts.js'
import { usernameKey } from '../users/names.js'
import type { AccountDeletion } from './account-deletion.js'

type Dependencies = { accountChanges: Pick<AccountChanges, 'byCaller'>; deleteAccount: AccountDeletion }

/** Deletes the caller's account. The username is as the user has typed it, to show that they mean this account. */
export const createDeleteOwnAccount =
  ({ accountChanges, deleteAccount }: Dependencies) =>
  async (context: CallerContext, username: string) => {
    const deleted = await accountChanges.byCaller(context, 'account_deleted', async (sql, user) => {
      if (usernameKey(username) !== usernameKey(user.username)) return refuse('other_username')
      const mailDetails = await deleteAccount(sql, user, 'account_deleted')
      return { changes: { account_deleted: { mail: { byOperator: false, ...mailDetails } } } }
    })
    return isRefused(deleted) ? deleted : undefined
  }

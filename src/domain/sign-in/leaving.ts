import { refuse } from '../../contract/outcome.js'
import { commitUnlessRefused } from '../../platform/database/commit-unless-refused.js'
import type { Database } from '../../platform/database/database.js'
import type { AccountChanges } from '../accounts/account-changes.js'
import type { AccountDeletion } from '../accounts/account-deletion.js'
import type { Client } from '../sessions/client.js'
import { usernameKey } from '../users/username.js'
import type { Users } from '../users/users.js'
import type { Challenges } from './challenges.js'

type Dependencies = {
  database: Database
  users: Pick<Users, 'lockForDeletion' | 'findEnabled'>
  challenges: Pick<Challenges, 'find' | 'lock'>
  accountChanges: Pick<AccountChanges, 'bySignIn'>
  deleteAccount: AccountDeletion
}

export type Leaving = ReturnType<typeof createLeaving>

/** What users can do who have given every proof and do not agree to the terms: take their data, and go. */
export const createLeaving = ({ database, users, challenges, accountChanges, deleteAccount }: Dependencies) => ({
  userOf: async (token: string) => {
    const challenge = await challenges.find(token)
    if (challenge && !challenge.proof) return refuse('other_step')
    const user = challenge && (await users.findEnabled(challenge.userId))
    return user ?? refuse('challenge_over')
  },

  /** The username is a sign that the user means it. */
  deleteAccount: async (token: string, username: string, client: Client) => {
    const challenge = await challenges.find(token)
    if (!challenge) return refuse('challenge_over')
    if (!challenge.proof) return refuse('other_step')
    return commitUnlessRefused(database, async (sql) => {
      const user = await users.lockForDeletion(sql, challenge.userId)
      if (!user || user.disabled || !(await challenges.lock(sql, token))) return refuse('challenge_over')
      if (usernameKey(username) !== usernameKey(user.username)) return refuse('other_username')
      const { to } = await deleteAccount(sql, user, 'account_deleted')
      // As by a session of the user: then the event keeps no address.
      const caller = { userId: user.id, sessionId: challenge.id, generation: 0 }
      await accountChanges.bySignIn(
        sql,
        { user, client, caller },
        { account_deleted: { mail: { byOperator: false, to } } },
      )
      return undefined
    })
  },
})

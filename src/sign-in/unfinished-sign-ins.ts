import type { AccountChanges } from '../account-changes/account-changes.js'
import type { Events } from '../messages/events.js'
import type { Transaction } from '../platform/database/database.js'
import type { Users } from '../users/users.js'
import type { AbandonedChallenge, Challenges } from './challenges.js'

type Dependencies = {
  challenges: Pick<Challenges, 'takeExpired'>
  users: Pick<Users, 'findEnabled'>
  events: Pick<Events, 'hasSignedIn'>
  accountChanges: Pick<AccountChanges, 'bySignIn'>
}

/**
 * Sign-ins whose second step was never finished. The owner gets a mail, because another person may know the password. No mail is sent if
 * the same browser has signed in since, and at most one a day for an account (see `mail-limits`).
 */
export const createUnfinishedSignIns = ({ challenges, users, events, accountChanges }: Dependencies) => {
  const tell = async (sql: Transaction, { userId, client, begunAt: at }: AbandonedChallenge) => {
    const user = await users.findEnabled(sql, userId)
    if (!user || (await events.hasSignedIn(sql, userId, client, at))) return
    await accountChanges.bySignIn(sql, { user, client, at }, { sign_in_unfinished: {} })
  }

  return {
    purge: async (sql: Transaction, limit: number) => {
      const { count, abandoned } = await challenges.takeExpired(sql, limit)
      for (const challenge of abandoned) await tell(sql, challenge)
      return count
    },
  }
}

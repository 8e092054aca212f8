import { refuse } from '../../contract/outcome.js'
import type { Database, Transaction } from '../../platform/database/database.js'
import type { User, Users } from '../users/users.js'
import type { SessionCaller, Sessions } from './sessions.js'

type Dependencies = { database: Database; users: Users; sessions: Sessions }

/**
 * A change of the caller's account, in a transaction that holds the user's row. The session is read in it: if a reset has just
 * ended it, nothing is changed any more.
 */
export const createLockedAccount =
  ({ database, users, sessions }: Dependencies) =>
  <Result>(caller: SessionCaller, work: (sql: Transaction, user: User) => Promise<Result>) =>
    database.transaction(async (sql) => {
      const user = await users.lock(sql, caller.userId)
      const isAllowed = user && !user.disabled && (await sessions.isLive(caller, sql))
      return isAllowed ? work(sql, user) : refuse('not_authenticated')
    })

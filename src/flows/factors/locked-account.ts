import { refuse } from '../../contract/outcome.js'
import type { SessionCaller, Sessions } from '../../domain/sessions/sessions.js'
import type { User, Users } from '../../domain/users/users.js'
import type { Database, Transaction } from '../../platform/database/database.js'

type Dependencies = { database: Database; users: Users; sessions: Sessions }

/** A transaction that holds the user's row. An access token is valid for some seconds after its session has ended. */
export const createLockedAccount =
  ({ database, users, sessions }: Dependencies) =>
  async <Result>(caller: SessionCaller, work: (sql: Transaction, user: User) => Promise<Result>) => {
    if (!(await sessions.isLive(caller))) return refuse('not_authenticated')
    return database.transaction(async (sql) => {
      const user = await users.lockWithWaysIn(sql, caller.userId)
      return !user || user.disabled ? refuse('not_authenticated') : work(sql, user)
    })
  }

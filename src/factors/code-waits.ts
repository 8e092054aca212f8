import type { Clock } from '../lib/clock.js'
import type { Database, Sql } from '../platform/database/database.js'
import * as store from './code-limit.store.js'

/** The waits of accounts after wrong codes, for an operator. */
export const createCodeWaits = ({ database, clock }: { database: Database; clock: Clock }) => ({
  /** How many seconds the account still waits. 0 if it does not wait. */
  secondsLeft: async (userId: string) => {
    const [row] = await store.selectWait(database, userId, clock.offset())
    return Math.max(0, Math.ceil(row?.seconds ?? 0))
  },
  /** Returns whether the account had wrong codes. */
  forget: async (sql: Sql, userId: string) => (await store.forget(sql, userId)).length > 0,
  /** Returns how many accounts had wrong codes. */
  forgetAll: async () => (await store.forgetAll(database)).length,
})

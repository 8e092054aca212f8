import { refuse } from '../../contract/outcome.js'
import type { Clock } from '../../lib/clock.js'
import type { Database, Sql } from '../../platform/database/database.js'
import * as store from './code-limit.store.js'

/** The owner gets one mail a day about wrong codes: after this many. */
const wrongBeforeMail = 3

export type CodeLimit = ReturnType<typeof createCodeLimit>

/** How many wrong codes an account may have, whoever sends them. Passwords are counted elsewhere. */
export const createCodeLimit = ({ database, clock }: { database: Database; clock: Clock }) => ({
  /** Counts the code as wrong until `giveBack`, so that many requests at once cannot try more than one after another. */
  reserve: async (userId: string) => {
    const [granted] = await store.reserve(database, userId, clock.offset())
    if (granted) return undefined
    const [row] = await store.selectWait(database, userId, clock.offset())
    return refuse('too_many_codes', { retryAfter: Math.max(1, Math.ceil(row?.seconds ?? 1)) })
  },
  giveBack: (userId: string) => store.giveBack(database, userId),
  /** Whether the owner has to be told. */
  noteWrong: async (userId: string, isTotp: boolean) => {
    const [row] = await store.noteWrong(database, userId, clock.offset(), isTotp)
    return row?.wrong === wrongBeforeMail
  },
  forget: (sql: Sql, userId: string) => store.forget(sql, userId),
  purge: async (sql: Sql, limit: number) => (await store.purge(sql, clock.offset(), limit)).length,
})

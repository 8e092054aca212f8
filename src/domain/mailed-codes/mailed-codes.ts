import { randomUUID } from 'node:crypto'
import { refuse } from '../../contract/outcome.js'
import { type Clock, later } from '../../lib/clock.js'
import { minutes } from '../../lib/durations.js'
import { codeOf, isCodeOf } from '../../lib/mailed-code.js'
import type { Database, Sql } from '../../platform/database/database.js'
import * as store from './mailed-codes.store.js'

export const mailedCodeLifetime = 10 * minutes
const tries = 5

/** Only this session can use the code. */
export const holderOf = ({ sessionId }: { sessionId: string }) => `session ${sessionId}`

export type MailedCodes = ReturnType<typeof createMailedCodes>

type Dependencies = { database: Database; clock: Clock; codeKeys: readonly Buffer[] }

/** Short codes that prove that the user can read the mails of the account. */
export const createMailedCodes = ({ database, clock, codeKeys }: Dependencies) => {
  const [codeKey] = codeKeys
  if (!codeKey) throw new Error('There is no key to make codes with')

  return {
    /** A new code for the mail, and how to keep it: the code before it works until then. */
    make: (holder: string, userId: string) => {
      const id = randomUUID()
      const expiresAt = later(clock.now(), mailedCodeLifetime)
      const keep = (sql: Sql) => store.upsertCode(sql, { holder, id, userId, tries, expiresAt })
      return { code: codeOf(codeKey, id), keep }
    },
    /** The id of the code if it is right. It can be used until `take`. */
    check: async (holder: string, userId: string, code: string) => {
      const [row] = await store.spendTry(database, holder, userId, clock.now())
      if (!row) return refuse('mailed_code_void')
      if (isCodeOf(codeKeys, row.id, code)) return { id: row.id }
      return refuse(row.tries_left > 0 ? 'wrong_mailed_code' : 'mailed_code_void')
    },
    take: async (sql: Sql, id: string) => (await store.takeCode(sql, id)).length > 0,
    purge: async (sql: Sql, limit: number) => (await store.purge(sql, clock.now(), limit)).length,
  }
}

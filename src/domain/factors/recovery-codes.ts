import type { Clock } from '../../lib/clock.js'
import { fingerprint } from '../../lib/random.js'
import type { Database, Transaction } from '../../platform/database/database.js'
import { createOptionalTransaction } from '../../platform/database/optional-transaction.js'
import { newRecoveryCodes } from './code-format.js'
import * as store from './factors.store.js'

export type RecoveryCodes = ReturnType<typeof createRecoveryCodes>

/** The codes that replace a lost authenticator app, each of them once. `age` is in milliseconds. */
export const createRecoveryCodes = ({ database, clock }: { database: Database; clock: Clock }) => ({
  /** A new set. The one before is void. */
  renew: async (sql: Transaction, userId: string) => {
    const codes = newRecoveryCodes()
    const hashes = codes.map((code) => fingerprint(code.replaceAll('-', '')))
    await store.deleteRecoveryCodes(sql, userId)
    await store.insertRecoveryCodes(sql, userId, hashes, clock.offset())
    return codes
  },
  countLeft: createOptionalTransaction(database)(async (sql, userId: string) => {
    const [row] = await store.countRecoveryCodes(sql, userId)
    return row?.left ?? 0
  }),
  /** False if there is no such code any more. */
  take: async (sql: Transaction, userId: string, code: string) =>
    (await store.takeRecoveryCode(sql, userId, fingerprint(code))).length > 0,
  hasNewerThan: async (userId: string, age: number) => {
    const [row] = await store.countNewRecoveryCodes(database, userId, age, clock.offset())
    return (row?.count ?? 0) > 0
  },
  /** False if there are none. */
  removeNewerThan: async (sql: Transaction, userId: string, age: number) =>
    (await store.deleteNewRecoveryCodes(sql, userId, age, clock.offset())).length > 0,
  removeAll: async (sql: Transaction, userId: string) => {
    await store.deleteRecoveryCodes(sql, userId)
  },
})

import { randomUUID } from 'node:crypto'
import { withoutGroups } from '../contract/factors.js'
import { recoveryCodeColumn } from '../keys/sealed-columns.js'
import type { SealedValues } from '../keys/sealed-values.js'
import type { Clock } from '../lib/clock.js'
import { equalInConstantTime, fingerprint } from '../lib/random.js'

import { acceptTransaction, type Database, type Transaction } from '../platform/database/database.js'
import * as store from './factors.store.js'
import { newRecoveryCodes } from './totp.js'

export type RecoveryCodes = ReturnType<typeof createRecoveryCodes>

type Dependencies = { database: Database; clock: Clock; sealedValues: SealedValues }

/** The hash includes the user, so that one guess cannot be compared with the codes of all accounts at once. */
const hashOf = (userId: string, code: string) => fingerprint(`${userId} ${code}`)

/** The codes that replace a lost authenticator app. Each works once. `age` is in milliseconds. */
export const createRecoveryCodes = ({ database, clock, sealedValues }: Dependencies) => {
  const { seal, open } = sealedValues.of(recoveryCodeColumn)

  /**
   * The id of the row of a code. All rows are compared, so that the time shows nothing. A value that cannot be opened is a broken row, and
   * not a wrong code.
   */
  const findId = async (sql: Transaction, userId: string, code: string) => {
    const givenHash = hashOf(userId, code)
    const rows = await store.selectSealedCodes(sql, userId)
    const openedCodes = rows.map(({ id, sealed }) => ({ id, hash: open(id, sealed) }))
    const [rightCode] = openedCodes.filter(
      ({ hash }) => hash !== undefined && equalInConstantTime(Buffer.from(hash, 'base64url'), givenHash),
    )
    if (!rightCode && openedCodes.some(({ hash }) => hash === undefined))
      throw new Error('A recovery code in the database cannot be opened')
    return rightCode?.id
  }

  return {
    /** Makes new codes, which replace all earlier ones. */
    renew: async (sql: Transaction, userId: string) => {
      const codes = newRecoveryCodes()
      const rows = codes.map((code) => {
        const id = randomUUID()
        return { id, sealed: seal(id, hashOf(userId, withoutGroups(code)).toString('base64url')) }
      })
      await store.deleteRecoveryCodes(sql, userId)
      await store.insertRecoveryCodes(sql, userId, rows, clock.offset())
      return codes
    },
    countLeft: acceptTransaction(database)(async (sql, userId: string) => {
      const [row] = await store.countRecoveryCodes(sql, userId)
      return row?.left ?? 0
    }),
    /** Uses a code up. False if there is no such code any more. */
    take: async (sql: Transaction, userId: string, code: string) => {
      const id = await findId(sql, userId, code)
      return id !== undefined && (await store.takeRecoveryCode(sql, id)).length > 0
    },
    hasNewerThan: async (userId: string, age: number) => {
      const [row] = await store.countNewRecoveryCodes(database, userId, age, clock.offset())
      return (row?.count ?? 0) > 0
    },
    /** False if no code is so new. */
    removeNewerThan: async (sql: Transaction, userId: string, age: number) =>
      (await store.deleteNewRecoveryCodes(sql, userId, age, clock.offset())).length > 0,
    removeAll: async (sql: Transaction, userId: string) => {
      await store.deleteRecoveryCodes(sql, userId)
    },
  }
}

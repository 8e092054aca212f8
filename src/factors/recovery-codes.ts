import { randomBytes, randomUUID } from 'node:crypto'
import { inGroups, withoutGroups } from '../contract/factors.js'
import { recoveryCodeColumn } from '../keys/sealed-columns.js'
import type { SealedValues } from '../keys/sealed-values.js'
import type { Clock } from '../lib/clock.js'
import { equalInConstantTime, fingerprint } from '../lib/random.js'
import type { Database, Sql, Transaction } from '../platform/database/database.js'
import * as store from './factors.store.js'

const codeCount = 10

/** Crockford's base32, which has no I, L, O and U. Each character has five bits. */
const codeAlphabet = '0123456789ABCDEFGHJKMNPQRSTVWXYZ'
/** 12 characters have 60 bits. */
const codeLength = 12

const newCode = () => Array.from(randomBytes(codeLength), (byte) => codeAlphabet[byte % codeAlphabet.length]).join('')

/** Ten codes, in groups of four so that they can be read and copied. */
export const newRecoveryCodes = () => Array.from({ length: codeCount }, () => inGroups(newCode()))

/** Replaces characters that are often misread from a screen or from paper by those that codes have. */
const withoutLookalikes = (code: string) => code.replaceAll('O', '0').replaceAll(/[IL]/g, '1').replaceAll('U', 'V')

/** Reads a code that a user typed or pasted. Its form says which kind it is. Undefined if it has the form of none. */
export const readCode = (typed: string) => {
  const text = withoutGroups(typed)
  if (/^\d{6}$/.test(text)) return { method: 'otp' as const, code: text }
  return text.length === codeLength ? { method: 'rec' as const, code: withoutLookalikes(text) } : undefined
}

export type RecoveryCodes = ReturnType<typeof createRecoveryCodes>

/** The hash includes the user, so that one guess cannot be compared with the codes of all accounts at once. */
const hashOf = (userId: string, code: string) => fingerprint(`${userId} ${code}`)

/** The codes that replace a lost authenticator app. Each works once. `age` is in milliseconds. */
export const createRecoveryCodes = ({
  database,
  clock,
  sealedValues,
}: {
  database: Database
  clock: Clock
  sealedValues: SealedValues
}) => {
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
    countLeft: async (sql: Sql, userId: string) => {
      const [row] = await store.countRecoveryCodes(sql, userId)
      return row?.left ?? 0
    },
    /** Uses a code up. False if there is no such code any more. */
    take: async (sql: Transaction, userId: string, code: string) => {
      const id = await findId(sql, userId, code)
      return id !== undefined && (await store.takeRecoveryCode(sql, id)).length > 0
    },
    hasNewerThan: async (userId: string, age: number) => {
      const [row] = await store.countNewRecoveryCodes(database, userId, age, clock.offset())
      return (row?.count ?? 0) > 0
    },
    /** Returns how many there were. */
    removeNewerThan: async (sql: Transaction, userId: string, age: number) =>
      (await store.deleteNewRecoveryCodes(sql, userId, age, clock.offset())).length,
    /** Returns how many there were. */
    removeAll: async (sql: Transaction, userId: string) => (await store.deleteRecoveryCodes(sql, userId)).length,
  }
}

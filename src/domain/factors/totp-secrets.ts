import { refuse } from '../../contract/outcome.js'
import { type Clock, later } from '../../lib/clock.js'
import { minutes } from '../../lib/durations.js'
import type { Database, Transaction } from '../../platform/database/database.js'
import { createOptionalTransaction } from '../../platform/database/optional-transaction.js'
import { pendingTotpColumn, totpColumn } from '../sealed-values/sealed-columns.js'
import type { SealedValues } from '../sealed-values/sealed-values.js'
import { readCode } from './code-format.js'
import * as store from './factors.store.js'
import { newSecret, otpauthUri, stepOf } from './totp.js'

const pendingLifetime = 10 * minutes

type Dependencies = {
  database: Database
  clock: Clock
  sealedValues: SealedValues
  /** The name that an authenticator app shows. */
  productName: string
}

/** A value that does not open is a broken row, never "no factor". */
const assertOpened = (secret: string | undefined) => {
  if (secret === undefined) throw new Error('A TOTP secret in the database cannot be opened')
  return secret
}

export type TotpSecrets = ReturnType<typeof createTotpSecrets>

/** What an account shares with its authenticator app. A secret is pending until a code of the app confirms it. */
export const createTotpSecrets = ({ database, clock, sealedValues, productName }: Dependencies) => {
  const secrets = sealedValues.of(totpColumn)
  const pendingSecrets = sealedValues.of(pendingTotpColumn)

  const find = createOptionalTransaction(database)(async (sql, userId: string) => {
    const [row] = await store.selectTotp(sql, userId, clock.offset())
    return row
  })

  return {
    /** Since when it is on. */
    createdAt: createOptionalTransaction(database)(
      async (sql, userId: string) => (await find(sql, userId))?.created_at,
    ),

    /** The secret for the session to confirm, and what the QR code holds. */
    begin: async ({ userId, sessionId, account }: { userId: string; sessionId: string; account: string }) => {
      if (await find(userId)) return refuse('totp_is_on')
      const secret = newSecret()
      const expiresAt = later(clock.now(), pendingLifetime)
      await store.replacePending(database, {
        userId,
        sessionId,
        secret: pendingSecrets.seal(userId, secret),
        expiresAt,
      })
      return { secret, uri: otpauthUri(secret, { issuer: productName, account }) }
    },

    /** The caller holds a lock on the user's row. The code that confirms it is used up. */
    confirm: async (
      sql: Transaction,
      { userId, sessionId, code }: { userId: string; sessionId: string; code: string },
    ) => {
      if (await find(sql, userId)) return refuse('totp_is_on')
      const typed = readCode(code)
      const clockOffset = clock.offset()
      const [row] = await store.selectPending(sql, { userId, sessionId, now: clock.now(), clockOffset })
      const secret = row && pendingSecrets.open(userId, row.secret)
      if (!row || secret === undefined) return refuse('no_totp_begun')
      const step = typed?.method === 'otp' ? stepOf(secret, typed.code, row.seconds) : undefined
      if (step === undefined) return refuse('wrong_second_factor')
      await store.insertTotp(sql, { userId, secret: secrets.seal(userId, secret), step, clockOffset })
      await store.deletePending(sql, userId)
      return undefined
    },

    /** The time step of a right code. */
    stepOf: async (userId: string, code: string) => {
      const row = await find(userId)
      return row && stepOf(assertOpened(secrets.open(userId, row.secret)), code, row.seconds)
    },
    /** False if a code of this step, or of a later one, was used. */
    useStep: async (sql: Transaction, userId: string, step: number) =>
      (await store.acceptStep(sql, userId, step)).length > 0,

    /** False if it was off. */
    remove: async (sql: Transaction, userId: string) => (await store.deleteTotp(sql, userId)).length > 0,
  }
}

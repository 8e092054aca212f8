import { isRefused, refuse } from '../contract/outcome.js'
import { totpColumn } from '../keys/sealed-columns.js'
import type { SealedValues } from '../keys/sealed-values.js'
import type { Clock } from '../lib/clock.js'
import { acceptTransaction, type Database, type Transaction } from '../platform/database/database.js'
import * as store from './factors.store.js'
import type { PendingSecrets, SecretConfirmation, SecretRequest } from './pending-secrets.js'
import { stepOfCode } from './totp.js'

type Dependencies = { database: Database; clock: Clock; sealedValues: SealedValues; pendingSecrets: PendingSecrets }

/** A value that cannot be opened is a broken row. It must never look like an account without a factor. */
export const assertOpened = (secret: string | undefined) => {
  if (secret === undefined) throw new Error('A TOTP secret in the database cannot be opened')
  return secret
}

export type TotpSecrets = ReturnType<typeof createTotpSecrets>

/** The secret that an account shares with its authenticator app. */
export const createTotpSecrets = ({ database, clock, sealedValues, pendingSecrets }: Dependencies) => {
  const secrets = sealedValues.of(totpColumn)

  const find = acceptTransaction(database)(async (sql, userId: string) => {
    const [row] = await store.selectTotp(sql, userId, clock.offset())
    return row
  })

  return {
    /** The time since which the account uses this app. Undefined while TOTP is off. */
    createdAt: acceptTransaction(database)(async (sql, userId: string) => (await find(sql, userId))?.created_at),

    begin: async (request: SecretRequest) =>
      (await find(request.userId)) ? refuse('totp_is_on') : pendingSecrets.create(request),

    /** Switches TOTP on. The caller holds a lock on the user's row. The confirming code is used up. */
    confirm: async (sql: Transaction, confirmation: SecretConfirmation) => {
      const { userId } = confirmation
      if (await find(sql, userId)) return refuse('totp_is_on')
      const newTotp = await pendingSecrets.confirm(sql, confirmation)
      if (isRefused(newTotp)) return newTotp
      const { secret, step } = newTotp
      await store.insertTotp(sql, { userId, secret: secrets.seal(userId, secret), step, clockOffset: clock.offset() })
      return undefined
    },

    /** The time step of a code. Undefined if the code is wrong. */
    matchingStep: async (userId: string, code: string) => {
      const row = await find(userId)
      return row && stepOfCode(assertOpened(secrets.open(userId, row.secret)), code, row.now_seconds)
    },
    /** False if a code of this step, or of a later step, was used before. */
    useStep: async (sql: Transaction, userId: string, step: number) =>
      (await store.acceptStep(sql, userId, step)).length > 0,

    /** Switches TOTP off. False if it was off before. */
    remove: async (sql: Transaction, userId: string) => (await store.deleteTotp(sql, userId)).length > 0,
  }
}

import type { Undos } from '../account-changes/undos.js'
import type { SecondFactorMethod } from '../contract/factors.js'
import { isRefused } from '../contract/outcome.js'
import { acceptTransaction, type Database, type Transaction } from '../platform/database/database.js'
import type { CodeLimit } from './code-limit.js'
import type { SecretConfirmation } from './pending-secrets.js'
import type { createProveCode } from './prove-code.js'
import type { RecoveryCodes } from './recovery-codes.js'
import type { TotpSecrets } from './totp-secrets.js'

export type { CodeRefusal } from './prove-code.js'

type Dependencies = {
  database: Database
  totpSecrets: TotpSecrets
  recoveryCodes: RecoveryCodes
  codeLimit: CodeLimit
  undos: Pick<Undos, 'forgetFormerSecrets'>
  proveCode: ReturnType<typeof createProveCode>
}

export type Factors = ReturnType<typeof createFactors>

/** TOTP and recovery codes of an account. For a change, the caller holds a lock on the user's row. */
export const createFactors = (deps: Dependencies) => {
  const { database, totpSecrets, recoveryCodes, codeLimit, undos, proveCode } = deps
  const optionalTransaction = acceptTransaction(database)
  const hasTotp = optionalTransaction(
    async (sql, userId: string) => (await totpSecrets.createdAt(sql, userId)) !== undefined,
  )

  return {
    hasTotp,
    /** The methods that prove the second factor. Empty while TOTP is off. */
    methodsOf: optionalTransaction(async (sql, userId: string): Promise<SecondFactorMethod[]> => {
      if (!(await hasTotp(sql, userId))) return []
      return (await recoveryCodes.countLeft(sql, userId)) > 0 ? ['totp', 'recovery_code'] : ['totp']
    }),
    describe: async (userId: string) => ({
      totpCreatedAt: await totpSecrets.createdAt(userId),
      recoveryCodesLeft: await recoveryCodes.countLeft(userId),
    }),

    begin: totpSecrets.begin,
    /** Switches TOTP on. Returns new recovery codes. */
    confirm: async (sql: Transaction, confirmation: SecretConfirmation) => {
      const refusal = await totpSecrets.confirm(sql, confirmation)
      if (isRefused(refusal)) return refusal
      await codeLimit.forget(sql, confirmation.userId)
      return { recoveryCodes: await recoveryCodes.renew(sql, confirmation.userId) }
    },
    /** Switches TOTP off. False if it was off before. */
    remove: async (sql: Transaction, userId: string) => {
      const wasOn = await totpSecrets.remove(sql, userId)
      await recoveryCodes.removeAll(sql, userId)
      await undos.forgetFormerSecrets(sql, userId)
      await codeLimit.forget(sql, userId)
      return wasOn
    },

    /** Undefined while TOTP is off. */
    renewRecoveryCodes: async (sql: Transaction, userId: string) =>
      (await hasTotp(sql, userId)) ? recoveryCodes.renew(sql, userId) : undefined,
    removeNewRecoveryCodes: recoveryCodes.removeNewerThan,
    hasNewRecoveryCodes: recoveryCodes.hasNewerThan,

    prove: proveCode,
  }
}

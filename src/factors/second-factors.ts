import type { Undos } from '../account-changes/undos.js'
import { enrolmentMethods, type ProofMethod, type ProofStep, type SecondFactorMethod } from '../contract/factors.js'
import { isRefused } from '../contract/outcome.js'
import type { Mails } from '../messages/mails.js'
import { acceptTransaction, type Database, type Sql, type Transaction } from '../platform/database/database.js'
import type { User, Users } from '../users/users.js'
import type { Passkeys } from './passkeys.js'
import type { CodeLimit, createProveCode } from './prove-code.js'
import type { RecoveryCodes } from './recovery-codes.js'
import type { SecretConfirmation, TotpSecrets } from './totp.js'

export type { CodeRefusal } from './prove-code.js'

type FactorsDependencies = {
  database: Database
  totpSecrets: TotpSecrets
  recoveryCodes: RecoveryCodes
  codeLimit: CodeLimit
  undos: Undos
  proveCode: ReturnType<typeof createProveCode>
}

export type Factors = ReturnType<typeof createFactors>

/** TOTP and recovery codes of an account. For a change, the caller holds a lock on the user's row. */
export const createFactors = (deps: FactorsDependencies) => {
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

export type Proofs = ReturnType<typeof createProofs>

/** The methods that an account can prove with. */
export const createProofs = ({
  database,
  users,
  factors,
  passkeys,
  mails,
}: {
  database: Database
  users: Users
  factors: Factors
  passkeys: Passkeys
  mails: Mails
}) => {
  const optionalTransaction = acceptTransaction(database)

  /**
   * The methods that make a session of this user fresh again, the best first. A password is not enough if the account has a second factor.
   * A mail is only for accounts that have nothing else: a person who can read the mails must not get around a password. Where nothing is mailed, or the address was never proven, such an account has no
   * method: a new sign-in with its provider makes a fresh session.
   */
  const methodsFor = optionalTransaction(async (sql, user: User) => {
    const { id, passwordHash, emailClaimed } = user
    const passkeyMethods: ProofMethod[] = (await passkeys.countUsable(sql, id)) > 0 ? ['passkey'] : []
    const secondFactors = [...passkeyMethods, ...(await factors.methodsOf(sql, id))]
    if (secondFactors.length > 0) return secondFactors
    if (passwordHash !== undefined) return ['password' as const]
    return mails.isOff || emailClaimed ? [] : ['mail' as const]
  })

  return {
    methodsFor,
    /** Undefined if the account is gone or disabled. */
    methodsByUserId: async (userId: string) => {
      const user = await users.findEnabled(userId)
      return user && methodsFor(user)
    },
  }
}

type NextStepsDependencies = {
  database: Database
  factors: Factors
  passkeys: Passkeys
  /** Whether every session needs a second factor, even if the account has none. */
  secondFactorRequired: boolean
}
type Step = { next: ProofStep; methods: readonly SecondFactorMethod[]; allowsTrustedDevice: boolean }

export type NextSteps = ReturnType<typeof createNextSteps>

/** Finds the proof that a sign-in needs after its first one. */
export const createNextSteps = ({ database, factors, passkeys, secondFactorRequired }: NextStepsDependencies) => {
  const withPasskeys = async (
    sql: Sql,
    userId: string,
    codeMethods: SecondFactorMethod[],
  ): Promise<SecondFactorMethod[]> =>
    (await passkeys.countUsable(sql, userId)) > 0 ? ['passkey', ...codeMethods] : codeMethods

  return {
    /** The methods that finish a challenge of this user, the best first. */
    methodsOf: async (userId: string) => withPasskeys(database, userId, await factors.methodsOf(userId)),

    /** Undefined if the first proof is enough. A passkey alone does not make a second step necessary, unless every account needs one. */
    nextFor: acceptTransaction(database)(async (sql, userId: string): Promise<Step | undefined> => {
      const codeMethods = await factors.methodsOf(sql, userId)
      if (codeMethods.length === 0 && !secondFactorRequired) return undefined
      const methods = await withPasskeys(sql, userId, codeMethods)
      if (methods.length === 0) return { next: 'enrolment', methods: enrolmentMethods, allowsTrustedDevice: false }
      return { next: 'second_factor', methods, allowsTrustedDevice: codeMethods.length > 0 }
    }),

    hasFactor: async (sql: Transaction, userId: string) =>
      (await withPasskeys(sql, userId, await factors.methodsOf(sql, userId))).length > 0,
  }
}

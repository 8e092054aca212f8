import type { AccountChangesRoom } from '../account-changes/open-account-changes.js'
import {
  enrolmentMethods,
  type ProofMethod,
  type ProofStep,
  type SecondFactorMethod,
  secondFactorMethods,
} from '../contract/factors.js'
import { isRefused } from '../contract/outcome.js'
import type { MessagesRoom } from '../messages/open-messages.js'
import { acceptTransaction, type Database, type Transaction } from '../platform/database/database.js'
import type { UsersRoom } from '../users/open-users.js'
import type { User } from '../users/users.js'
import * as store from './factors.store.js'
import { type AfterCode, type CodeAttempt, proveCode } from './prove-code.js'
import type { RecoveryCodes } from './recovery-codes.js'
import type { SecretConfirmation, Totp } from './totp.js'

export type { CodeRefusal } from './prove-code.js'

/**
 * The second factors. Three questions are asked about them, and each has another answer.
 *
 * `asked`: does a first proof need this as a second step? A passkey does not ask by itself, or everybody with a password and a passkey would
 * be asked for the passkey at each sign-in. `counts`: does an account with nothing but this have a second factor? Recovery codes only stand
 * for an app. And every row can prove the second step, if the account has it.
 *
 * `trustedDevice`: whether a browser that the user trusts stands for it.
 */
const secondFactors: Record<SecondFactorMethod, { asked: boolean; counts: boolean; trustedDevice: boolean }> = {
  passkey: { asked: false, counts: true, trustedDevice: false },
  totp: { asked: true, counts: true, trustedDevice: true },
  recovery_code: { asked: false, counts: false, trustedDevice: true },
}

/** What an account can prove its second factor with, the best first. */
type Held = readonly SecondFactorMethod[]

const asksForSecondStep = (held: Held) => held.some((method) => secondFactors[method].asked)
const hasSecondFactor = (held: Held) => held.some((method) => secondFactors[method].counts)
const allowsTrustedDevice = (held: Held) => held.some((method) => secondFactors[method].trustedDevice)

type Step = { next: ProofStep; methods: readonly SecondFactorMethod[]; allowsTrustedDevice: boolean }

type Services = UsersRoom &
  MessagesRoom &
  AccountChangesRoom & {
    database: Database
    totp: Totp
    recoveryCodes: RecoveryCodes
    /** The host to which passkeys belong. */
    host: string
    /** Whether every session needs a second factor, even if the account has none. */
    secondFactorRequired: boolean
  }

const createHeldBy = ({ database, host }: Services) =>
  acceptTransaction(database)(async (sql, userId: string): Promise<SecondFactorMethod[]> => {
    const [row] = await store.selectHeld(sql, userId, host)
    const held = secondFactorMethods.filter((method) => row?.[method])
    // Recovery codes replace the app, so they prove nothing without one.
    return held.filter((method) => method !== 'recovery_code' || held.includes('totp'))
  })

export type Factors = ReturnType<typeof createFactors>

/** The app and the recovery codes of an account, and what they and its passkeys prove. For a change, the caller holds the user's row. */
export const createFactors = (services: Services & Parameters<typeof proveCode>[0]) => {
  const { database, totp, recoveryCodes, undos, secondFactorRequired } = services
  const heldBy = createHeldBy(services)

  return {
    heldBy,
    /** Whether the account cannot lose this factor, because every account needs one, and it has no other. */
    mustKeep: async (sql: Transaction, userId: string, method: SecondFactorMethod) =>
      secondFactorRequired && !hasSecondFactor((await heldBy(sql, userId)).filter((each) => each !== method)),

    describe: async (userId: string) => ({
      totpCreatedAt: await totp.createdAt(userId),
      recoveryCodesLeft: await recoveryCodes.countLeft(database, userId),
    }),

    begin: totp.begin,
    /** Switches TOTP on. Returns new recovery codes. */
    confirm: async (sql: Transaction, confirmation: SecretConfirmation) => {
      const refusal = await totp.confirm(sql, confirmation)
      if (isRefused(refusal)) return refusal
      await store.forgetWrongCodes(sql, confirmation.userId)
      return { recoveryCodes: await recoveryCodes.renew(sql, confirmation.userId) }
    },
    /** Switches TOTP off. False if it was off before. */
    remove: async (sql: Transaction, userId: string) => {
      const wasOn = await totp.remove(sql, userId)
      await recoveryCodes.removeAll(sql, userId)
      await undos.forgetFormerSecrets(sql, userId)
      await store.forgetWrongCodes(sql, userId)
      return wasOn
    },
    beginReplacement: totp.beginReplacement,
    confirmReplacement: totp.confirmReplacement,
    restoreFormerApp: totp.restore,

    /** Undefined while TOTP is off. */
    renewRecoveryCodes: async (sql: Transaction, userId: string) =>
      (await heldBy(sql, userId)).includes('totp') ? recoveryCodes.renew(sql, userId) : undefined,
    removeNewRecoveryCodes: recoveryCodes.removeNewerThan,
    hasNewRecoveryCodes: recoveryCodes.hasNewerThan,

    prove: <Result>(attempt: CodeAttempt, work: AfterCode<Result>) => proveCode(services, attempt, work),
  }
}

export type Proofs = ReturnType<typeof createProofs>

/** What a session can be proven again with. */
export const createProofs = (services: Services) => {
  const { database, users, mails } = services
  const heldBy = createHeldBy(services)

  /**
   * The methods that make a session of this user fresh again, the best first. A password is not enough if the account has a second factor.
   * A mail is only for accounts that have nothing else: a person who can read the mails must not get around a password. Where nothing is
   * mailed, or the address was never proven, such an account has no method: a new sign-in with its provider makes a fresh session.
   */
  const methodsFor = acceptTransaction(database)(async (sql, user: User): Promise<ProofMethod[]> => {
    const held = await heldBy(sql, user.id)
    if (held.length > 0) return held
    if (user.passwordHash !== undefined) return ['password']
    return mails.isOff || user.emailClaimed ? [] : ['mail']
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

/** What a sign-in needs after its first proof. */
export const createNextSteps = (services: Services) => {
  const { database, secondFactorRequired } = services
  const heldBy = createHeldBy(services)
  return {
    /** The methods that finish a waiting sign-in of this user, the best first. */
    methodsOf: (userId: string) => heldBy(userId),

    /** Undefined if the first proof is enough. */
    nextFor: acceptTransaction(database)(async (sql, userId: string): Promise<Step | undefined> => {
      const held = await heldBy(sql, userId)
      if (!asksForSecondStep(held) && !secondFactorRequired) return undefined
      if (!hasSecondFactor(held)) return { next: 'enrolment', methods: enrolmentMethods, allowsTrustedDevice: false }
      return { next: 'second_factor', methods: held, allowsTrustedDevice: allowsTrustedDevice(held) }
    }),

    hasFactor: async (sql: Transaction, userId: string) => hasSecondFactor(await heldBy(sql, userId)),
  }
}

import type { AccountChangesRoom } from '../account-changes/open-account-changes.js'
import { type Undo, type Undos, undoLifetime } from '../account-changes/undos.js'
import type { ProofStep } from '../contract/factors.js'
import { isRefused } from '../contract/outcome.js'
import {
  type ChangedSecondFactor,
  countingFactors,
  type ProofMethod,
  type SecondFactorMethod,
  secondFactorMethods,
  secondFactors,
} from '../contract/second-factors.js'
import type { MessagesRoom } from '../messages/open-messages.js'
import { acceptTransaction, type Database, type Sql, type Transaction } from '../platform/database/database.js'
import type { UsersRoom } from '../users/open-users.js'
import type { User } from '../users/users.js'
import * as store from './factors.store.js'
import type { Passkeys } from './passkeys.js'
import { type AfterCode, type CodeAttempt, proveCode } from './prove-code.js'
import type { RecoveryCodes } from './recovery-codes.js'
import { type SecretConfirmation, type Totp, totpBefore } from './totp.js'

export type { CodeRefusal } from './prove-code.js'

/** The parts that hold the factors of an account. */
type Parts = { totp: Totp; recoveryCodes: RecoveryCodes; passkeys: Passkeys; undos: Undos }

type Handling = {
  /** Removes it, whoever added it. Returns how many there were. */
  remove: (parts: Parts, sql: Transaction, userId: string) => Promise<number>
  /** What an undo link does: takes back what was added or put in its place while that can be undone. Returns how many have changed. */
  takeBack: (parts: Parts, sql: Transaction, userId: string, openUndos: readonly Undo[]) => Promise<number>
}

/** Removes the app. Its recovery codes prove nothing any more, and the app before it must not come back. */
const removeTotp = async ({ totp, recoveryCodes, undos }: Parts, sql: Transaction, userId: string) => {
  const [wasOn] = await Promise.all([
    totp.remove(sql, userId),
    recoveryCodes.removeAll(sql, userId),
    undos.forgetFormerSecrets(sql, userId),
    store.forgetWrongCodes(sql, userId),
  ])
  return wasOn ? 1 : 0
}

/**
 * What the service does with each second factor of the table in `contract/second-factors`. The app comes before its recovery codes: who loses the
 * app is not told of the codes that went with it.
 */
const handlings: Record<SecondFactorMethod, Handling> = {
  totp: {
    remove: removeTotp,
    takeBack: async (parts, sql, userId, openUndos) => {
      const before = totpBefore(openUndos)
      if (before === 'removed') return removeTotp(parts, sql, userId)
      return before !== 'stays' && (await parts.totp.restore(sql, userId, before)) ? 1 : 0
    },
  },
  recovery_code: {
    remove: ({ recoveryCodes }, sql, userId) => recoveryCodes.removeAll(sql, userId),
    // New codes are removed even if the app stays: a thief may have asked for them.
    takeBack: ({ recoveryCodes }, sql, userId) => recoveryCodes.removeNewerThan(sql, userId, undoLifetime),
  },
  passkey: {
    remove: ({ passkeys }, sql, userId) => passkeys.removeAll(sql, userId),
    takeBack: ({ passkeys }, sql, userId, openUndos) => {
      const added = openUndos.flatMap((undo) => (undo.kind === 'passkey' ? [undo.id] : []))
      return passkeys.removeSome(sql, userId, added)
    },
  },
}

const handled = Object.keys(handlings) as SecondFactorMethod[]

type FactorCounts = Record<SecondFactorMethod, number>

/** Goes through these factors, in the order of the table. Returns how many of each have changed. */
const handleEach = async (methods: readonly SecondFactorMethod[], handle: (handling: Handling) => Promise<number>) => {
  const counts: FactorCounts = { totp: 0, recovery_code: 0, passkey: 0 }
  const removed = handled.filter((method) => methods.includes(method))
  // Sent together, in this order.
  const changed = await Promise.all(removed.map((method) => handle(handlings[method])))
  for (const [place, method] of removed.entries()) counts[method] = changed[place] ?? 0
  return counts
}

/** The names in webhooks of the factors that have changed. */
export const changedFactors = (counts: FactorCounts): ChangedSecondFactor[] =>
  handled.filter((method) => counts[method] > 0).map((method) => secondFactors[method].changedAs)

/** What an account can prove its second factor with, the best first. */
type Held = readonly SecondFactorMethod[]

const asksForSecondStep = (held: Held) => held.some((method) => secondFactors[method].asked)
const hasSecondFactor = (held: Held) => held.some((method) => secondFactors[method].counts)
/** Whether a browser that the user trusts finishes the second step. */
export const allowsTrustedDevice = (held: Held) => held.some((method) => secondFactors[method].trustsBrowser)

type Step = { next: ProofStep; methods: readonly SecondFactorMethod[]; allowsTrustedDevice: boolean }

type Services = UsersRoom &
  MessagesRoom &
  AccountChangesRoom & {
    database: Database
    totp: Totp
    recoveryCodes: RecoveryCodes
    passkeys: Passkeys
    /** The host to which passkeys belong. */
    host: string
    /** Whether every session needs a second factor now, even if the account has none. */
    secondFactorRequired: () => boolean
  }

const selectHeld = async ({ host }: Services, sql: Sql, userId: string) => {
  const rows = await store.selectHeld(sql, userId, host)
  return secondFactorMethods.filter((method) => rows.some((row) => row.method === method && row.isUsable))
}

/**
 * A password is not enough if the account has a second factor. A mail is only for accounts that have nothing else: a person who can read
 * the mails must not get around a password. Where nothing is mailed, or the address was never proven, such an account has no method: a new
 * sign-in with its provider makes a fresh session.
 */
const selectProofs = async (services: Services, sql: Sql, user: User): Promise<ProofMethod[]> => {
  const held = await selectHeld(services, sql, user.id)
  if (held.length > 0) return held
  if (user.passwordHash !== undefined) return ['password']
  return services.mails.isOff || user.emailClaimed ? [] : ['mail']
}

export type Factors = ReturnType<typeof createFactors>

/** What an account proves besides its first factor, and with what. For a change, the caller holds the user's row. */
export const createFactors = (services: Services & Parameters<typeof proveCode>[0]) => {
  const { database, clock, users, totp, recoveryCodes, secondFactorRequired } = services
  const heldBy = acceptTransaction(database)((sql, userId: string) => selectHeld(services, sql, userId))
  const proofsFor = acceptTransaction(database)((sql, user: User) => selectProofs(services, sql, user))

  return {
    heldBy,
    /** Whether the account has something that counts as a second factor. */
    hasFactor: acceptTransaction(database)(async (sql, userId: string) => hasSecondFactor(await heldBy(sql, userId))),
    /** Whether the account cannot lose this factor, because every account needs one, and it has no other. */
    mustKeep: async (sql: Transaction, userId: string, method: SecondFactorMethod) =>
      secondFactorRequired() && !hasSecondFactor((await heldBy(sql, userId)).filter((each) => each !== method)),

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
    /** Removes these second factors, whoever added them: every one, if none is named. Returns how many there were of each. */
    remove: (sql: Transaction, userId: string, methods: readonly SecondFactorMethod[] = handled) =>
      handleEach(methods, ({ remove }) => remove(services, sql, userId)),
    /** Takes these changes of second factors back. `openUndos` begins with the oldest. Returns how many of each have changed. */
    takeBack: (sql: Transaction, userId: string, openUndos: readonly Undo[]) =>
      handleEach(handled, ({ takeBack }) => takeBack(services, sql, userId, openUndos)),
    /** Whether the account has anything that `remove` removes, even if it can prove nothing here. */
    hasAny: acceptTransaction(database)(
      async (sql, userId: string) => (await store.selectHeld(sql, userId, services.host)).length > 0,
    ),
    beginReplacement: totp.beginReplacement,
    confirmReplacement: totp.confirmReplacement,

    /** Undefined while TOTP is off. */
    renewRecoveryCodes: async (sql: Transaction, userId: string) =>
      (await heldBy(sql, userId)).includes('totp') ? recoveryCodes.renew(sql, userId) : undefined,
    hasNewRecoveryCodes: recoveryCodes.hasNewerThan,

    prove: <Result>(attempt: CodeAttempt, work: AfterCode<Result>) => proveCode(services, attempt, work),

    /** The methods that make a session of this user fresh again, the best first. */
    proofsFor,
    /** Undefined if the account is gone or disabled. */
    proofsByUserId: async (userId: string) => {
      const user = await users.findEnabled(userId)
      return user && proofsFor(user)
    },

    /** What a sign-in needs after its first proof. Undefined if the first proof is enough. */
    nextStepFor: acceptTransaction(database)(async (sql, userId: string): Promise<Step | undefined> => {
      const held = await heldBy(sql, userId)
      if (!asksForSecondStep(held) && !secondFactorRequired()) return undefined
      if (!hasSecondFactor(held)) return { next: 'enrolment', methods: countingFactors, allowsTrustedDevice: false }
      return { next: 'second_factor', methods: held, allowsTrustedDevice: allowsTrustedDevice(held) }
    }),

    /** How many seconds the account still waits after wrong codes. 0 if it does not wait. */
    secondsToWait: async (userId: string) => {
      const [row] = await store.selectWait(database, userId, clock.offset())
      return Math.max(0, Math.ceil(row?.seconds ?? 0))
    },
    /** Returns whether the account had wrong codes. */
    forgetWrongCodes: async (sql: Sql, userId: string) => (await store.forgetWrongCodes(sql, userId)).length > 0,
    /** Returns how many accounts had wrong codes. */
    forgetAllWrongCodes: async () => (await store.forgetAllWrongCodes(database)).length,
  }
}

import type { AccountChanges } from '../account-changes/account-changes.js'
import type { CodeMethod } from '../contract/factors.js'
import { isRefused, type Refused, refuse } from '../contract/outcome.js'
import { limiterKey, limiters, userSubject } from '../http/limiters.js'
import type { Client } from '../http/request-origin.js'
import type { Clock } from '../lib/clock.js'
import type { Events } from '../messages/events.js'
import type { Cache, CounterWindow } from '../platform/cache/cache.js'
import {
  commitUnlessRefused,
  type Database,
  type Sql,
  type Transaction,
  undefinedIfUnavailable,
} from '../platform/database/database.js'
import type { User, Users } from '../users/users.js'
import * as store from './factors.store.js'
import type { RecoveryCodes } from './recovery-codes.js'
import { readCode, type TotpSecrets } from './totp.js'

type ProofOutcome = 'accepted' | 'wrong' | 'limited'

/** `retryAfter` is in seconds. */
export type CodeRefusal = Refused<'wrong_second_factor'> | (Refused<'too_many_codes'> & { retryAfter: number })

/**
 * The work that follows a right code, in the transaction that uses the code up. If the work refuses, the code is not used up. `accept` uses
 * the code up. It returns false if the code was used meanwhile, and then the work refuses with `wrong_second_factor`. The user's row is
 * locked.
 */
type Work<Result> = (
  sql: Transaction,
  user: User,
  accept: () => Promise<boolean>,
  method: CodeMethod,
) => Promise<Result>

/** A code as the user typed it. `device`: the known device, if the browser is one. */
type CodeAttempt = { userId: string; code: string; client: Client; device: string | undefined }

type Dependencies = {
  database: Database
  users: Users
  totpSecrets: TotpSecrets
  recoveryCodes: RecoveryCodes
  codeLimit: CodeLimit
  accountChanges: AccountChanges
  events: Events
  onProof: (method: CodeMethod, outcome: ProofOutcome) => void
}

/** Counts a wrong code, and tells the owner if there were several. */
const createRefuseWrong =
  ({ database, users, codeLimit, accountChanges, events, onProof }: Dependencies) =>
  async ({ userId, client }: CodeAttempt, method: CodeMethod): Promise<CodeRefusal> => {
    onProof(method, 'wrong')
    await events.record({ kind: 'second_factor_failed', userId, reason: method }, client)
    const { shouldTellOwner, mustWait } = await codeLimit.noteWrong(userId, method === 'otp')
    if (mustWait) await events.record({ kind: 'rate_limited', userId, reason: 'codes' }, client)
    const owner = shouldTellOwner ? await users.findById(userId) : undefined
    if (owner)
      await database.transaction((sql) => accountChanges.bySignIn(sql, { user: owner, client }, { wrong_codes: {} }))
    return refuse('wrong_second_factor')
  }

const createInTransaction =
  ({ database, users }: Dependencies) =>
  <Result>(
    userId: string,
    method: CodeMethod,
    accept: (sql: Transaction, user: User) => Promise<boolean>,
    work: Work<Result>,
  ) =>
    commitUnlessRefused(database, async (sql) => {
      const user = await users.lockEnabled(sql, userId)
      if (!user) return refuse('wrong_second_factor')
      return work(sql, user, () => accept(sql, user), method)
    })

/** Proves that the user has the second factor, by a code of the app or a recovery code. */
export const createProveCode = (deps: Dependencies) => {
  const { totpSecrets, recoveryCodes, codeLimit, accountChanges, events, onProof } = deps
  const refuseWrong = createRefuseWrong(deps)
  const inTransaction = createInTransaction(deps)

  const proveTotp = async <Result>(attempt: CodeAttempt, work: Work<Result>) => {
    const { userId, code, device } = attempt
    const reservation = await codeLimit.reserve(userId, device)
    if (isRefused(reservation)) {
      onProof('otp', 'limited')
      return reservation
    }
    /** A code that could not be compared, because the store was away, does not stay counted as a wrong one. */
    const giveBackAndThrow = async (error: unknown) => {
      await codeLimit.giveBack(userId, reservation)
      throw error
    }
    const step = await totpSecrets.matchingStep(userId, code).catch(giveBackAndThrow)
    if (step === undefined) return refuseWrong(attempt, 'otp')
    const accept = (sql: Transaction) => totpSecrets.useStep(sql, userId, step)
    const result = await inTransaction(userId, 'otp', accept, work).catch(giveBackAndThrow)
    if (isRefused(result) && result.refused === 'wrong_second_factor') return refuseWrong(attempt, 'otp')
    await codeLimit.giveBack(userId, reservation)
    if (!isRefused(result)) onProof('otp', 'accepted')
    return result
  }

  /** Not limited by wrong codes: the 60 random bits of a recovery code cannot be guessed. docs/decisions.md has the numbers. */
  const proveRecoveryCode = async <Result>(attempt: CodeAttempt, work: Work<Result>) => {
    const { userId, code, client } = attempt
    const accept = async (sql: Transaction, user: User) => {
      if (!(await recoveryCodes.take(sql, userId, code))) return false
      const left = await recoveryCodes.countLeft(sql, userId)
      await accountChanges.bySignIn(sql, { user, client }, { recovery_code_used: { mail: { left } } })
      return true
    }
    const result = await inTransaction(userId, 'rec', accept, work)
    if (!isRefused(result)) onProof('rec', 'accepted')
    return isRefused(result) && result.refused === 'wrong_second_factor' ? refuseWrong(attempt, 'rec') : result
  }

  return async <Result>(attempt: CodeAttempt, work: Work<Result>): Promise<Result | CodeRefusal> => {
    const { userId, client } = attempt
    const typedCode = readCode(attempt.code)
    if (!typedCode) {
      await events.record({ kind: 'second_factor_failed', userId, reason: 'malformed' }, client)
      return refuse('wrong_second_factor')
    }
    const prove = typedCode.method === 'otp' ? proveTotp : proveRecoveryCode
    return prove({ ...attempt, code: typedCode.code }, work)
  }
}

/** After this many wrong codes in a day the owner gets a mail, and no second mail on that day. */
const wrongBeforeMail = 3

/** The counter in which a code was counted. */
type CodeReservation = { at: 'account' } | { at: 'device'; key: string; window: CounterWindow }

export type CodeLimit = ReturnType<typeof createCodeLimit>

/**
 * Limits the wrong codes of an account, from all clients together. The known devices of an account share a limit of their own, so that
 * guesses of others do not make their user wait. When it is used up, they count as unknown. Passwords are counted elsewhere.
 */
export const createCodeLimit = ({ database, cache, clock }: { database: Database; cache: Cache; clock: Clock }) => ({
  /** Counts the code as wrong until `giveBack`, so that parallel requests can try no more codes than requests one after another. */
  reserve: async (userId: string, device: string | undefined) => {
    if (device !== undefined) {
      const key = limiterKey('device_codes', userSubject(userId))
      const { granted, window } = await cache.reserve(key, limiters.device_codes.limit)
      if (granted) return { at: 'device', key, window } satisfies CodeReservation
    }
    const [countedRow] = await store.reserve(database, userId, clock.offset())
    if (countedRow) return { at: 'account' } satisfies CodeReservation
    const [row] = await store.selectWait(database, userId, clock.offset())
    return refuse('too_many_codes', { retryAfter: Math.max(1, Math.ceil(row?.seconds ?? 1)) })
  },
  /** If the store cannot do it, the code stays counted. A sign-in that has just been made must not fail because of that. */
  giveBack: async (userId: string, reservation: CodeReservation) => {
    if (reservation.at === 'device') await cache.refund([reservation])
    else await store.giveBack(database, userId).catch(undefinedIfUnavailable)
  },
  /** Counts a wrong code of the day. Returns whether the owner has to be told, and whether the account must wait from now on. */
  noteWrong: async (userId: string, isTotp: boolean) => {
    const [row] = await store.noteWrong(database, userId, clock.offset(), isTotp)
    return { shouldTellOwner: row?.wrong === wrongBeforeMail, mustWait: isTotp && row?.waits === true }
  },
  forget: async (sql: Sql, userId: string) => {
    await store.forget(sql, userId)
  },
})

/** The waits of accounts after wrong codes, for an operator. */
export const createCodeWaits = ({ database, clock }: { database: Database; clock: Clock }) => ({
  /** How many seconds the account still waits. 0 if it does not wait. */
  secondsLeft: async (userId: string) => {
    const [row] = await store.selectWait(database, userId, clock.offset())
    return Math.max(0, Math.ceil(row?.seconds ?? 0))
  },
  /** Returns whether the account had wrong codes. */
  forget: async (sql: Sql, userId: string) => (await store.forget(sql, userId)).length > 0,
  /** Returns how many accounts had wrong codes. */
  forgetAll: async () => (await store.forgetAll(database)).length,
})

import type { AccountChangesRoom } from '../account-changes/open-account-changes.js'
import type { CodeMethod } from '../contract/factors.js'
import { isRefused, type Refused, refuse } from '../contract/outcome.js'
import { factorProvenBy } from '../contract/second-factors.js'
import { limiterKey, limiters, userSubject } from '../http/limiters.js'
import type { Client } from '../http/request-origin.js'
import type { Clock } from '../lib/clock.js'
import type { MessagesRoom } from '../messages/open-messages.js'
import type { Cache, CounterWindow } from '../platform/cache/cache.js'
import {
  commitUnlessRefused,
  type Database,
  type Transaction,
  undefinedIfUnavailable,
} from '../platform/database/database.js'
import type { UsersRoom } from '../users/open-users.js'
import type { User } from '../users/users.js'
import * as store from './factors.store.js'
import { type RecoveryCodes, readCode } from './recovery-codes.js'
import type { Totp } from './totp.js'

/** `too_many_requests`: the account waits after wrong codes, so this code was not compared. `retryAfter` is in seconds. */
export type CodeRefusal = Refused<'wrong_second_factor'> | (Refused<'too_many_requests'> & { retryAfter: number })

/** A code as the user typed it. `device`: the known device, if the browser is one. */
export type CodeAttempt = { userId: string; code: string; client: Client; device: string | undefined }

/**
 * The work that follows a right code, in the transaction that uses the code up. If the work refuses, the code is not used up. `accept` uses
 * the code up. It returns false if the code was used meanwhile, and then the work refuses with `wrong_second_factor`. The user's row is
 * locked.
 */
export type AfterCode<Result> = (
  sql: Transaction,
  user: User,
  accept: () => Promise<boolean>,
  method: CodeMethod,
) => Promise<Result>

type Services = UsersRoom &
  MessagesRoom &
  AccountChangesRoom & {
    database: Database
    cache: Cache
    clock: Clock
    totp: Totp
    recoveryCodes: RecoveryCodes
    onProof: (method: CodeMethod, outcome: 'accepted' | 'wrong' | 'limited') => void
  }

/** Proves that the user has the second factor, by a code of the app or a recovery code. */
export const proveCode = async <Result>(
  services: Services,
  attempt: CodeAttempt,
  work: AfterCode<Result>,
): Promise<Result | CodeRefusal> => {
  const { userId, client } = attempt
  const typedCode = readCode(attempt.code)
  if (!typedCode) {
    await services.events.record({ kind: 'second_factor_failed', userId, reason: 'malformed' }, client)
    return refuse('wrong_second_factor')
  }
  return codeProofs[typedCode.method](services, { ...attempt, code: typedCode.code }, work)
}

const proveTotp = async <Result>(services: Services, attempt: CodeAttempt, work: AfterCode<Result>) => {
  const { totp, onProof } = services
  const { userId, code, device } = attempt
  const reservation = await reserve(services, userId, device)
  if (isRefused(reservation)) {
    onProof('otp', 'limited')
    return reservation
  }
  /** A code that could not be compared, because the store was away, does not stay counted as a wrong one. */
  const giveBackAndThrow = async (error: unknown) => {
    await giveBack(services, userId, reservation)
    throw error
  }
  const step = await totp.matchingStep(userId, code).catch(giveBackAndThrow)
  if (step === undefined) return refuseWrong(services, attempt, 'otp')
  const accept = (sql: Transaction) => totp.useStep(sql, userId, step)
  const result = await inTransaction(services, userId, 'otp', accept, work).catch(giveBackAndThrow)
  if (isRefused(result) && result.refused === 'wrong_second_factor') return refuseWrong(services, attempt, 'otp')
  await giveBack(services, userId, reservation)
  if (!isRefused(result)) onProof('otp', 'accepted')
  return result
}

/** Not limited by wrong codes: the 60 random bits of a recovery code cannot be guessed. docs/decisions.md has the numbers. */
const proveRecoveryCode = async <Result>(services: Services, attempt: CodeAttempt, work: AfterCode<Result>) => {
  const { recoveryCodes, accountChanges, onProof } = services
  const { userId, code, client } = attempt
  const accept = async (sql: Transaction, user: User) => {
    if (!(await recoveryCodes.take(sql, userId, code))) return false
    const left = await recoveryCodes.countLeft(sql, userId)
    await accountChanges.bySignIn(sql, { user, client }, { recovery_code_used: { mail: { left } } })
    return true
  }
  const result = await inTransaction(services, userId, 'rec', accept, work)
  if (!isRefused(result)) onProof('rec', 'accepted')
  return isRefused(result) && result.refused === 'wrong_second_factor' ? refuseWrong(services, attempt, 'rec') : result
}

const codeProofs = { otp: proveTotp, rec: proveRecoveryCode } as const satisfies Record<CodeMethod, typeof proveTotp>

const inTransaction = <Result>(
  { database, users }: Services,
  userId: string,
  method: CodeMethod,
  accept: (sql: Transaction, user: User) => Promise<boolean>,
  work: AfterCode<Result>,
) =>
  commitUnlessRefused(database, async (sql) => {
    const user = await users.lockEnabled(sql, userId)
    if (!user) return refuse('wrong_second_factor')
    return work(sql, user, () => accept(sql, user), method)
  })

/** After this many wrong codes in a day the owner gets a mail, and no second mail on that day. */
const wrongBeforeMail = 3

/** Counts a wrong code, and tells the owner if there were several. */
const refuseWrong = async (
  { database, clock, users, accountChanges, events, onProof }: Services,
  { userId, client }: CodeAttempt,
  method: CodeMethod,
): Promise<CodeRefusal> => {
  onProof(method, 'wrong')
  await events.record({ kind: 'second_factor_failed', userId, reason: method }, client)
  const makesWait = factorProvenBy(method)?.wrongTries === 'make the account wait'
  const [row] = await store.noteWrong(database, userId, clock.offset(), makesWait)
  if (makesWait && row?.waits === true) await events.record({ kind: 'rate_limited', userId, reason: 'codes' }, client)
  const owner = row?.wrong === wrongBeforeMail ? await users.findById(userId) : undefined
  if (owner)
    await database.transaction((sql) => accountChanges.bySignIn(sql, { user: owner, client }, { wrong_codes: {} }))
  return refuse('wrong_second_factor')
}

/** The counter in which a code was counted. */
type CodeReservation = { at: 'account' } | { at: 'device'; key: string; window: CounterWindow }

/**
 * Counts a code as wrong until `giveBack`, so that parallel requests can try no more codes than requests one after another. The wrong codes
 * of an account are counted from all clients together. The known devices of an account share a limit of their own, so that guesses of
 * others do not make their user wait. When it is used up, they count as unknown.
 */
const reserve = async ({ database, cache, clock }: Services, userId: string, device: string | undefined) => {
  if (device !== undefined) {
    const key = limiterKey('device_codes', userSubject(userId))
    const { granted, window } = await cache.reserve(key, limiters.device_codes.limit)
    if (granted) return { at: 'device', key, window } satisfies CodeReservation
  }
  const [countedRow] = await store.reserve(database, userId, clock.offset())
  if (countedRow) return { at: 'account' } satisfies CodeReservation
  const [row] = await store.selectWait(database, userId, clock.offset())
  return refuse('too_many_requests', { retryAfter: Math.max(1, Math.ceil(row?.seconds ?? 1)) })
}

/** If the store cannot do it, the code stays counted. A sign-in that has just been made must not fail because of that. */
const giveBack = async ({ database, cache }: Services, userId: string, reservation: CodeReservation) => {
  if (reservation.at === 'device') await cache.refund([reservation])
  else await store.giveBack(database, userId).catch(undefinedIfUnavailable)
}

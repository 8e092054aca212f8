import type { AccountChanges } from '../account-changes/account-changes.js'
import type { CodeMethod } from '../contract/factors.js'
import { isRefused, type Refused, refuse } from '../contract/outcome.js'
import type { Client } from '../http/request-origin.js'
import type { Events } from '../messages/events.js'
import { commitUnlessRefused, type Database, type Transaction } from '../platform/database/database.js'
import type { User, Users } from '../users/users.js'
import { readCode } from './code-format.js'
import type { CodeLimit } from './code-limit.js'
import type { RecoveryCodes } from './recovery-codes.js'
import type { TotpSecrets } from './totp-secrets.js'

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
  users: Pick<Users, 'lockEnabled' | 'findById'>
  totpSecrets: TotpSecrets
  recoveryCodes: RecoveryCodes
  codeLimit: CodeLimit
  accountChanges: Pick<AccountChanges, 'bySignIn'>
  events: Pick<Events, 'record'>
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

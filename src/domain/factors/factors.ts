import type { CodeMethod, SecondFactorMethod } from '../../contract/factors.js'
import { isRefused, type Refused, refuse } from '../../contract/outcome.js'
import { type Clock, later } from '../../lib/clock.js'
import { minutes } from '../../lib/durations.js'
import { fingerprint } from '../../lib/random.js'
import type { Cache } from '../../platform/cache/cache.js'
import { commitUnlessRefused } from '../../platform/database/commit-unless-refused.js'
import type { Database, Sql, Transaction } from '../../platform/database/database.js'
import { createOptionalTransaction } from '../../platform/database/optional-transaction.js'
import type { AccountChanges } from '../accounts/account-changes.js'
import type { Events } from '../events/events.js'
import { pendingTotpColumn, totpColumn } from '../sealed-values/sealed-columns.js'
import type { SealedValues } from '../sealed-values/sealed-values.js'
import type { Client } from '../sessions/client.js'
import type { User, Users } from '../users/users.js'
import { createCodeLimit } from './code-limit.js'
import * as store from './factors.store.js'
import { newRecoveryCodes, readCode } from './recovery-codes.js'
import { newSecret, otpauthUri, stepOf } from './totp.js'

const pendingLifetime = 10 * minutes

type ProofOutcome = 'accepted' | 'wrong' | 'limited'

/** `retryAfter` in seconds. */
export type CodeRefusal = Refused<'wrong_second_factor'> | (Refused<'too_many_codes'> & { retryAfter: number })

/**
 * What follows from a right code, in one transaction with using it up: a refusal uses nothing up. `accept` uses the code: false if it was used in the
 * meantime, and then the work refuses with `wrong_second_factor`. The user's row is locked.
 */
type Work<Result> = (
  sql: Transaction,
  user: User,
  accept: () => Promise<boolean>,
  method: CodeMethod,
) => Promise<Result>

/** A code as it was typed. `device` is what is known of the browser. */
type CodeAttempt = { userId: string; code: string; client: Client; device: string | undefined }

type Dependencies = {
  database: Database
  cache: Cache
  clock: Clock
  users: Pick<Users, 'lockEnabled' | 'findById'>
  sealedValues: SealedValues
  accountChanges: Pick<AccountChanges, 'bySignIn'>
  events: Pick<Events, 'record'>
  /** The name that an authenticator app shows. */
  productName: string
  onProof?: (method: CodeMethod, outcome: ProofOutcome) => void
}

export type Factors = ReturnType<typeof createFactors>

/** TOTP and recovery codes of an account. */
export const createFactors = (deps: Dependencies) => {
  const { database, cache, clock, users, sealedValues, accountChanges, events, productName } = deps
  const onProof = deps.onProof ?? (() => undefined)
  const codeLimit = createCodeLimit({ database, cache, clock })
  const confirmed = sealedValues.of(totpColumn)
  const pending = sealedValues.of(pendingTotpColumn)

  /** A value that does not open is a broken row, never "no factor". */
  const opened = (secret: string | undefined) => {
    if (secret === undefined) throw new Error('A TOTP secret in the database cannot be opened')
    return secret
  }

  const optionalTransaction = createOptionalTransaction(database)

  const find = optionalTransaction(async (sql, userId: string) => {
    const [row] = await store.selectTotp(sql, userId, clock.offset())
    return row
  })

  const writeRecoveryCodes = async (sql: Transaction, userId: string) => {
    const codes = newRecoveryCodes()
    await store.deleteRecoveryCodes(sql, userId)
    await store.insertRecoveryCodes(
      sql,
      userId,
      codes.map((code) => fingerprint(code.replaceAll('-', ''))),
      clock.offset(),
    )
    return codes
  }

  const recoveryCodesLeft = optionalTransaction(async (sql, userId: string) => {
    const [row] = await store.countRecoveryCodes(sql, userId)
    return row?.left ?? 0
  })

  const methodsOf = optionalTransaction(async (sql, userId: string): Promise<SecondFactorMethod[]> => {
    if (!(await find(sql, userId))) return []
    return (await recoveryCodesLeft(sql, userId)) > 0 ? ['totp', 'recovery_code'] : ['totp']
  })

  /** The secret for the session to confirm, and what the QR code holds. Undefined while TOTP is on. */
  const begin = async ({ userId, sessionId, account }: { userId: string; sessionId: string; account: string }) => {
    if (await find(userId)) return refuse('totp_is_on')
    const secret = newSecret()
    const expiresAt = later(clock.now(), pendingLifetime)
    await store.replacePending(database, { userId, sessionId, secret: pending.seal(userId, secret), expiresAt })
    return { secret, uri: otpauthUri(secret, { issuer: productName, account }) }
  }

  /**
   * Switches TOTP on. The caller holds a lock on the user's row. The code that confirms it is used up.
   */
  const confirm = async (
    sql: Transaction,
    { userId, sessionId, code }: { userId: string; sessionId: string; code: string },
  ) => {
    if (await find(sql, userId)) return refuse('totp_is_on')
    const read = readCode(code)
    const [row] = await store.selectPending(sql, { userId, sessionId, now: clock.now(), clockOffset: clock.offset() })
    if (!row) return refuse('no_totp_begun')
    const secret = opened(pending.open(userId, row.secret))
    const step = read?.method === 'otp' ? stepOf(secret, read.code, row.seconds) : undefined
    if (step === undefined) return refuse('wrong_second_factor')
    await store.insertTotp(sql, { userId, secret: confirmed.seal(userId, secret), step, clockOffset: clock.offset() })
    await store.deletePending(sql, userId)
    await codeLimit.forget(sql, userId)
    return { recoveryCodes: await writeRecoveryCodes(sql, userId) }
  }

  /** False if it was off. The caller holds a lock on the user's row. */
  const remove = async (sql: Transaction, userId: string) => {
    const removed = await store.deleteTotp(sql, userId)
    await store.deleteRecoveryCodes(sql, userId)
    await codeLimit.forget(sql, userId)
    return removed.length > 0
  }

  const refuseWrong = async ({ userId, client }: CodeAttempt, method: CodeMethod): Promise<CodeRefusal> => {
    onProof(method, 'wrong')
    await events.record({ kind: 'second_factor_failed', userId, reason: method }, client)
    const { tellsOwner, waits } = await codeLimit.noteWrong(userId, method === 'otp')
    if (waits) await events.record({ kind: 'rate_limited', userId, reason: 'codes' }, client)
    if (tellsOwner) {
      const user = await users.findById(userId)
      if (user) await database.transaction((sql) => accountChanges.bySignIn(sql, { user, client }, { wrong_codes: {} }))
    }
    return refuse('wrong_second_factor')
  }

  const proveInside = <Result>(
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

  const proveTotp = async <Result>(request: CodeAttempt, work: Work<Result>) => {
    const { userId, code, device } = request
    const counted = await codeLimit.reserve(userId, device)
    if (isRefused(counted)) {
      onProof('otp', 'limited')
      return counted
    }
    const row = await find(userId)
    const step = row && stepOf(opened(confirmed.open(userId, row.secret)), code, row.seconds)
    if (step === undefined) return refuseWrong(request, 'otp')
    const accept = async (sql: Sql) => (await store.acceptStep(sql, userId, step)).length > 0
    const result = await proveInside(userId, 'otp', accept, work)
    if (isRefused(result) && result.refused === 'wrong_second_factor') return refuseWrong(request, 'otp')
    await codeLimit.giveBack(userId, counted)
    if (!isRefused(result)) onProof('otp', 'accepted')
    return result
  }

  /** Not stopped by wrong codes of others: 120 random bits cannot be guessed. */
  const proveRecoveryCode = async <Result>(request: CodeAttempt, work: Work<Result>) => {
    const { userId, code, client } = request
    const accept = async (sql: Transaction, user: User) => {
      if ((await store.takeRecoveryCode(sql, userId, fingerprint(code))).length === 0) return false
      const left = await recoveryCodesLeft(sql, userId)
      await accountChanges.bySignIn(sql, { user, client }, { recovery_code_used: { mail: { left } } })
      return true
    }
    const result = await proveInside(userId, 'rec', accept, work)
    if (isRefused(result)) {
      return result.refused === 'wrong_second_factor' ? refuseWrong(request, 'rec') : result
    }
    onProof('rec', 'accepted')
    return result
  }

  /** Proves that the user has the second factor, by a code of the app or a recovery code. */
  const prove = async <Result>(request: CodeAttempt, work: Work<Result>): Promise<Result | CodeRefusal> => {
    const read = readCode(request.code)
    if (!read) {
      await events.record({ kind: 'second_factor_failed', userId: request.userId, reason: 'malformed' }, request.client)
      return refuse('wrong_second_factor')
    }
    const proveIt = read.method === 'otp' ? proveTotp : proveRecoveryCode
    return proveIt({ ...request, code: read.code }, work)
  }

  return {
    /** What proves it; nothing while TOTP is off. */
    methodsOf,
    hasTotp: optionalTransaction(async (sql, userId: string) => (await find(sql, userId)) !== undefined),
    /** What `GET /api/auth/factors` shows of them. */
    describe: async (userId: string) => ({
      totp: (await find(userId))?.created_at,
      recoveryCodesLeft: await recoveryCodesLeft(userId),
    }),
    begin,
    confirm,
    remove,
    /** Recovery codes that are younger than this, in milliseconds. False if there are none. */
    removeNewRecoveryCodes: async (sql: Transaction, userId: string, age: number) =>
      (await store.deleteNewRecoveryCodes(sql, userId, age, clock.offset())).length > 0,
    hasNewRecoveryCodes: async (userId: string, age: number) => {
      const [row] = await store.countNewRecoveryCodes(database, userId, age, clock.offset())
      return (row?.count ?? 0) > 0
    },
    /** Undefined while TOTP is off. The caller holds a lock on the user's row. */
    renewRecoveryCodes: async (sql: Transaction, userId: string) => {
      if (!(await find(sql, userId))) return undefined
      return writeRecoveryCodes(sql, userId)
    },
    prove,
  }
}

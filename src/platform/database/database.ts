import { isRefused, type Refused } from '../../contract/outcome.js'
import type { RefusalCode } from '../../contract/refusals.js'
import { codeOf } from '../../lib/caught.js'
import { OperatorError } from '../../lib/operator-error.js'

/**
 * Runs statements: the database itself, or a transaction on it. It is the first parameter of store functions.
 *
 * Out: bigint is a number (a BigInt beyond 2^53), numeric a string, json and jsonb
 * the parsed value, bytea a Buffer, timestamptz a Date, uuid a string, an array an array. In: the same values; null for
 * nothing, never undefined; a json parameter is the value itself and not its text.
 */
export type Sql = {
  query<Row = Record<string, unknown>>(text: string, parameters?: readonly unknown[]): Promise<Row[]>
}

export type Transaction = Sql & {
  /** Runs a text of several statements without parameters, such as the file of a migration. */
  script(text: string): Promise<void>
  /**
   * For statements whose answers the work does not need, each sent already: what comes next, at last the commit, is sent behind them without
   * waiting. If one of them fails, the transaction is rolled back and rejects with its error.
   */
  unawaited(...statements: Promise<unknown>[]): void
  /** Calls `follow` once the commit is confirmed, and never after a rollback. It is for changes in memory. */
  afterCommit(follow: () => void): void
}

export type Database = Sql & {
  /**
   * Commits when `work` resolves, rolls back when it rejects. Inside, use the handle that `work` is given and await
   * statements only: others may wait for its connection and its locks. Using the outer handle inside rejects at once.
   */
  transaction<Result>(work: (sql: Transaction) => Promise<Result>): Promise<Result>
  /** Rejects unless the database can commit and its disk has space left. */
  ping(): Promise<void>
  /** How many connections are open, how many of them are busy, and how many statements wait for one. */
  stats?(): { open: number; busy: number; waiting: number }
  /** The host and port of a server, for messages. */
  readonly address?: string
  close(): Promise<void>
}

/** The store cannot be reached or gave up. The request may be fine: the caller may try again later. */
export class StoreUnavailable extends OperatorError {
  override name = 'StoreUnavailable'
}

/** For the `catch` of a promise: the caller goes on without a result while the store is unavailable. */
export const undefinedIfUnavailable = (error: unknown) => {
  if (error instanceof StoreUnavailable) return undefined
  throw error
}

/** The caller used a transaction in a way that would hang, or whose writes would be lost. This is always a bug. */
export class TransactionMisuse extends Error {
  override name = 'TransactionMisuse'
}

/** The row that the statement refers to was deleted in the meantime. */
export const isForeignKeyViolation = (error: unknown) => codeOf(error) === '23503'

/** A table is missing, or this role has no right to it: a backup was restored while the service ran, and `latchkey migrate` is due. */
export const isUnusableTable = (error: unknown) => ['42P01', '42501'].includes(codeOf(error) ?? '')

/** Two statements wanted the same value of this constraint at once, and this one came second. */
export const isUniqueViolation = (error: unknown, constraint: string) =>
  codeOf(error) === '23505' &&
  error instanceof Error &&
  'constraint_name' in error &&
  error.constraint_name === constraint

const isTransaction = (sql: Sql): sql is Transaction => 'afterCommit' in sql

/** Calls `follow` once the transaction is committed, or at once outside of a transaction. It is for changes in memory. */
export const afterCommit = (sql: Sql, follow: () => void) => {
  if (isTransaction(sql)) sql.afterCommit(follow)
  else follow()
}

type Statement<Parameters extends unknown[], Result> = {
  (...parameters: Parameters): Result
  (sql: Sql, ...parameters: Parameters): Result
}

const isSql = (value: unknown): value is Sql => typeof value === 'object' && value !== null && 'query' in value

/** Makes a function that can be called with a transaction as its first parameter, or without one. */
export const acceptTransaction =
  (database: Database) =>
  <Parameters extends unknown[], Result>(run: (sql: Sql, ...parameters: Parameters) => Result) => {
    const withOrWithout = (...given: unknown[]) => {
      const [first, ...parameters] = given
      return isSql(first) ? run(first, ...(parameters as Parameters)) : run(database, ...(given as Parameters))
    }
    return withOrWithout as Statement<Parameters, Result>
  }

class RolledBack extends Error {
  override name = 'RolledBack'
  readonly refusal: Refused
  constructor(refusal: Refused) {
    super(`refused: ${refusal.refused}`)
    this.refusal = refusal
  }
}

/** Runs `work` in one transaction, which is rolled back if `work` refuses. */
export const commitUnlessRefused = async <Outcome>(
  database: Database,
  work: (sql: Transaction) => Promise<Outcome>,
): Promise<Outcome> => {
  try {
    return await database.transaction(async (sql) => {
      const outcome = await work(sql)
      if (isRefused(outcome)) throw new RolledBack(outcome)
      return outcome
    })
  } catch (error) {
    if (error instanceof RolledBack) return error.refusal as Outcome
    throw error
  }
}

/**
 * Rolls back a change by an administrator or a program that may not make it. It is an exception because the check is made where the event
 * of the change is recorded, so that no change can leave the check out.
 */
export class ActorRefused extends Error {
  override name = 'ActorRefused'

  readonly refused: Extract<RefusalCode, 'not_found' | 'administrators_account'>

  constructor(refused: ActorRefused['refused']) {
    super(`The actor may not make this change: ${refused}`)
    this.refused = refused
  }
}

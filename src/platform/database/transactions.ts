import { AsyncLocalStorage } from 'node:async_hooks'
import { asError, type Beginning, type Connection, proveCommit } from './connection.js'
import { type Database, StoreUnavailable, type Transaction, TransactionMisuse } from './database.js'
import type { Pool } from './pool.js'
import { createSpaceWatch } from './space-watch.js'

type Dependencies = {
  pool: Pool
  /** How long a transaction may be idle between two statements. Others may wait for its locks or its connection. */
  idleInTransactionMs: number
  closeGraceMs: number
}

/** The database on a pool of connections. */
export const createPooledDatabase = ({ pool, idleInTransactionMs, closeGraceMs }: Dependencies): Database => {
  const currentTransaction = new AsyncLocalStorage<{ ended: boolean }>()
  let openTransactions = 0

  // AsyncLocalStorage is disabled while no transaction is open. Node 20 tracks every promise for it, which makes an access check a fifth
  // slower.
  const leaveTransaction = () => {
    openTransactions -= 1
    if (openTransactions === 0) currentTransaction.disable()
  }

  const throwInsideTransaction = () => {
    const transaction = currentTransaction.getStore()
    if (!transaction || transaction.ended) return
    throw new TransactionMisuse(
      'A transaction is open here: use the handle that it was given, since the database itself may wait for its end',
    )
  }

  const runInTransaction: Database['transaction'] = async (work) => {
    const state = { ended: false, fault: undefined }
    openTransactions += 1
    try {
      return await pool.use((connection) =>
        runTransaction(connection, state, idleInTransactionMs, (sql) => currentTransaction.run(state, work, sql)),
      )
    } finally {
      leaveTransaction()
    }
  }

  const space = createSpaceWatch({ transaction: runInTransaction })
  const run = async <Result>(statement: () => Promise<Result>) => {
    throwInsideTransaction()
    try {
      return await statement()
    } catch (error) {
      space.notice(error)
      throw error
    }
  }

  return {
    query: (text, parameters) => run(() => pool.use((connection) => connection.query(text, parameters))),
    transaction: (work) => run(() => runInTransaction(work)),
    ping: async () => {
      throwInsideTransaction()
      await pool.use(proveCommit)
      await space.prove()
    },
    stats: pool.stats,
    close: () => pool.close(closeGraceMs),
  }
}

type TransactionState = Beginning & { ended: boolean }

/** The first statement begins the transaction. */
const runTransaction = async <Result>(
  connection: Connection,
  state: TransactionState,
  idleMs: number,
  work: (sql: Transaction) => Promise<Result>,
): Promise<Result> => {
  const statements = createStatements(connection, state, idleMs)
  let result: Result
  try {
    result = await Promise.race([work(statements.sql), statements.idleTooLong])
    state.ended = true
    await statements.commit()
  } catch (error) {
    state.ended = true
    if (statements.isOpen()) await rollBack(connection)
    throw error
  } finally {
    statements.stop()
  }
  for (const follow of statements.afterCommitCalls) follow()
  return result
}

const rollBack = async (connection: Connection) => {
  try {
    if (connection.isOpen()) await connection.script('rollback')
  } catch {
    // The connection is broken, so the server rolls the transaction back. The first error says more than this one.
    connection.destroy(new StoreUnavailable('The transaction could not be rolled back'))
  }
}

const createStatements = (connection: Connection, state: TransactionState, idleMs: number) => {
  const runningStatements = new Set<Promise<unknown>>()
  const unawaited: Promise<unknown>[] = []
  const afterCommitCalls: (() => void)[] = []
  let hasAny = false
  let isCommitSent = false
  let failure: Error | undefined
  let timer: NodeJS.Timeout | undefined
  let expire = () => {}
  const idleTooLong = new Promise<never>((_, reject) => {
    expire = () => reject(new StoreUnavailable('A transaction was left open without a statement for too long'))
  })
  idleTooLong.catch(() => undefined)
  const startIdleTimer = () => {
    clearTimeout(timer)
    if (!state.ended && runningStatements.size === 0) timer = setTimeout(expire, idleMs)
  }

  const track = async <Result>(run: () => Promise<Result>): Promise<Result> => {
    if (state.ended) throw new TransactionMisuse('This transaction has ended: its handle cannot be used any more')
    clearTimeout(timer)
    hasAny = true
    let statement: Promise<Result> | undefined
    try {
      statement = run()
      runningStatements.add(statement)
      return await statement
    } catch (error) {
      // A statement that was sent together with the one that failed may be the first to hear that the transaction is aborted.
      const onlyFollows = error instanceof Error && 'code' in error && error.code === '25P02'
      if (onlyFollows) await Promise.allSettled(runningStatements)
      failure ??= asError(error)
      throw onlyFollows ? failure : error
    } finally {
      if (statement) runningStatements.delete(statement)
      startIdleTimer()
    }
  }

  const throwFailure = () => {
    if (failure) throw failure
  }

  startIdleTimer()
  return {
    sql: {
      query: <Row>(text: string, parameters?: readonly unknown[]) =>
        track(() => connection.queryInTransaction<Row>(state, text, parameters)),
      script: (text: string) =>
        track(async () => {
          if (!connection.isInTransaction()) await connection.script('begin')
          await connection.script(text)
        }),
      unawaited: (...sent: Promise<unknown>[]) => {
        unawaited.push(...sent)
        for (const each of sent) each.catch(() => undefined)
      },
      afterCommit: (follow: () => void) => void afterCommitCalls.push(follow),
    },
    afterCommitCalls,
    idleTooLong,
    isOpen: () => hasAny && !isCommitSent,
    /** Sent behind the statements that are under way. If one of them fails, PostgreSQL answers the commit with a rollback. */
    commit: async () => {
      throwFailure()
      isCommitSent = runningStatements.size > 0 || connection.isInTransaction()
      const answer = isCommitSent ? connection.script('commit') : undefined
      answer?.catch(() => undefined)
      // The connection is free when the commit is answered, and not before: another transaction would go on in this one.
      await Promise.allSettled([...runningStatements, ...unawaited, answer])
      // Also if the work has ignored the error.
      throwFailure()
      await Promise.all(unawaited)
      if (answer && (await answer) !== 'COMMIT')
        throw new TransactionMisuse('The transaction ended itself: leave commit and rollback to it')
    },
    stop: () => clearTimeout(timer),
  }
}

import { seconds } from '../../lib/durations.js'
import { withTimeout } from '../../lib/with-timeout.js'
import type { Connection } from './connection.js'
import { StoreUnavailable } from './database.js'
import type { Pool } from './embedded-pool.js'
import { rollBack } from './transactions.js'

export type TurnParts = {
  pool: Pool
  /** Sends one batch of messages and resolves to its answer. Only the holder of the connection may call this. */
  exchange(bytes: Buffer): Promise<Buffer>
  /** How long a statement may take. A transaction gets no further statement after this time. */
  statementTimeoutMs: number
}

/** How long a command may pause in a transaction. In the meantime every request waits for the connection. */
const longestIdle = 10 * seconds

/** The last byte of every answer (in ReadyForQuery) is the state of the transaction: `I` for none. */
const isBetweenTransactions = (answer: Buffer) => answer.at(-1) === 'I'.charCodeAt(0)

/** The service and its commands share one session, so what a command has set in it must not stay for the service. */
const resetSession = async (connection: Connection) => {
  try {
    if (connection.isOpen()) await connection.reset()
  } catch {
    connection.destroy(new StoreUnavailable('The session of a command could not be reset'))
  }
}

/** Sends an answer to the command inside its transaction, and reads its next batch. The batch is undefined if the command has ended. */
type SendAndRead = (answer: Buffer) => Promise<Buffer | undefined>

/**
 * Gives a command the one connection for a statement or a whole transaction. Resolves with the last answer, which is sent when the
 * connection is free for others again. If the command ends inside its transaction or takes too long, the transaction is rolled back and
 * the result is undefined.
 */
export const createRunTurn =
  ({ pool, exchange, statementTimeoutMs }: TurnParts) =>
  (first: Buffer, sendAndRead: SendAndRead) =>
    pool.use(async (connection) => {
      const deadline = performance.now() + statementTimeoutMs
      let isFinished = false
      try {
        let answer = await answerInTime(connection, exchange(first), statementTimeoutMs)
        while (!isBetweenTransactions(answer)) {
          const batch = await withTimeout(
            sendAndRead(answer),
            Math.min(longestIdle, statementTimeoutMs),
            () => undefined,
          )
          if (batch === undefined || performance.now() > deadline) return undefined
          answer = await answerInTime(connection, exchange(batch), statementTimeoutMs)
        }
        isFinished = true
        return answer
      } finally {
        if (!isFinished) await rollBack(connection)
        await resetSession(connection)
      }
    })

const answerInTime = (connection: Connection, answer: Promise<Buffer>, timeoutMs: number) =>
  withTimeout(answer, timeoutMs, () => {
    connection.giveUp()
    return answer
  })

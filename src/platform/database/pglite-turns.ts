import { seconds } from '../../lib/durations.js'
import { withTimeout } from '../../lib/with-timeout.js'
import type { Connection } from './connection.js'
import { StoreUnavailable } from './database.js'
import type { Pool } from './pool.js'
import { rollBack } from './pooled-database.js'

export type TurnParts = {
  pool: Pool
  /** One batch of messages and its answer; only for the holder of the connection. */
  exchange(bytes: Buffer): Promise<Buffer>
  /** For one statement, and for all of a transaction: no further one is taken after this time. */
  statementTimeoutMs: number
}

/** A command that is paused in a transaction keeps every request from the database. */
const longestIdle = 10 * seconds

/** Every answer ends with ReadyForQuery, and that with the state of the transaction. */
const isBetweenTransactions = (answer: Buffer) => answer.at(-1) === 'I'.charCodeAt(0)

/** The service and its commands share one session: what a command sets in it must not change what the service does. */
const resetSession = async (connection: Connection) => {
  try {
    if (connection.isOpen()) await connection.reset()
  } catch {
    connection.destroy(new StoreUnavailable('The session of a command could not be reset'))
  }
}

/** One round of a command inside its transaction: it takes an answer, and asks again; undefined if it has gone. */
type GoOn = (answer: Buffer) => Promise<Buffer | undefined>

/**
 * Gives a command the one connection for a statement or a whole transaction. Resolves with the last answer, which can be sent
 * while others have the connection again, or with undefined if the command left its transaction or took too long with it: then
 * it is rolled back.
 */
export const createTurns =
  ({ pool, exchange, statementTimeoutMs }: TurnParts) =>
  (first: Buffer, goOn: GoOn) =>
    pool.use(async (connection) => {
      const deadline = performance.now() + statementTimeoutMs
      let isFinished = false
      try {
        let answer = await answerInTime(connection, exchange(first), statementTimeoutMs)
        while (!isBetweenTransactions(answer)) {
          const batch = await withTimeout(goOn(answer), Math.min(longestIdle, statementTimeoutMs), () => undefined)
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

import { seconds } from '../../lib/durations.js'
import { withTimeout } from '../../lib/with-timeout.js'
import type { Connection } from './connection.js'
import type { Pool } from './pool.js'
import { rollBack } from './pooled-database.js'

export type TurnParts = {
  pool: Pool
  /** One batch of messages and its answer; only for the holder of the connection. */
  exchange(bytes: Buffer): Promise<Buffer>
  statementTimeoutMs: number
}

/** A command that is paused in a transaction keeps every request from the database. */
const longestIdle = 10 * seconds

/** Every answer ends with ReadyForQuery, and that with the state of the transaction. */
const isBetweenTransactions = (answer: Buffer) => answer.at(-1) === 'I'.charCodeAt(0)

/** What a command does inside its transaction: takes an answer, and asks again; undefined if it has gone. */
type GoOn = (answer: Buffer) => Promise<Buffer | undefined>

/**
 * Gives a command the one connection for a statement or a whole transaction. Resolves with the last answer, which can be sent
 * while others have the connection again, or with undefined if the command left its transaction, which is rolled back.
 */
export const createTurns =
  ({ pool, exchange, statementTimeoutMs }: TurnParts) =>
  (first: Buffer, goOn: GoOn) =>
    pool.use(async (connection) => {
      let isOver = false
      try {
        let answer = await answerInTime(connection, exchange(first), statementTimeoutMs)
        while (!isBetweenTransactions(answer)) {
          const batch = await withTimeout(goOn(answer), Math.min(longestIdle, statementTimeoutMs), () => undefined)
          if (batch === undefined) return undefined
          answer = await answerInTime(connection, exchange(batch), statementTimeoutMs)
        }
        isOver = true
        return answer
      } finally {
        if (!isOver) await rollBack(connection)
      }
    })

const answerInTime = (connection: Connection, answer: Promise<Buffer>, timeoutMs: number) =>
  withTimeout(answer, timeoutMs, () => {
    connection.giveUp()
    return answer
  })

import { type Clock, later } from '../lib/clock.js'
import { hours } from '../lib/durations.js'
import { nilUuid } from '../lib/uuid.js'
import type { Sql } from '../platform/database/database.js'
import type { LiveAt } from './live-sessions.js'
import { purgeAfter } from './sessions.store.js'

const pauseAfterRound = 1 * hours

/**
 * Deletes the sessions that are over among the next records. Most records are still needed, so a step reads more records than it may
 * delete, and returns a full batch while there are more to read. At the end of the table it pauses and starts again.
 */
export const createPurge = ({ clock, liveNow }: { clock: Clock; liveNow: () => LiveAt }) => {
  let cursor = nilUuid
  let pausedUntil = new Date(0)

  return async (sql: Sql, limit: number) => {
    if (clock.now() < pausedUntil) return 0
    const [step] = await purgeAfter(sql, cursor, liveNow(), limit * 10)
    cursor = step?.cursor ?? nilUuid
    if (step?.cursor) return limit
    pausedUntil = later(clock.now(), pauseAfterRound)
    return 0
  }
}

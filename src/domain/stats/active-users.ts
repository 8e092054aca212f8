import { type Clock, later } from '../../lib/clock.js'
import { days, minutes } from '../../lib/durations.js'
import { uuidFloor } from '../../lib/uuid.js'
import type { Database } from '../../platform/database/database.js'
import * as store from './stats.store.js'

/** The query reads a row for each session and event of 30 days, so its answer is used for a while. */
const countInterval = 10 * minutes

/**
 * How many users were active in the last 1, 7 and 30 days: those who used a session in that time. Sessions that have ended have
 * no row any more, so what users did in them counts too.
 */
export const createActiveUsers = ({ database, clock }: { database: Database; clock: Clock }) => {
  let last: { at: Date; counted: ReturnType<typeof count> } | undefined

  const count = async () => {
    const now = clock.now()
    const day = later(now, -1 * days)
    const week = later(now, -7 * days)
    const month = later(now, -30 * days)
    const [row] = await store.countActiveUsers(database, { day, week, month, firstEvent: uuidFloor(month) })
    if (!row) throw new Error('Counting gave no row')
    return { day: row.day, week: row.week, month: row.month }
  }

  return {
    count,
    /**
     * Up to ten minutes old. After a failure it waits as long: with very many sessions a count takes longer than a statement may, and
     * the next question, a few seconds later, would begin it again.
     */
    recent: () => {
      const now = clock.now()
      if (last && now.getTime() - last.at.getTime() < countInterval) return last.counted
      const counted = count()
      last = { at: now, counted }
      return counted
    },
  }
}

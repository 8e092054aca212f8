import { type Clock, later } from '../lib/clock.js'
import { days, minutes } from '../lib/durations.js'
import { uuidFloor } from '../lib/uuid.js'
import type { Database } from '../platform/database/database.js'
import * as store from './stats.store.js'

/** The query reads a row for each session and event of 30 days, so its answer is used for this long. */
const countInterval = 10 * minutes

/**
 * How many users were active in the last 1, 7 and 30 days, which means that they used a session. Sessions that have ended have no row any
 * more, so the events of sessions count too.
 */
export const createActiveUsers = ({ database, clock }: { database: Database; clock: Clock }) => {
  let lastCount: { at: Date; counts: ReturnType<typeof count> } | undefined

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
     * The counts may be ten minutes old. A failure is kept as long: with very many sessions a count takes longer than a statement may, and
     * the next call, a few seconds later, would begin it again.
     */
    recent: () => {
      const now = clock.now()
      if (lastCount && now.getTime() - lastCount.at.getTime() < countInterval) return lastCount.counts
      const counts = count()
      lastCount = { at: now, counts }
      return counts
    },
  }
}

import { type Clock, later } from '../lib/clock.js'
import { days, minutes } from '../lib/durations.js'
import { uuidFloor } from '../lib/uuid.js'
import type { Database } from '../platform/database/database.js'
import * as store from './stats.store.js'

const shownDays = 30
/** Events of a day may be written a little after it, by a machine whose clock is behind. */
const settlingTime = 5 * minutes
const countInterval = 1 * minutes

type DailyCount = { day: string; signIns: number; failures: number; newUsers: number }

const startOfDay = (moment: Date) => new Date(Math.floor(moment.getTime() / days) * days)

export type DailyCounts = ReturnType<typeof createDailyCounts>

/** Sign-ins, failures and new users by day, in UTC. A day that is over is counted once in the life of the process. */
export const createDailyCounts = ({ database, clock }: { database: Database; clock: Clock }) => {
  const cache = new Map<string, { count: DailyCount; until: number }>()

  const count = async (from: Date): Promise<DailyCount> => {
    const day = from.toISOString().slice(0, 10)
    const now = clock.now().getTime()
    const cached = cache.get(day)
    if (cached && cached.until > now) return cached.count
    const end = later(from, 1 * days)
    const [row] = await store.countDay(database, uuidFloor(from), uuidFloor(end))
    const dailyCount = { day, signIns: row?.sign_ins ?? 0, failures: row?.failures ?? 0, newUsers: row?.new_users ?? 0 }
    const isOver = now > end.getTime() + settlingTime
    cache.set(day, { count: dailyCount, until: isOver ? end.getTime() + (shownDays + 1) * days : now + countInterval })
    return dailyCount
  }

  /** Returns the oldest day first. The last one is today. */
  return async () => {
    const today = startOfDay(clock.now())
    const dailyCounts: DailyCount[] = []
    for (let back = shownDays - 1; back >= 0; back--) dailyCounts.push(await count(later(today, -back * days)))
    const oldest = dailyCounts[0]?.day ?? ''
    for (const day of cache.keys()) if (day < oldest) cache.delete(day)
    return dailyCounts
  }
}

import { refuse } from '../contract/outcome.js'
import { type Clock, later } from '../lib/clock.js'
import { days, minutes } from '../lib/durations.js'
import { uuidFloor } from '../lib/uuid.js'
import type { Database } from '../platform/database/database.js'
import { liveNow, type SessionLife } from '../sessions/live-sessions.js'
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

type Counts = {
  users: number
  newUsers: number
  disabled: number
  withoutPassword: number
  withTotp: number
  withPasskeys: number
  usersWithSessions: number
  sessions: number
  registrationsWaiting: number
  mailsWaiting: number
  webhooksWaiting: number
  webhooksGivenUp: number
  logoutNoticesWaiting: number
  logoutNoticesGivenUp: number
}

const fromRow = (row: store.StatsRow): Counts => ({
  users: row.users,
  newUsers: row.new_users,
  disabled: row.disabled,
  withoutPassword: row.without_password,
  withTotp: row.with_totp,
  withPasskeys: row.with_passkeys,
  usersWithSessions: row.users_with_sessions,
  sessions: row.sessions,
  registrationsWaiting: row.registrations_waiting,
  mailsWaiting: row.mails_waiting,
  webhooksWaiting: row.webhooks_waiting,
  webhooksGivenUp: row.webhooks_given_up,
  logoutNoticesWaiting: row.logout_notices_waiting,
  logoutNoticesGivenUp: row.logout_notices_given_up,
})

export type Stats = ReturnType<typeof createStats>

/** Counts everything, for an operator. No request uses it. */
export const createStats = ({ database, clock, ...limits }: SessionLife & { database: Database }) => ({
  since: async (since: Date) => {
    const [row] = await store.selectStats(database, liveNow({ clock, ...limits }), {
      now: clock.now(),
      since,
    })
    if (!row) throw new Error('Counting gave no row')
    const providers = await store.countIdentities(database)
    const events = await store.countEvents(database, uuidFloor(since))
    return {
      ...fromRow(row),
      providers: providers.map(({ provider, users }) => ({ provider, users })),
      active: await createActiveUsers({ database, clock }).count(),
      events: events.map(({ kind, reason, events: count }) => ({ kind, reason, events: count })),
    }
  },
})

const shownDays = 30
/** Events are not kept longer, so there are no numbers of days before these. */
const countedDays = 90
/** Days that are not counted yet are counted so many at once: a statement has a limit of time. */
const daysPerStatement = 10
/** Events of a day may be written a little after it, by a machine whose clock is behind. */
const settlingTime = 5 * minutes
const dailyCountInterval = 1 * minutes

type DailyCount = { day: string; signIns: number; failures: number; newUsers: number }

const startOfDay = (moment: Date) => new Date(Math.floor(moment.getTime() / days) * days)
const nameOf = (day: Date) => day.toISOString().slice(0, 10)
const daysFrom = (first: Date, count: number) => Array.from({ length: count }, (_, index) => later(first, index * days))

const sumOf = (counts: readonly DailyCount[]) => ({
  signIns: counts.reduce((sum, { signIns }) => sum + signIns, 0),
  failures: counts.reduce((sum, { failures }) => sum + failures, 0),
  newUsers: counts.reduce((sum, { newUsers }) => sum + newUsers, 0),
})

const impossibleDays = refuse('bad_request', { message: 'from and to must be days of the last 90, in this order' })

/** Sign-ins, failures and new users by day, in UTC. A day that is over is counted once in the life of the process. */
export const createDailyCounts = ({ database, clock }: { database: Database; clock: Clock }) => {
  const cache = new Map<string, { count: DailyCount; until: number }>()

  const countTogether = async (wanted: readonly Date[]) => {
    const spans = wanted.map((day) => ({ day, from: uuidFloor(day), before: uuidFloor(later(day, 1 * days)) }))
    const rows = new Map((await store.countDays(database, spans)).map((row) => [row.first_id, row]))
    const now = clock.now().getTime()
    for (const { day, from } of spans) {
      const row = rows.get(from)
      if (!row) throw new Error('Counting a day gave no row')
      const isOver = now > day.getTime() + 1 * days + settlingTime
      const until = isOver ? day.getTime() + (countedDays + 1) * days : now + dailyCountInterval
      const { sign_ins: signIns, failures, new_users: newUsers } = row
      cache.set(nameOf(day), { count: { day: nameOf(day), signIns, failures, newUsers }, until })
    }
  }

  const countsOf = async (wanted: readonly Date[]): Promise<DailyCount[]> => {
    const now = clock.now().getTime()
    for (const [day, { until }] of cache) if (until <= now) cache.delete(day)
    const missing = wanted.filter((day) => !cache.has(nameOf(day)))
    for (let at = 0; at < missing.length; at += daysPerStatement)
      await countTogether(missing.slice(at, at + daysPerStatement))
    return wanted.flatMap((day) => cache.get(nameOf(day))?.count ?? [])
  }

  /** The oldest day comes first. Without `from` and `to` the last one is today. */
  return async ({ from, to }: { from?: string | undefined; to?: string | undefined }) => {
    const today = startOfDay(clock.now())
    const oldest = later(today, -(countedDays - 1) * days)
    const first = from === undefined ? later(today, -(shownDays - 1) * days) : new Date(from)
    const last = to === undefined ? today : new Date(to)
    if (first < oldest || last > today || last < first) return impossibleDays
    const count = Math.round((last.getTime() - first.getTime()) / days) + 1
    const firstBefore = later(first, -count * days)
    const before = firstBefore < oldest ? null : sumOf(await countsOf(daysFrom(firstBefore, count)))
    return { days: await countsOf(daysFrom(first, count)), before }
  }
}

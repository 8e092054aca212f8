import type { Clock } from '../lib/clock.js'
import { uuidFloor } from '../lib/uuid.js'
import type { Database } from '../platform/database/database.js'
import { createSessionLife, type SessionLimits } from '../sessions/live-sessions.js'
import { createActiveUsers } from './active-users.js'
import * as store from './stats.store.js'

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
export const createStats = ({ database, clock, ...limits }: SessionLimits & { database: Database; clock: Clock }) => ({
  since: async (since: Date) => {
    const [row] = await store.selectStats(database, createSessionLife({ clock, ...limits }).liveNow(), {
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

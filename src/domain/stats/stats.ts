import type { Clock } from '../../lib/clock.js'
import { uuidFloor } from '../../lib/uuid.js'
import type { Database } from '../../platform/database/database.js'
import { createSessionLife, type SessionLimits } from '../sessions/live-sessions.js'
import { createActiveUsers } from './active-users.js'
import * as store from './stats.store.js'

export type Stats = ReturnType<typeof createStats>

/** How much there is of everything, for an operator. No request uses this. */
export const createStats = ({ database, clock, ...limits }: SessionLimits & { database: Database; clock: Clock }) => ({
  since: async (since: Date) => {
    const [row] = await store.selectStats(database, createSessionLife({ clock, ...limits }).liveNow(), {
      now: clock.now(),
      since,
    })
    if (!row) throw new Error('Counting gave no row')
    const providers = await store.countIdentities(database)
    const active = await createActiveUsers({ database, clock }).count()
    return { ...row, providers, active, events: await store.countEvents(database, uuidFloor(since)) }
  },
})

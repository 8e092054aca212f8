import { type Clock, later } from '../../lib/clock.js'
import { days } from '../../lib/durations.js'
import { uuidv7 } from '../../lib/uuid.js'
import type { Database, Sql } from '../../platform/database/database.js'
import type { Client } from '../sessions/client.js'
import * as store from './events.store.js'

export type EventKind =
  | 'registered'
  | 'signed_in'
  | 'sign_in_failed'
  | 'signed_out'
  | 'signed_out_everywhere'
  | 'session_ended'
  | 'refresh_theft'
  | 'reset_requested'
  | 'password_reset'
  | 'password_changed'
  | 'password_change_failed'
  | 'provider_linked'
  | 'provider_unlinked'

export type Event = { kind: EventKind; userId?: string; sessionId?: string; reason?: string }

/** What is told to whoever counts events; the log and the metrics listen. */
export type EventListener = (event: Event, client: Client) => void

const kept = 90 * days

export type Events = ReturnType<typeof createEvents>

export const createEvents = (options: {
  database: Database
  clock: Clock
  listeners: readonly EventListener[]
  onLost: (error: unknown) => void
}) => {
  const { database, clock, listeners, onLost } = options
  return {
    /** One log line and one row. A row that cannot be written never turns a finished act into a failed one. */
    record: async (event: Event, client: Client) => {
      for (const listener of listeners) listener(event, client)
      const now = clock.now()
      const { kind, userId = null, sessionId = null, reason = null } = event
      await store
        .insertEvent(database, { id: uuidv7(now), kind, userId, sessionId, reason, ...client, now })
        .catch(onLost)
    },
    recent: (userId: string) => store.selectRecentOfUser(database, userId, 50),
    purge: async (sql: Sql, limit: number) =>
      (await store.purgeBefore(sql, uuidv7(later(clock.now(), -kept)), limit)).length,
  }
}

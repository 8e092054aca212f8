import { refuse } from '../../contract/outcome.js'
import type { Session } from '../../contract/schemas.js'
import type { Events } from '../../domain/events/events.js'
import type { Client } from '../../domain/sessions/client.js'
import type { Sessions } from '../../domain/sessions/sessions.js'
import { readDevice } from '../../lib/device.js'

type Owner = { userId: string; sessionId: string }

/** The caller's own sessions: another user's are not found. */
export const createOwnSessions = ({ sessions, events }: { sessions: Sessions; events: Events }) => ({
  list: async ({ userId, sessionId }: Owner): Promise<Session[]> => {
    const rows = await sessions.list(userId)
    return rows.map((row) => ({
      id: row.id,
      ip: row.ip,
      userAgent: row.user_agent,
      ...readDevice(row.user_agent),
      createdAt: row.created_at.toISOString(),
      lastUsedAt: row.last_used_at.toISOString(),
      current: row.id === sessionId,
    }))
  },
  end: async (id: string, { userId }: Owner, client: Client) => {
    if (!(await sessions.end(id, userId))) return refuse('not_found')
    await events.record({ kind: 'session_ended', userId, sessionId: id }, client)
    return undefined
  },
})

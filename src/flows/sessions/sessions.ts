import { refuse } from '../../contract/outcome.js'
import type { Session } from '../../contract/schemas.js'
import type { Events } from '../../domain/events/events.js'
import type { Client } from '../../domain/sessions/client.js'
import type { SessionCaller, Sessions } from '../../domain/sessions/sessions.js'
import { readDevice } from '../../lib/device.js'

/** The caller's own sessions: another user's are not found. */
export const createOwnSessions = ({ sessions, events }: { sessions: Sessions; events: Events }) => ({
  list: async ({ userId, sessionId }: SessionCaller): Promise<Session[]> => {
    const rows = await sessions.list(userId)
    return rows.map((row) => ({
      id: row.id,
      ip: row.ip,
      userAgent: row.user_agent,
      ...readDevice(row.user_agent),
      createdAt: row.created_at.toISOString(),
      lastUsedAt: row.last_used_at.toISOString(),
      current: row.id === sessionId,
      methods: row.methods,
      provider: row.provider,
    }))
  },
  end: async (id: string, caller: SessionCaller, client: Client) => {
    const { userId } = caller
    // The session may have ended at another instance a moment ago. Then its token must not end the sessions that are left.
    if (!(await sessions.isLive(caller))) return refuse('not_authenticated')
    if (!(await sessions.end(id, userId))) return refuse('not_found')
    await events.record({ kind: 'session_ended', userId, sessionId: id }, client)
    return undefined
  },
})

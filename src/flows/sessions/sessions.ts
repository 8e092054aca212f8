import { describeDevice } from '../../contract/device-names.js'
import { refuse } from '../../contract/outcome.js'
import type { Session } from '../../contract/schemas.js'
import type { Events } from '../../domain/events/events.js'
import type { Client } from '../../domain/sessions/client.js'
import { createLockedAccount } from '../../domain/sessions/locked-account.js'
import type { SessionCaller, Sessions } from '../../domain/sessions/sessions.js'
import type { Users } from '../../domain/users/users.js'
import type { Database } from '../../platform/database/database.js'

type Dependencies = { database: Database; users: Users; sessions: Sessions; events: Events }

/** The caller's own sessions: another user's are not found. */
export const createOwnSessions = (deps: Dependencies) => {
  const { sessions, events } = deps
  const change = createLockedAccount(deps)

  return {
    list: async ({ userId, sessionId }: SessionCaller): Promise<Session[]> => {
      const rows = await sessions.list(userId)
      return rows.map((row) => ({
        id: row.id,
        ip: row.ip,
        userAgent: row.user_agent,
        ...describeDevice(row.user_agent),
        createdAt: row.created_at.toISOString(),
        lastUsedAt: row.last_used_at.toISOString(),
        current: row.id === sessionId,
        methods: row.methods,
        provider: row.provider,
      }))
    },
    /** A session that ended at another instance a moment ago ends no other one. */
    end: (id: string, caller: SessionCaller, client: Client) =>
      change(caller, async (sql, { id: userId }) => {
        if (!(await sessions.end(id, userId, sql))) return refuse('not_found')
        await events.recordInside(sql, { kind: 'session_ended', userId, sessionId: id }, client)
        return undefined
      }),
  }
}

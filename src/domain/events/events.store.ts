import type { Sql } from '../../platform/database/database.js'

export type EventRow = {
  id: string
  kind: string
  reason: string | null
  ip: string
  user_agent: string
  created_at: Date
}

export const insertEvent = (
  sql: Sql,
  event: {
    id: string
    kind: string
    userId: string | null
    sessionId: string | null
    reason: string | null
    ip: string
    userAgent: string
    now: Date
  },
) =>
  sql.query(
    `insert into events (id, kind, user_id, session_id, reason, ip, user_agent, created_at)
     values ($1, $2, $3, $4, $5, $6, $7, $8)`,
    [event.id, event.kind, event.userId, event.sessionId, event.reason, event.ip, event.userAgent, event.now],
  )

export const selectRecentOfUser = (sql: Sql, userId: string, limit: number) =>
  sql.query<EventRow>(
    'select id, kind, reason, ip, user_agent, created_at from events where user_id = $1 order by id desc limit $2',
    [userId, limit],
  )

/** Ids begin with their time, so the primary key is also the order of age. */
export const purgeBefore = (sql: Sql, oldestKept: string, limit: number) =>
  sql.query('delete from events where id in (select id from events where id < $1 order by id limit $2) returning 1', [
    oldestKept,
    limit,
  ])

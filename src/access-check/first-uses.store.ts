import type { Sql } from '../platform/database/database.js'

/** Until the transaction ends, no other instance looks for a first use of this session. */
export const lockUses = (sql: Sql, sid: string) =>
  sql.query(`select pg_advisory_xact_lock(hashtextextended('first use ' || $1, 0))`, [sid])

type Use = { userId: string; sid: string; name: string; since: string }

export const selectUse = (sql: Sql, { userId, sid, name, since }: Use) =>
  sql.query<{ id: string }>(
    `select id from events
     where user_id = $1 and id >= $4 and kind = 'application_used' and session_id = $2 and reason = $3 limit 1`,
    [userId, sid, name, since],
  )

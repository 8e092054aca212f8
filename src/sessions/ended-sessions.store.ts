import type { Sql } from '../platform/database/database.js'
import { databaseNow, milliseconds } from '../platform/database/sql.js'

/** The place to continue reading: the entries that the snapshot `seen` does not show, in the order of their key, after `xact` and `sid`. */
export type SnapshotCursor = { seen: string | null; xact: string; sid: string }

export type NewEntries = {
  /** The snapshot of this statement. */
  snapshot: string
  /**
   * Identifies the run of the database server. After a restart and on another server it has another value, and transactions have other
   * numbers.
   */
  server: string
  /** With `refusedBefore`, in seconds, the entry is about a user, whose id is in the place of the session's. */
  entries: [id: string, minGeneration: number | null, refusedBefore: number | null][]
  last: { xact: string; sid: string } | null
  /** How often applications were changed. It is read here, because every instance asks for news once a second. */
  applicationChanges: number
}

/**
 * The entries that have become visible since a snapshot. A transaction that was open then may have committed since, with a lower number
 * than one that was read before. The snapshot lists the open transactions, so their entries are found.
 */
export const selectNewEntries = async (sql: Sql, { seen, xact, sid }: SnapshotCursor, limit: number) => {
  const [news] = await sql.query<NewEntries>(
    `with news as materialized (
       select e.xact, e.sid, e.min_generation, extract(epoch from e.refused_before)::bigint as refused_before
       from ended_sessions as e
       where (e.xact, e.sid) > ($1::xid8, $2::uuid)
         and ($3::pg_snapshot is null or not pg_visible_in_snapshot(e.xact, $3::pg_snapshot))
       order by e.xact, e.sid limit $4
     )
     select pg_current_snapshot()::text as snapshot, pg_postmaster_start_time()::text as server,
       (select coalesce(json_agg(json_build_array(n.sid, n.min_generation, n.refused_before)), '[]') from news as n) as entries,
       (select json_build_object('xact', n.xact::text, 'sid', n.sid) from news as n
        order by n.xact desc, n.sid desc limit 1) as last,
       (select number from application_changes) as "applicationChanges"`,
    [xact, sid, seen, limit],
  )
  if (!news) throw new Error('The database gave no row for a statement that always has one')
  return news
}

/** Whether a session has ended within this time because of a sign-in. Rows are found by the index on their age. */
export const selectEndedBySignIn = (sql: Sql, sid: string, within: number) =>
  sql.query(
    `select from ended_sessions where sid = $1 and reason = 'signed_in' and ended_at > now() - ${milliseconds('$2')}`,
    [sid, within],
  )

export const deleteOld = (sql: Sql, clockOffset: number, retention: number, limit: number) =>
  sql.query(
    `delete from ended_sessions where (xact, sid) in (
       select xact, sid from ended_sessions
       where ended_at <= ${databaseNow('$1')} - ${milliseconds('$2')} order by ended_at limit $3
     ) returning sid`,
    [clockOffset, retention, limit],
  )

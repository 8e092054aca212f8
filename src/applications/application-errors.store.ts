import type { Sql } from '../platform/database/database.js'
import { selectList } from '../platform/database/sql.js'

type ErrorRow = { kind: string; message: string; count: number; seen_at: Date }
const columns = selectList<ErrorRow>({ kind: true, message: true, count: true, seen_at: true })

type NotedError = { applicationId: string; kind: string; message: string; count: number; seenAt: Date }

/** Writes an error, unless the application is gone. */
export const upsertError = (sql: Sql, { applicationId, kind, message, count, seenAt }: NotedError) =>
  sql.query(
    `insert into application_errors (application_id, message, count, seen_at, kind)
     select id, $2, $3, $4, $5 from applications where id = $1
     on conflict (application_id, message) do update
     set count = least(application_errors.count::bigint + excluded.count, 2147483647)::int,
         seen_at = greatest(application_errors.seen_at, excluded.seen_at)`,
    [applicationId, message, count, seenAt, kind],
  )

export const deleteOldErrors = (sql: Sql, applicationId: string, kind: string, maxKept: number) =>
  sql.query(
    `delete from application_errors where application_id = $1 and message in (
       select message from application_errors where application_id = $1 and kind = $2 order by seen_at desc, message offset $3)`,
    [applicationId, kind, maxKept],
  )

export const selectErrors = (sql: Sql, applicationId: string) =>
  sql.query<ErrorRow>(
    `select ${columns} from application_errors where application_id = $1 order by seen_at desc, message`,
    [applicationId],
  )

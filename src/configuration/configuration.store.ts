import type { Sql } from '../platform/database/database.js'

/** Files are applied one after the other, whichever instance or command does it. */
export const lock = (sql: Sql) => sql.query("select pg_advisory_xact_lock(hashtextextended('configuration', 0))")

export const selectFile = (sql: Sql, name: string) =>
  sql.query<{ fault: string | null }>('select fault from configuration_files where name = $1', [name])

export const upsertFile = (sql: Sql, name: string, fault: string | null) =>
  sql.query(
    `insert into configuration_files (name, fault, tried_at) values ($1, $2, now())
     on conflict (name) do update set fault = excluded.fault, tried_at = excluded.tried_at`,
    [name, fault],
  )

/** The applications that cannot sign anybody in. */
export const selectWithoutSecret = (sql: Sql) =>
  sql.query<{ name: string }>(
    `select name from applications as a where kind = 'web' and redirect_addresses <> '{}'
       and not exists (select 1 from application_secrets as s where s.application_id = a.id) order by name`,
  )

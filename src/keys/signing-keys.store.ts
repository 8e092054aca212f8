import type { Sql } from '../platform/database/database.js'
import { databaseNow, milliseconds } from '../platform/database/sql.js'

export type KeyRow = { id: string; private_key: string; created_at: Date; signs_from: Date }

/** The number of a lock that nothing else uses. The lock lets one process at a time add or remove keys, until its transaction ends. */
const advisoryLock = 7_210_452

export const lock = (sql: Sql) => sql.query('select pg_advisory_xact_lock($1)', [advisoryLock])

/** The time of the database and all keys, in the order in which they sign. */
export const selectAll = async (sql: Sql, offset: number) => {
  const rows = await sql.query<{ now: Date } & (KeyRow | Record<keyof KeyRow, null>)>(
    `select clock.now, k.id, k.private_key, k.created_at, k.signs_from
     from (select ${databaseNow('$1')} as now) as clock left join signing_keys as k on true
     order by k.signs_from, k.id`,
    [offset],
  )
  const [first] = rows
  if (!first) throw new Error('The database gave no row for a statement that always has one')
  return { now: first.now, keys: rows.filter((row): row is { now: Date } & KeyRow => row.id !== null) }
}

export const insert = (
  sql: Sql,
  key: { id: string; privateKey: string },
  { delay, offset }: { delay: number; offset: number },
) =>
  sql.query<{ signs_from: Date }>(
    `insert into signing_keys (id, private_key, created_at, signs_from)
     values ($1, $2, ${databaseNow('$3')}, ${databaseNow('$3')} + ${milliseconds('$4')})
     returning signs_from`,
    [key.id, key.privateKey, offset, delay],
  )

export const deleteKeys = (sql: Sql, ids: readonly string[]) =>
  sql.query<{ id: string }>('delete from signing_keys where id = any ($1::text[]) returning id', [ids])

import type { Sql } from '../platform/database/database.js'
import type { SealedColumn } from './sealed-columns.js'

/** The names of tables and columns come from our own list, never from outside. */

/** How many values each key has sealed. The id of the key is before the first dot of a value. */
export const countByKey = (sql: Sql, { table, column }: SealedColumn) =>
  sql.query<{ key: string; values: number }>(
    `select split_part(${column}, '.', 1) as key, count(*) as values from ${table}
     where ${column} is not null group by 1`,
  )

/** The users whose values none of these keys has sealed, for tables with a column `user_id`. */
export const selectUsersOfMissing = (sql: Sql, { table, column }: SealedColumn, keys: readonly string[]) =>
  sql.query<{ id: string }>(
    `select distinct user_id::text as id from ${table}
     where ${column} is not null and split_part(${column}, '.', 1) <> all ($1::text[]) order by id`,
    [keys],
  )

/** The next values that another key has sealed. They are locked in the order of their ids, so that two instances do not deadlock. */
export const lockSealedByOthers = (
  sql: Sql,
  { table, column, id }: SealedColumn,
  { key, after, limit }: { key: string; after: string | null; limit: number },
) =>
  sql.query<{ id: string; sealed: string }>(
    `select ${id.column}::text as id, ${column} as sealed from ${table}
     where ${column} is not null and split_part(${column}, '.', 1) <> $1
       and ($2::${id.type} is null or ${id.column} > $2::${id.type})
     order by ${id.column} limit $3 for update`,
    [key, after, limit],
  )

export const replace = (
  sql: Sql,
  { table, column, id }: SealedColumn,
  rows: readonly { id: string; sealed: string }[],
) =>
  sql.query(
    `update ${table} set ${column} = fresh.sealed
     from unnest($1::${id.type}[], $2::text[]) as fresh (id, sealed) where ${table}.${id.column} = fresh.id`,
    [rows.map((row) => row.id), rows.map((row) => row.sealed)],
  )

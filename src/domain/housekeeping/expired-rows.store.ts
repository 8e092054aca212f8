import type { Sql } from '../../platform/database/database.js'

/**
 * By the place of the row and not by a key: a row that another transaction changes meanwhile is then at another place, and stays.
 * Table and column are ours, never a user's.
 */
export const deleteExpired = (
  sql: Sql,
  { table, expires }: { table: string; expires: string },
  before: Date,
  limit: number,
) =>
  sql.query(
    `delete from ${table} where ctid = any(array(select ctid from ${table} where ${expires} <= $1 limit $2)) returning 1`,
    [before, limit],
  )

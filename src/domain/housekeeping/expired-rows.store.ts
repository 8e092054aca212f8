import type { Sql } from '../../platform/database/database.js'
import { databaseNow, milliseconds } from '../../platform/database/database-now.js'

/**
 * Deletes rows that have expired by the clock of the instance and by the database's: one that is wrong deletes nothing that still works.
 * By the place of the row and not by a key: a row that another transaction changes meanwhile is then at another place, and stays.
 * Table and column are ours, never a user's.
 */
export const deleteExpired = (
  sql: Sql,
  { table, expires, keptFor = 0 }: { table: string; expires: string; keptFor?: number },
  { now, clockOffset }: { now: Date; clockOffset: number },
  limit: number,
) =>
  sql.query(
    `delete from ${table} where ctid = any(array(
       select ctid from ${table} where ${expires} <= least($1::timestamptz, ${databaseNow('$2')}) - ${milliseconds('$3')} limit $4
     )) returning 1`,
    [now, clockOffset, keptFor, limit],
  )

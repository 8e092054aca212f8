import type { Sql } from '../platform/database/database.js'
import { databaseNow, milliseconds } from '../platform/database/sql.js'

/**
 * Deletes rows that have expired by the clock of the instance and by that of the database, so that one wrong clock deletes nothing that
 * still works. Rows are found by their place (`ctid`) and not by a key: a row that another transaction changes meanwhile moves to another
 * place, and stays. The names of table and column come from our code, never from a user.
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

import type { Sql } from './database.js'

/**
 * Commits something that changes no table: a message in PostgreSQL's write-ahead log. A read is not enough: a primary
 * whose synchronous standby is down answers reads, but finishes no commit.
 */
export const proveCommit = async (sql: Sql) => {
  await sql.query(`select pg_logical_emit_message(true, 'latchkey', '')`)
}

import type { Sql } from './database.js'

/**
 * Commits something that touches no table: a note in PostgreSQL's log that nobody reads. Reading proves too little. A
 * primary whose synchronous standby is away answers every question and finishes no commit.
 */
export const proveCommit = async (sql: Sql) => {
  await sql.query(`select pg_logical_emit_message(true, 'latchkey', '')`)
}

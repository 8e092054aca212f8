import type { Connection } from './connection.js'
import { StoreUnavailable } from './database.js'

/**
 * Throws `StoreUnavailable` if the database cannot commit. To find out, it commits a message in PostgreSQL's write-ahead log, which
 * changes no table. A read is not enough, because a primary whose synchronous standby is down answers reads, but finishes no commit. A
 * read-only transaction may write this message too, so the query also looks at `transaction_read_only`. A connection that was opened as
 * read-only stays read-only, so it is closed.
 */
export const proveCommit = async (connection: Pick<Connection, 'query' | 'destroy'>) => {
  const [row] = await connection.query<{ writable: boolean }>(
    `select writable, case when writable then pg_logical_emit_message(true, 'latchkey', '') end as position
     from (select current_setting('transaction_read_only') = 'off' as writable) as setting`,
  )
  if (row?.writable) return
  const refusal = new StoreUnavailable(
    'The database accepts no writes: it is a standby, or default_transaction_read_only is on',
  )
  connection.destroy(refusal)
  throw refusal
}

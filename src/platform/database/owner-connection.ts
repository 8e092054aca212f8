import type { Readable, Writable } from 'node:stream'
import { from, to } from 'pg-copy-streams'
import { days, seconds } from '../../lib/durations.js'
import { explainFailure } from './connection.js'
import { StoreUnavailable } from './database.js'
import type { NamedSql } from './migrate.js'
import type { PostgresAddress } from './postgres-address.js'

import { createConnect, findPrimary, hostName } from './primary.js'

/**
 * One connection with one transaction, for a backup or a restore: its statements may take hours, and rows are streamed. Everything that is
 * set belongs to the transaction, so a pooler may stand between.
 */
export type OwnerTransaction = NamedSql & {
  script(text: string): Promise<void>
  /** The rows of a COPY … TO STDOUT. */
  copyOut(text: string): Readable & { rowCount: number }
  /** Takes the rows of a COPY … FROM STDIN. */
  copyIn(text: string): Writable
  /** The server's process. A pooler invents another number. */
  readonly processId: number | null
  commit(): Promise<void>
  /** Ends the connection. Without a commit nothing of the transaction stays. */
  end(): Promise<void>
}

const connectTimeoutMs = 10 * seconds
/** What takes longer is no statement of ours. It also fits into a timer. */
const statementTimeoutMs = 7 * days
/** How long a lock is waited for that somebody else holds. */
const lockTimeoutMs = 10 * seconds

/**
 * A slow disk or a slow reader of the pipe must not end the transaction. `transaction_timeout` is known from version 17 on. The others make
 * the text of a COPY the same on every server.
 */
const settings = `
  select set_config(name, '0', true) from pg_settings
  where name in ('statement_timeout', 'idle_in_transaction_session_timeout', 'transaction_timeout');
  set local lock_timeout = '${lockTimeoutMs}ms';
  set local timezone = 'UTC';
  set local datestyle = 'ISO';
  set local intervalstyle = 'postgres';
  set local bytea_output = 'hex';
  set local extra_float_digits = 1;
  set local client_encoding = 'UTF8'`

/** Whoever reads or writes the stream gets its error. A later one, when the connection is given up, must not end the process. */
const reportedToReader = () => undefined

/** `begin` is the statement that begins the transaction, and may be followed by locks: before the snapshot is taken. */
export const beginAsOwner = async (address: PostgresAddress, begin: string): Promise<OwnerTransaction> => {
  const timeouts = { statementTimeoutMs, lockTimeoutMs }
  const connect = createConnect({ address, applicationName: 'latchkey backup', ...timeouts })
  const { hosts } = address
  const { connection } = await findPrimary({ hosts, connect, timeoutMs: connectTimeoutMs })
  let isCommitted = false
  try {
    await connection.script(begin)
    await connection.script(settings)
  } catch (error) {
    connection.destroy(new StoreUnavailable('The transaction could not begin'))
    throw error
  }
  return {
    address: hosts.map(hostName).join(', '),
    processId: connection.processId,
    query: connection.query,
    script: async (text) => void (await connection.script(text)),
    copyOut: (text) => connection.submit(to(text)).on('error', reportedToReader),
    copyIn: (text) => connection.submit(from(text)).on('error', reportedToReader),
    commit: async () => {
      const command = await connection.script('commit')
      if (command !== 'COMMIT') throw new StoreUnavailable('The database has not committed the transaction')
      isCommitted = true
    },
    // A COPY that was left in the middle cannot be ended otherwise.
    end: async () => {
      if (isCommitted) await connection.end()
      else connection.destroy(new StoreUnavailable('The transaction was given up'))
    },
  }
}

/** The failure of a stream of rows, as a statement would have failed. */
export const copyFailure = (error: unknown) => explainFailure(error, true).error

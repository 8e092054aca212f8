import { DatabaseError } from 'pg'
import { StoreUnavailable } from './database.js'

// By SQLSTATE. Whole classes: connection exceptions, insufficient resources (disk, memory, connections) and operator
// intervention (shutdown, cannot connect now, cancelled by a timeout).
const unavailableClasses = new Set(['08', '53', '57'])
const unavailableCodes = new Set([
  '25006', // read-only: this server is a standby by now
  '25P03', // idle in a transaction for too long
  '25P04', // the transaction took too long
  '55P03', // a lock was not to be had in time
  '58030', // input or output error
])

// What the server says about a connection's own state: the next statement would fare no better on it.
const connectionIsSpent = (code: string) =>
  code === '25006' || code === '25P03' || code.startsWith('08') || code.startsWith('57P') || forgotten.has(code)

// A prepared statement is not there, or is there already: the connection goes to another server process by now.
const forgotten = new Set(['26000', '42P05'])

// A statement was prepared before a migration changed its table. Nothing is repeated here; the next try prepares it anew.
const isStale = ({ code = '', routine }: DatabaseError) =>
  forgotten.has(code) || (code === '0A000' && routine === 'RevalidateCachedQuery')

export type Failure = { error: unknown; connectionIsSpent: boolean }

/** Sorts what the driver threw: the store's trouble becomes StoreUnavailable, the statement's own trouble stays as it is. */
export const explainFailure = (error: unknown, connectionIsOpen: boolean): Failure => {
  if (error instanceof StoreUnavailable) return { error, connectionIsSpent: true }
  if (error instanceof DatabaseError) return explainAnswer(error)
  if (connectionIsOpen) return { error, connectionIsSpent: false }
  return {
    error: new StoreUnavailable('The connection to the database broke', { cause: error }),
    connectionIsSpent: true,
  }
}

const explainAnswer = (answer: DatabaseError): Failure => {
  const [error, code] = [withoutValues(answer), answer.code ?? '']
  if (isStale(answer)) {
    const sentence = 'A prepared statement is out of date; the next try prepares it anew'
    return { error: new StoreUnavailable(sentence, { cause: error }), connectionIsSpent: true }
  }
  const isUnavailable = unavailableCodes.has(code) || unavailableClasses.has(code.slice(0, 2))
  return {
    error: isUnavailable ? new StoreUnavailable(`The database gave up: ${answer.message}`, { cause: error }) : error,
    connectionIsSpent: connectionIsSpent(code),
  }
}

/** What the server says about a statement. Errors end in logs, and the server quotes values in `detail`, `where` and `hint`. */
class PostgresError extends Error {
  override name = 'PostgresError'
}

export const withoutValues = (error: unknown): unknown => {
  if (!(error instanceof DatabaseError)) return error
  const { severity, code = '', schema, table, column, constraint, routine } = error
  // 22: data exceptions quote the offending value at the end of the message.
  const message = code.startsWith('22') ? error.message.replace(/: ".*/s, '') : error.message
  const names = { schema_name: schema, table_name: table, column_name: column, constraint_name: constraint }
  return Object.assign(new PostgresError(message), { severity, code, ...names, routine })
}

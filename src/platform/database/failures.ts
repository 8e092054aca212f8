import { DatabaseError } from 'pg'
import { StoreUnavailable } from './database.js'

// Classes of SQLSTATE: connection exceptions, insufficient resources (disk, memory, connections) and operator intervention (shutdown,
// cannot connect now, cancelled by a timeout).
const unavailableClasses = new Set(['08', '53', '57'])
const unavailableCodes = new Set([
  '25006', // read-only: this server has become a standby
  '25P03', // idle in a transaction for too long
  '25P04', // the transaction took too long
  '40P01', // two transactions waited for each other, and this one was chosen to give up
  '55P03', // a lock was not free in time
  '58030', // input or output error
])

// Errors about the connection itself, after which the next statement on it would fail, too.
const breaksConnection = (code: string) =>
  code === '25006' ||
  code === '25P03' ||
  code.startsWith('08') ||
  code.startsWith('57P') ||
  lostStatementCodes.has(code)

// A prepared statement is missing or exists already, because a pooler has given the connection another server process.
const lostStatementCodes = new Set(['26000', '42P05'])

// The prepared statement is missing on the server, or a migration has changed its table since. It is not repeated here, but the next call
// prepares it again.
const isStale = ({ code = '', routine }: DatabaseError) =>
  lostStatementCodes.has(code) || (code === '0A000' && routine === 'RevalidateCachedQuery')

export type Failure = { error: unknown; connectionIsUnusable: boolean }

/** Failures of the store become StoreUnavailable; errors of the statement itself stay as they are. */
export const explainFailure = (error: unknown, connectionIsOpen: boolean): Failure => {
  if (error instanceof StoreUnavailable) return { error, connectionIsUnusable: true }
  if (error instanceof DatabaseError) return explainAnswer(error)
  if (connectionIsOpen) return { error, connectionIsUnusable: false }
  return {
    error: new StoreUnavailable('The connection to the database broke', { cause: error }),
    connectionIsUnusable: true,
  }
}

const explainAnswer = (answer: DatabaseError): Failure => {
  const error = withoutValues(answer)
  const code = answer.code ?? ''
  if (isStale(answer)) {
    const sentence = 'A prepared statement is out of date; the next try prepares it again'
    return { error: new StoreUnavailable(sentence, { cause: error }), connectionIsUnusable: true }
  }
  const isUnavailable = unavailableCodes.has(code) || unavailableClasses.has(code.slice(0, 2))
  return {
    error: isUnavailable ? new StoreUnavailable(`The database gave up: ${answer.message}`, { cause: error }) : error,
    connectionIsUnusable: breaksConnection(code),
  }
}

/** An error of a statement without its values. Errors are logged, and the server quotes values in `detail`, `where` and `hint`. */
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

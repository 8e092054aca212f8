import postgres from 'postgres'
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
  code === '25006' || code === '25P03' || code.startsWith('08') || code.startsWith('57P') || stalePlan.has(code)

// A statement that was prepared before a migration changed its table. Outside of a transaction the driver prepares it
// anew by itself; inside one nothing can be saved, but the next try will work.
const stalePlan = new Set(['26000'])
const isStalePlan = (error: postgres.PostgresError) =>
  stalePlan.has(error.code) || (error.code === '0A000' && error.routine === 'RevalidateCachedQuery')

export type Failure = { error: unknown; connectionIsSpent: boolean }

/** Sorts what the driver threw: the store's trouble becomes StoreUnavailable, the statement's own trouble stays as it is. */
export const explainFailure = (error: unknown, connectionIsOpen: boolean): Failure => {
  if (error instanceof StoreUnavailable) return { error, connectionIsSpent: true }
  if (error instanceof postgres.PostgresError) return explainAnswer(error)
  if (!connectionIsOpen || isConnectionError(error)) {
    const cause = withoutValues(error)
    return { error: new StoreUnavailable('The connection to the database broke', { cause }), connectionIsSpent: true }
  }
  return { error: withoutValues(error), connectionIsSpent: false }
}

const explainAnswer = (answer: postgres.PostgresError): Failure => {
  const error = withoutValues(answer)
  const spent = connectionIsSpent(answer.code)
  if (isStalePlan(answer)) {
    const text = 'A statement was prepared before the schema changed; the next try prepares it anew'
    return { error: new StoreUnavailable(text, { cause: error }), connectionIsSpent: true }
  }
  if (unavailableCodes.has(answer.code) || unavailableClasses.has(answer.code.slice(0, 2))) {
    return {
      error: new StoreUnavailable(`The database gave up: ${answer.message}`, { cause: error }),
      connectionIsSpent: spent,
    }
  }
  return { error, connectionIsSpent: spent }
}

const isConnectionError = (error: unknown) => {
  if (!(error instanceof Error)) return false
  const code = 'code' in error ? String(error.code) : ''
  return 'syscall' in error || code.startsWith('CONNECT') || code.startsWith('ERR_STREAM') || code.startsWith('ERR_SSL')
}

// Errors end in logs. The driver hangs the statement's parameters on them, where they cannot be removed, and the server
// quotes values in `detail`, `where` and `hint`. So what goes on is a copy of what is harmless.
const harmless = ['severity', 'code', 'schema_name', 'table_name', 'column_name', 'constraint_name', 'routine']

export const withoutValues = (error: unknown): unknown => {
  if (error instanceof postgres.PostgresError) return withoutQuotes(error)
  if (!(error instanceof Error) || !('parameters' in error)) return error
  const code = 'code' in error ? { code: error.code } : {}
  return Object.assign(new Error(error.message), code, { stack: error.stack })
}

const withoutQuotes = (error: postgres.PostgresError) => {
  // 22: data exceptions quote the offending value at the end of the message.
  const message = error.code.startsWith('22') ? error.message.replace(/: ".*/s, '') : error.message
  const fields = Object.entries(error).filter(([name]) => harmless.includes(name))
  const copy: postgres.PostgresError = Object.create(postgres.PostgresError.prototype)
  Error.captureStackTrace(copy, explainFailure)
  const stack = copy.stack?.replace(/^.*/, `PostgresError: ${message}`)
  return Object.defineProperties(Object.assign(copy, Object.fromEntries(fields)), {
    name: { value: 'PostgresError' },
    message: { value: message },
    stack: { value: stack },
  })
}

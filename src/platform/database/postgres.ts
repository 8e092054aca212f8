import { type Database, StoreUnavailable } from './database.js'
import { withoutValues } from './failures.js'
import { createPool, type OpenSession } from './pool.js'
import { createPooledDatabase } from './pooled-database.js'
import { type PostgresAddress, parsePostgresAddress } from './postgres-address.js'
import { openSocket } from './postgres-socket.js'
import { createSession } from './session.js'

export type PostgresOptions = {
  url: string
  applicationName?: string
  poolSize: number
  connectTimeoutMs: number
  statementTimeoutMs: number
  idleTimeoutMs: number
  log?: { warn(details: object, message: string): void }
}

// The server's own timeouts come first and leave a usable connection; ours is for a server that hangs.
const slackMs = 300
const lifetimeMs = 30 * 60_000
const waitersPerConnection = 100
const closeGraceMs = 5_000

/** Connects when first used, and again whenever a connection is lost: an unreachable server is no reason not to start. */
export const createPostgres = (options: PostgresOptions): Database => {
  const { poolSize, connectTimeoutMs, idleTimeoutMs, statementTimeoutMs } = options
  const pool = createPool({
    open: createOpener(options),
    size: poolSize,
    waitingLimit: poolSize * waitersPerConnection,
    waitMs: connectTimeoutMs,
    idleMs: idleTimeoutMs,
    lifetimeMs,
  })
  return createPooledDatabase({ pool, idleInTransactionMs: statementTimeoutMs, closeGraceMs })
}

const createOpener = (options: PostgresOptions): OpenSession => {
  const address = parsePostgresAddress(options.url)
  // Whoever was the primary last time is asked first.
  let favourite = 0
  const warn = createWarning(options.log)
  return async (onClosed) => {
    const deadline = performance.now() + options.connectTimeoutMs
    const failures: unknown[] = []
    for (let step = 0; step < address.hosts.length; step += 1) {
      const place = (favourite + step) % address.hosts.length
      // One dead host must not use up the time of the others.
      const budget = (deadline - performance.now()) / (address.hosts.length - step)
      try {
        const session = await openOn(address, place, options, budget, onClosed)
        favourite = place
        return session
      } catch (error) {
        failures.push(withoutValues(error))
      }
    }
    throw warn(unreachable(address, failures))
  }
}

const openOn = async (
  address: PostgresAddress,
  place: number,
  options: PostgresOptions,
  budgetMs: number,
  onClosed: Parameters<OpenSession>[0],
) => {
  const { host, port } = address.hosts[place] ?? { host: 'localhost', port: 5432 }
  const signal = AbortSignal.timeout(Math.max(1, Math.ceil(budgetMs)))
  const stream = await openSocket({ host, port, tls: address.tls, signal })
  const abort = () => stream.destroy(new StoreUnavailable('The database did not greet the connection in time'))
  signal.addEventListener('abort', abort, { once: true })
  let opened = false
  const session = createSession({
    stream,
    ...address,
    parameters: { ...connectionParameters(options), ...address.parameters },
    deadlineMs: options.statementTimeoutMs + slackMs,
    onClosed: (closed, hung) => opened && onClosed(closed, hung),
  })
  try {
    const [state] = await session.query<{ standby: boolean }>('select pg_is_in_recovery() as standby')
    if (state?.standby && address.hosts.length > 1) throw new Error(`${host}:${port} is a standby, not the primary`)
    opened = true
    return session
  } catch (error) {
    session.destroy(new StoreUnavailable('The connection to the database is not wanted'))
    throw error
  } finally {
    signal.removeEventListener('abort', abort)
  }
}

const connectionParameters = ({ applicationName, statementTimeoutMs }: PostgresOptions) => ({
  application_name: applicationName ?? 'latchkey',
  statement_timeout: statementTimeoutMs,
  lock_timeout: statementTimeoutMs,
  idle_in_transaction_session_timeout: statementTimeoutMs * 2,
  // Stores compare and print moments; nobody should have to think about the server's own zone.
  timezone: 'UTC',
})

const unreachable = ({ hosts }: PostgresAddress, failures: unknown[]) => {
  const where = hosts.map(({ host, port }) => `${host}:${port}`).join(', ')
  const reasons = failures.map((failure) => reasonOf(failure))
  return new StoreUnavailable(`PostgreSQL at ${where} cannot be used: ${[...new Set(reasons)].join('; ')}`, {
    cause: failures.at(-1),
  })
}

// Every request tries again while the server is away; the log needs to hear of it now and then only.
const warningPauseMs = 5_000

const createWarning = (log: PostgresOptions['log']) => {
  let quietUntil = 0
  return (error: StoreUnavailable) => {
    if (performance.now() >= quietUntil) {
      quietUntil = performance.now() + warningPauseMs
      log?.warn({}, error.message)
    }
    return error
  }
}

const reasonOf = (failure: unknown): string => {
  if (!(failure instanceof Error)) return 'unknown failure'
  // Node reports a host with several addresses as one error without a message of its own.
  if (failure instanceof AggregateError && !failure.message) return failure.errors.map(reasonOf).join(', ')
  return failure.message
}

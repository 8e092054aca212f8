import type { Database } from './database.js'
import { hostName } from './find-primary.js'
import { createPool } from './pool.js'
import { createPooledDatabase } from './pooled-database.js'
import { postgresAddress } from './postgres-address.js'
import { createConnect } from './postgres-host.js'
import { createPrimary } from './primary.js'

export type PostgresOptions = {
  url: string
  applicationName?: string
  poolSize: number
  connectTimeoutMs: number
  statementTimeoutMs: number
  /** How long a statement waits for a lock, and a transaction for its next statement. The default is `statementTimeoutMs`. */
  lockTimeoutMs?: number
  /** With several hosts, a new connection asks all of them again if the last answer is older than this. */
  primaryHoldsMs?: number
  log?: { warn(details: object, message: string): void }
}

const lifetimeMs = 30 * 60_000
const idleMs = 60_000
const waitersPerConnection = 100
const closeGraceMs = 5_000

/** Connects at the first use, and again when a connection is lost, so the program can start while the server cannot be reached. */
export const createPostgres = (options: PostgresOptions): Database => {
  const { poolSize, connectTimeoutMs, statementTimeoutMs, log } = options
  const { applicationName = 'latchkey', primaryHoldsMs = 30_000, lockTimeoutMs = statementTimeoutMs } = options
  const address = postgresAddress(options.url)
  const hosts = address.hosts.map(hostName).join(', ')
  const connect = createConnect({ address, applicationName, statementTimeoutMs, lockTimeoutMs })
  const pool = createPool({
    open: createPrimary({ hosts: address.hosts, connect, timeoutMs: connectTimeoutMs, holdsMs: primaryHoldsMs, log }),
    size: poolSize,
    waitingLimit: poolSize * waitersPerConnection,
    waitMs: connectTimeoutMs,
    noAnswerText: `PostgreSQL at ${hosts} does not answer`,
    idleMs,
    lifetimeMs,
  })
  return { ...createPooledDatabase({ pool, idleInTransactionMs: lockTimeoutMs, closeGraceMs }), address: hosts }
}

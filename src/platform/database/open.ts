import { type Database, type Sql, StoreUnavailable } from './database.js'
import type { Grants } from './grants.js'
import { type MigrateOptions, migrate } from './migrate.js'
import { createPool } from './pool.js'
import { type PostgresAddress, postgresAddress } from './postgres-address.js'

import { createConnect, createPrimary, hostName } from './primary.js'
import { createPooledDatabase } from './transactions.js'

type ServerOptions = {
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

export type PostgresOptions = ServerOptions & ({ url: string } | { address: PostgresAddress })

const closeGraceMs = 5_000

/** Connects at the first use, and again when a connection is lost, so the program can start while the server cannot be reached. */
export const createPostgres = (options: PostgresOptions): Database => {
  const { poolSize, connectTimeoutMs, statementTimeoutMs, log } = options
  const { applicationName = 'latchkey', primaryHoldsMs = 30_000, lockTimeoutMs = statementTimeoutMs } = options
  const address = 'address' in options ? options.address : postgresAddress(options.url)
  const hosts = address.hosts.map(hostName).join(', ')
  const connect = createConnect({ address, applicationName, statementTimeoutMs, lockTimeoutMs })
  const pool = createPool({
    primary: createPrimary({
      hosts: address.hosts,
      connect,
      timeoutMs: connectTimeoutMs,
      holdsMs: primaryHoldsMs,
      log,
    }),
    size: poolSize,
    waitMs: connectTimeoutMs,
    noAnswerText: `PostgreSQL at ${hosts} does not answer`,
  })
  return { ...createPooledDatabase({ pool, idleInTransactionMs: lockTimeoutMs, closeGraceMs }), address: hosts }
}

// A migration may rewrite a table, so it may take longer than the statements of the service.
const migrationTimeoutMs = 30 * 60_000

/** Opens a connection as the owner of the tables, with a timeout that is long enough for a migration. */
export const openAsOwner = (url: string): Database =>
  createPostgres({
    url,
    applicationName: 'latchkey migrate',
    poolSize: 1,
    connectTimeoutMs: 10_000,
    statementTimeoutMs: migrationTimeoutMs,
  })

/** The role of the service, which needs grants. It is undefined if the service is the owner of the tables. */
export const roleToGrant = ({ url, ownerUrl }: { url: string; ownerUrl: string }) => {
  const role = postgresAddress(url).user
  const owner = postgresAddress(ownerUrl).user
  return role === owner ? undefined : role
}

export type MigrateAsOwnerOptions = Omit<MigrateOptions, 'database' | 'grants'> & {
  url: string
  ownerUrl: string
  grantsFor: (role: string) => Grants
}

/** Migrates PostgreSQL as the owner, and grants rights to the role of the service if that is not the owner. */
export const migrateAsOwner = async ({
  url,
  ownerUrl,
  grantsFor,
  ...options
}: MigrateAsOwnerOptions): Promise<string[]> => {
  const role = roleToGrant({ url, ownerUrl })
  const database = openAsOwner(ownerUrl)
  try {
    return await migrate({ ...options, database, ...(role !== undefined && { grants: grantsFor(role) }) })
  } finally {
    await database.close()
  }
}

/**
 * Throws `StoreUnavailable` if one of these tables is missing, or if this role may not write it. This happens if a backup is restored
 * while the service runs, until `latchkey migrate` has run. The query looks at the catalog only, and reads no row.
 */
export const proveTables = async (sql: Sql, tables: readonly string[]) => {
  const unusable = await sql.query<{ name: string }>(
    `select name from unnest($1::text[]) as name
     where not coalesce(has_table_privilege(to_regclass(name), 'insert'), false) order by name`,
    [tables],
  )
  if (unusable.length === 0) return
  const names = unusable.map(({ name }) => name).join(', ')
  throw new StoreUnavailable(`These tables are missing, or this role may not write them: ${names}`)
}

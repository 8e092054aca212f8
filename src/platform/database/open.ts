import { setTimeout as wait } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { builtFile } from '../../lib/home.js'
import type { Database } from './database.js'
import type { Grants } from './grants.js'
import { type MigrateOptions, migrate } from './migrate.js'
import { createPglite, DataDirectoryInUse, type PgliteOptions } from './pglite.js'
import { createPgliteClient, longestWaitMs, pauseMs, settingsOfService } from './pglite-client.js'
import { createPostgres, type PostgresOptions } from './postgres.js'
import { postgresAddress } from './postgres-address.js'

export type DatabaseOptions = { embedded: PgliteOptions } | { postgres: PostgresOptions }

/**
 * Opens the database that is configured. The embedded one is ready afterwards, or this rejects. PostgreSQL is connected
 * when first used: while it cannot be reached, statements and `migrate` reject with StoreUnavailable and may be repeated.
 */
export const openDatabase = async (options: DatabaseOptions): Promise<Database> => {
  if ('postgres' in options) return createPostgres(options.postgres)
  const templateFile = options.embedded.templateFile ?? fileURLToPath(builtFile('embedded-template.tar.gz'))
  return await createPglite({ ...options.embedded, templateFile })
}

/**
 * The embedded database for a command: through the service that has it open, or by itself if none runs. Of several commands
 * that start together, each waits for its turn.
 */
export const openEmbeddedForCommand = async (options: PgliteOptions): Promise<Database> => {
  const lastTry = performance.now() + longestWaitMs
  for (;;) {
    if (await settingsOfService(options.directory)) return createPgliteClient(options.directory)
    try {
      return await openDatabase({ embedded: options })
    } catch (error) {
      if (!(error instanceof DataDirectoryInUse) || performance.now() > lastTry) throw error
      await wait(pauseMs)
    }
  }
}

// A migration may rewrite a table; the service's own statements may not take that long.
const migrationTimeoutMs = 30 * 60_000

/** A connection of its own as the owner of the tables, with time for a migration. */
export const openAsOwner = (url: string): Database =>
  createPostgres({
    url,
    applicationName: 'latchkey migrate',
    poolSize: 1,
    connectTimeoutMs: 10_000,
    statementTimeoutMs: migrationTimeoutMs,
  })

/** The role of the service if it is not the owner of the tables: it needs grants. */
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

/** Migrates PostgreSQL as the owner, and grants rights to the service's role if that is another one. */
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

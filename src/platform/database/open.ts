import { fileURLToPath } from 'node:url'
import { compiledFile } from '../../lib/compiled.js'
import type { Database } from './database.js'
import { type MigrateOptions, migrate } from './migrate.js'
import { createPglite, type PgliteOptions } from './pglite.js'
import { createPostgres, type PostgresOptions } from './postgres.js'
import { parsePostgresAddress } from './postgres-address.js'

export type DatabaseOptions = { embedded: PgliteOptions } | { postgres: PostgresOptions }

/**
 * Opens the database that is configured. The embedded one is ready afterwards, or this rejects. PostgreSQL is connected
 * when first used: while it cannot be reached, statements and `migrate` reject with StoreUnavailable and may be repeated.
 */
export const openDatabase = async (options: DatabaseOptions): Promise<Database> => {
  if ('postgres' in options) return createPostgres(options.postgres)
  const templateFile =
    options.embedded.templateFile ?? fileURLToPath(compiledFile('../../embedded-template.tar.gz', import.meta.url))
  return await createPglite({ ...options.embedded, templateFile })
}

// A migration may rewrite a table; the service's own statements may not take that long.
const migrationTimeoutMs = 30 * 60_000

export type MigrateAsOwnerOptions = Omit<MigrateOptions, 'database' | 'role'> & { url: string; ownerUrl: string }

/** Migrates PostgreSQL over a connection of its own as the owner, and grants to the service's role when it is another. */
export const migrateAsOwner = async ({ url, ownerUrl, ...options }: MigrateAsOwnerOptions): Promise<string[]> => {
  const [role, owner] = [parsePostgresAddress(url).user, parsePostgresAddress(ownerUrl).user]
  const database = createPostgres({
    url: ownerUrl,
    applicationName: 'latchkey migrate',
    poolSize: 1,
    connectTimeoutMs: 10_000,
    statementTimeoutMs: migrationTimeoutMs,
    idleTimeoutMs: 60_000,
  })
  try {
    return await migrate({ ...options, database, ...(role !== owner && { role }) })
  } finally {
    await database.close()
  }
}

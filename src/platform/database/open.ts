import type { Database } from './database.js'
import type { Grants } from './grants.js'
import { type MigrateOptions, migrate } from './migrate.js'
import { createPostgres } from './postgres.js'
import { postgresAddress } from './postgres-address.js'

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

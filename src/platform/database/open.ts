import { dirname, resolve } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { builtFile } from '../../lib/home.js'
import type { Database } from './database.js'
import { DataDirectoryInUse, NoDatabase } from './directory-faults.js'
import { hasDatabase } from './directory-lock.js'
import type { Grants } from './grants.js'
import { type MigrateOptions, migrate } from './migrate.js'
import { createPglite, type PgliteOptions } from './pglite.js'
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

/** Tries for some seconds to open a directory that another process has, if that is worth waiting for. */
const openInTurn = async (open: () => Promise<Database>, isWorthWaiting: (inUse: DataDirectoryInUse) => boolean) => {
  const lastTry = performance.now() + longestWaitMs
  for (;;) {
    try {
      return await open()
    } catch (error) {
      if (!(error instanceof DataDirectoryInUse) || !isWorthWaiting(error) || performance.now() > lastTry) throw error
      await wait(pauseMs)
    }
  }
}

type CommandOptions = PgliteOptions & {
  /** Without it, a command in a wrong folder is refused: it would work on a new, empty database. */
  mayCreate?: boolean
}

/**
 * The embedded database for a command: through the service that has it open, or by itself if none runs. Of several commands
 * that start together, each waits for its turn.
 */
export const openEmbeddedForCommand = (options: CommandOptions): Promise<Database> =>
  openInTurn(
    async () => {
      const { directory, mayCreate } = options
      if (await settingsOfService(directory)) return createPgliteClient(directory)
      if (!mayCreate && !(await hasDatabase(directory))) throw new NoDatabase(resolve(dirname(directory)))
      return await openDatabase({ embedded: { ...options, kind: 'command' } })
    },
    () => true,
  )

/** The embedded database for a service: it waits for a command that has it open. */
export const openEmbeddedForService = async (options: PgliteOptions): Promise<Database> => {
  const { directory, log } = options
  const isNew = !(await hasDatabase(directory))
  let isSaid = false
  const database = await openInTurn(
    () => openDatabase({ embedded: { ...options, kind: 'service' } }),
    ({ holder }) => {
      if (holder?.kind !== 'command') return false
      if (!isSaid) log?.info({ pid: holder.pid }, 'a command uses the data directory: waiting until it has ended')
      isSaid = true
      return true
    },
  )
  if (isNew) log?.info({}, `made a new database in ${resolve(dirname(directory))}`)
  return database
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

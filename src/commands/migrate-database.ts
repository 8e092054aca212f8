import { existsSync } from 'node:fs'
import { embeddedDirectory } from '../app/open-platform.js'
import { migrationsDirectory as directory } from '../app/prepare-database.js'
import { ConfigurationFaults, type Environment, loadSettings } from '../config.js'
import { grantsFor } from '../domain/tables.js'
import type { Database } from '../platform/database/database.js'
import { migrate, schemaStatus } from '../platform/database/migrate.js'
import { openAsOwner, openDatabase, roleToGrant } from '../platform/database/open.js'
import { commandLog } from './command-log.js'

type Place = { ownerUrl: string; serviceRole: string | undefined } | { embedded: string }

/** Reads only what a migration needs: it can run without the signing secret and the mail server. */
export const placeFrom = (environment: Environment): Place => {
  const settings = loadSettings(environment, ['NODE_ENV', 'DATA_DIR', 'DATABASE_URL', 'DATABASE_OWNER_URL'])
  const { databaseUrl: url, databaseOwnerUrl } = settings
  const ownerUrl = databaseOwnerUrl ?? url
  if (ownerUrl !== undefined)
    return { ownerUrl, serviceRole: url === undefined ? undefined : roleToGrant({ url, ownerUrl }) }
  if (settings.nodeEnv === 'production')
    throw new ConfigurationFaults(['DATABASE_OWNER_URL or DATABASE_URL: one of them must be set in production'])
  return { embedded: embeddedDirectory(settings) }
}

const open = async (place: Place): Promise<Database> =>
  'ownerUrl' in place
    ? openAsOwner(place.ownerUrl)
    : openDatabase({ embedded: { directory: place.embedded, log: commandLog() } })

const withDatabase = async <Result>(place: Place, work: (database: Database) => Promise<Result>) => {
  const database = await open(place)
  try {
    return await work(database)
  } finally {
    await database.close()
  }
}

/** Opening an embedded database that does not exist yet would create it. */
export const statusOf = (place: Place) =>
  'embedded' in place && !existsSync(place.embedded)
    ? schemaStatus({ directory })
    : withDatabase(place, (database) => schemaStatus({ database, directory }))

/** Applies what is missing, grants the role its rights, and returns the names of what was applied. */
export const applyMissing = (place: Place, role: string | undefined) =>
  withDatabase(place, (database) =>
    migrate({ database, directory, ...(role !== undefined && { grants: grantsFor(role) }) }),
  )

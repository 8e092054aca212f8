import { existsSync } from 'node:fs'
import { embeddedDirectory } from '../../app/open-platform.js'
import { migrationsDirectory as directory } from '../../app/prepare-database.js'
import { ConfigurationFaults, type Environment, loadSettings } from '../../config.js'
import { grantsFor, readableTables, writableTables } from '../../domain/tables.js'
import type { Database } from '../../platform/database/database.js'
import { openEmbeddedForCommand } from '../../platform/database/embedded.js'
import { requireRole } from '../../platform/database/grants.js'
import {
  describeSchema,
  migrate,
  requireOneSchema,
  requireOwner,
  schemaStatus,
} from '../../platform/database/migrate.js'
import { openAsOwner, roleToGrant } from '../../platform/database/open.js'
import { postgresAddress } from '../../platform/database/postgres-address.js'
import { hostName } from '../../platform/database/primary.js'
import { commandLog } from '../terminal/command-log.js'

export type MigrationTarget = { ownerUrl: string; serviceRole: string | undefined } | { embedded: string }

/** Reads only the settings that a migration needs, so it can run without the signing secret and the mail server. */
export const targetFrom = (environment: Environment): MigrationTarget => {
  const settings = loadSettings(environment, ['NODE_ENV', 'DATA_DIR', 'DATABASE_URL', 'DATABASE_OWNER_URL'])
  const { databaseUrl: url, databaseOwnerUrl } = settings
  const ownerUrl = databaseOwnerUrl ?? url
  if (ownerUrl !== undefined)
    return { ownerUrl, serviceRole: url === undefined ? undefined : roleToGrant({ url, ownerUrl }) }
  if (settings.nodeEnv === 'production')
    throw new ConfigurationFaults(['DATABASE_OWNER_URL or DATABASE_URL: one of them must be set in production'])
  return { embedded: embeddedDirectory(settings) }
}

/** The name of the database for messages, without its password. */
export const nameOfTarget = (target: MigrationTarget) => {
  if ('embedded' in target) return `the embedded database in ${target.embedded}`
  const { database, hosts } = postgresAddress(target.ownerUrl)
  return `the database ${database} at ${hosts.map(hostName).join(', ')}`
}

const open = async (target: MigrationTarget): Promise<Database> =>
  'ownerUrl' in target
    ? openAsOwner(target.ownerUrl)
    : openEmbeddedForCommand({ directory: target.embedded, log: commandLog(), mayCreate: true })

const withDatabase = async <Result>(target: MigrationTarget, work: (database: Database) => Promise<Result>) => {
  const database = await open(target)
  try {
    return await work(database)
  } finally {
    await database.close()
  }
}

/** An embedded database that does not exist must not be opened to look at it, because opening creates it with all migrations. */
const isMissing = (target: MigrationTarget) => 'embedded' in target && !existsSync(target.embedded)

const withExistingDatabase = <Result>(
  target: MigrationTarget,
  read: (database: Database | undefined) => Promise<Result>,
) => (isMissing(target) ? read(undefined) : withDatabase(target, read))

const schemaParts = (database: Database | undefined) => ({ directory, ...(database && { database }) })

/** The state of every migration. Unlike `planFor`, it does not reject a schema on which this version must not run. */
export const statusOf = (target: MigrationTarget) =>
  withExistingDatabase(target, (database) => describeSchema(schemaParts(database)))

/** The state of the schema, with the pending migrations. Rejects if `applyMissing` would. Changes nothing. */
export const planFor = (target: MigrationTarget, role: string | undefined) =>
  withExistingDatabase(target, async (database) => {
    if (database && role !== undefined) await requireRole(database, role)
    const status = await schemaStatus(schemaParts(database))
    if (database && (status.pending.length > 0 || role !== undefined)) {
      await requireOneSchema(database)
      await requireOwner(database, [...writableTables, ...readableTables])
    }
    return status
  })

/** Applies the pending migrations, grants the role its rights, and returns what was applied and the new state of the schema. */
export const applyMissing = async (target: MigrationTarget, role: string | undefined) => {
  const isNew = isMissing(target)
  return withDatabase(target, async (database) => {
    const appliedNow = await migrate({ database, directory, ...(role !== undefined && { grants: grantsFor(role) }) })
    const status = await schemaStatus({ database, directory })
    return { applied: isNew ? status.applied.map(({ name }) => name) : appliedNow, status }
  })
}

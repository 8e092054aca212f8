import type { Database } from '../../platform/database/database.js'
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
import { commandLog } from '../../platform/log.js'
import { roles } from '../../platform/own-postgres/cluster.js'
import { hasCluster, type OwnConfig, openForCommand } from '../../platform/own-postgres/own-postgres.js'
import { ownConfigOf } from '../../service/own-database.js'
import { migrationsDirectory as directory } from '../../service/prepare-database.js'
import { grantsFor, readableTables, writableTables } from '../../service/tables.js'
import { type Environment, loadSettings } from '../../settings/config.js'
import { settings } from '../../settings/settings.js'

/** The role of the service gets rights; of a PostgreSQL of our own it is known. */
export type MigrationTarget =
  | { ownerUrl: string; serviceRole: string | undefined }
  | { own: OwnConfig; serviceRole: string }

/** Reads only the settings that a migration needs, so it can run without the mail server and the other settings. */
export const targetFrom = (environment: Environment): MigrationTarget => {
  const { databaseUrl: url, databaseOwnerUrl } = loadSettings(environment, [
    'NODE_ENV',
    'DATABASE_URL',
    'DATABASE_OWNER_URL',
  ])
  const ownerUrl = databaseOwnerUrl ?? url
  if (ownerUrl !== undefined)
    return { ownerUrl, serviceRole: url === undefined ? undefined : roleToGrant({ url, ownerUrl }) }
  const own = loadSettings(environment, [
    'NODE_ENV',
    'DATA_DIR',
    'POSTGRES_BIN',
    'JWT_SECRET',
    'SEALING_KEY',
    'DATABASE_POOL',
    'WORKERS',
  ])
  return { own: ownConfigOf({ ...own, production: own.nodeEnv === 'production' }), serviceRole: roles.service }
}

/** The name of the database for messages, without its password. */
export const nameOfTarget = (target: MigrationTarget) => {
  if ('own' in target) return `the database in ${target.own.dataDir}`
  const { database, hosts } = postgresAddress(target.ownerUrl)
  return `the database ${database} at ${hosts.map(hostName).join(', ')}`
}

/** Where no folder is named, a missing database is not made: the command was probably called in a wrong folder. */
const mayCreate = ({ dataDir, production }: OwnConfig) => !production || dataDir !== settings.DATA_DIR.fallback

const withDatabase = async <Result>(target: MigrationTarget, work: (database: Database) => Promise<Result>) => {
  const own =
    'own' in target
      ? await openForCommand({ config: target.own, log: commandLog(), mayCreate: mayCreate(target.own) })
      : undefined
  try {
    const database = openAsOwner('own' in target ? (own?.settings.databaseOwnerUrl ?? '') : target.ownerUrl)
    try {
      return await work(database)
    } finally {
      await database.close()
    }
  } finally {
    await own?.close()
  }
}

/** A database of our own that does not exist must not be opened to look at it, because opening creates it. */
const isMissing = async (target: MigrationTarget) => 'own' in target && !(await hasCluster(target.own.dataDir))

const withExistingDatabase = async <Result>(
  target: MigrationTarget,
  read: (database: Database | undefined) => Promise<Result>,
) => ((await isMissing(target)) ? read(undefined) : withDatabase(target, read))

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
export const applyMissing = (target: MigrationTarget, role: string | undefined) =>
  withDatabase(target, async (database) => {
    const applied = await migrate({ database, directory, ...(role !== undefined && { grants: grantsFor(role) }) })
    return { applied, status: await schemaStatus({ database, directory }) }
  })

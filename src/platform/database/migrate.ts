import { createHash } from 'node:crypto'
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { OperatorError } from '../../lib/operator-error.js'
import { type Database, type Sql, StoreUnavailable, type Transaction } from './database.js'
import { type Grants, grant, requireRole, rightsToMigrate } from './grants.js'
import { hasOwnTables, type NamedSql } from './own-tables.js'

/** A newer program has migrated the database, and a migration of it does not let this program run. */
export class SchemaTooNew extends OperatorError {
  override name = 'SchemaTooNew'
}

/** The database is older than this program, and this role may not or should not migrate it. */
export class SchemaOutdated extends OperatorError {
  override name = 'SchemaOutdated'
}

/** The migration files and the applied migrations in the database do not match. */
export class MigrationsBroken extends OperatorError {
  override name = 'MigrationsBroken'
}

/**
 * `oldestProgram` is the number of the last migration that an older program must know to run on this one; null when
 * every older program must stop.
 */
type Migration = { name: string; text: string; checksum: string; oldestProgram: number | null }
type Applied = { name: string; checksum: string; appliedAt: Date; oldestProgram: number | null }
type AppliedRow = { name: string; checksum: string; applied_at: Date; oldest_program: number | null }

export type SchemaStatus = {
  applied: Pick<Applied, 'name' | 'appliedAt' | 'oldestProgram'>[]
  /** The program has these and the database does not. */
  pending: Pick<Migration, 'name' | 'oldestProgram'>[]
  /** The database has these and the program does not know them. All of them let the program run. */
  newer: string[]
}

type SchemaOptions = Pick<MigrateOptions, 'database' | 'directory'>

export type MigrateOptions = {
  /** Connected as the role that owns the schema. */
  database: Database
  /** The folder of NNNN-name.sql files. */
  directory: string
  /** For the role of the running service, if it is another one. */
  grants?: Grants
  /** How long to wait for another instance that is migrating. */
  timeoutMs?: number
}

// One number for every Latchkey on a PostgreSQL server; advisory locks are separate in each database.
const lockKey = 7_284_110_452
const pauseMs = 100
/**
 * How long a migration waits for a lock: requests wait behind it. PostgreSQL looks for deadlocks after a second (and may choose a
 * request to give up): before that, the migration lets everything go and comes again.
 */
const lockMs = 500

/**
 * Applies what is missing, in order, each file in a transaction of its own. Returns the names of what it applied. The database of
 * a running service is left to that service.
 */
export const migrate = async ({
  database,
  directory,
  grants,
  timeoutMs = 10 * 60_000,
}: MigrateOptions): Promise<string[]> => {
  const migrations = await readMigrations(directory)
  const appliedNames: string[] = []
  if (database.isMigratedByService) {
    await waitForService(database, migrations)
    return appliedNames
  }
  const giveUpAt = performance.now() + timeoutMs
  if (grants) await requireRole(database, grants.role)
  const { pending } = await compare(database, migrations).catch(explainUnreadable)
  if (!grants && pending.length === 0) return appliedNames
  for (;;) {
    const step = await database
      .transaction((sql) => applyNext(sql, migrations, grants))
      .catch(busyIfLocked)
      .catch(explainRefusal)
    if (step === 'finished') return appliedNames
    if (step !== 'busy') appliedNames.push(step.applied)
    else if (performance.now() > giveUpAt)
      throw new StoreUnavailable(
        'The database cannot be migrated: another instance migrates it, or a dump holds its tables',
      )
    else await wait(pauseMs)
  }
}

/** How long a service may take from the opening of its database to the last migration. */
const longestStartMs = 10_000

/** A service of this version applies every migration at its start. If one is missing later, its tables are not what they seem. */
const waitForService = async (database: Database, migrations: Migration[]) => {
  const giveUpAt = performance.now() + longestStartMs
  for (;;) {
    const { pending } = await compare(database, migrations)
    const [first] = pending
    if (!first) return
    if (performance.now() > giveUpAt)
      throw new SchemaOutdated(
        `The database of the running service lacks ${first.name}, and a command does not add it: restart the service.`,
      )
    await wait(pauseMs)
  }
}

/** For an instance that must not migrate: resolves if the program can run on the schema, and otherwise says what to run. */
export const checkSchema = async (options: SchemaOptions): Promise<void> => {
  const [first] = await pendingMigrations(options)
  if (first)
    throw new SchemaOutdated(`The database lacks ${first}: run \`latchkey migrate\` as the role that owns the schema.`)
}

/** The names of the files that have not been applied yet. */
export const pendingMigrations = async (options: SchemaOptions): Promise<string[]> =>
  (await schemaStatus(options)).pending.map(({ name }) => name)

/**
 * The migrations that were applied, those that are missing, and those that a newer program has added. Rejects when this program must not
 * run on it. Without a database, nothing was applied.
 */
export const schemaStatus = async (options: Partial<SchemaOptions> & { directory: string }): Promise<SchemaStatus> => {
  const migrations = await readMigrations(options.directory)
  if (!options.database) return { applied: [], pending: migrations, newer: [] }
  return await compare(options.database, migrations).catch(explainUnreadable)
}

/** For a report: as `schemaStatus`, but also for a schema on which this program must not run, with the reason. */
export const describeSchema = async (
  options: Partial<SchemaOptions> & { directory: string },
): Promise<SchemaStatus & { tooNew?: string }> => {
  const migrations = await readMigrations(options.directory)
  const applied = options.database ? await readApplied(options.database).catch(explainUnreadable) : []
  const { newer, refusal } = newerThan(migrations, applied)
  if (!refusal) return schemaStatus(options)
  const pending = migrations.filter(({ name }) => !applied.some((each) => each.name === name))
  return { applied, pending, newer: newer.map(({ name }) => name), tooNew: refusal.message }
}

// The lock belongs to the transaction: it ends with the commit, or with the connection if the process is killed. The state
// is read while holding it, so a second instance finds the work done. We try the lock instead of waiting for it, because a
// waiting statement would run into the timeouts for broken servers.
const applyNext = async (sql: Transaction, migrations: Migration[], grants: Grants | undefined) => {
  const [lock] = await sql.query<{ mine: boolean }>('select pg_try_advisory_xact_lock($1) as mine', [lockKey])
  if (!lock?.mine) return 'busy'
  // Before the state is read: a connection may remember that the table does not exist, although the instance that had the
  // lock has created it. `create table if not exists` refreshes that; a lookup by name does not.
  await sql.script(tableOfMigrations)
  const { pending, newer } = await compare(sql, migrations)
  const [next] = pending
  if (!next) {
    // Only the newer program knows what the role needs on a newer schema, and it has granted that.
    if (grants && newer.length === 0) await grant(sql, grants)
    return 'finished'
  }
  await sql.script(`set local lock_timeout = '${lockMs}ms'`)
  await sql.script(next.text)
  await sql.query(
    'insert into schema_migrations (name, checksum, applied_at, oldest_program) values ($1, $2, now(), $3)',
    [next.name, next.checksum, next.oldestProgram],
  )
  return { applied: next.name }
}

/** 55P03: a lock was not free in time. 40P01: a deadlock. Nothing was changed. */
const busyIfLocked = (error: unknown) => {
  const cause = error instanceof StoreUnavailable ? error.cause : undefined
  if (cause instanceof Error && 'code' in cause && (cause.code === '55P03' || cause.code === '40P01'))
    return 'busy' as const
  throw error
}

const tableOfMigrations = `create table if not exists schema_migrations (
  name text primary key,
  checksum text not null,
  applied_at timestamptz not null,
  oldest_program integer
)`

const explainPrivilege =
  (text: string) =>
  (error: unknown): never => {
    // 42501: insufficient privilege
    if (error instanceof Error && 'code' in error && error.code === '42501')
      throw new SchemaOutdated(text, { cause: error })
    throw error
  }

const notOwner =
  'The database must be migrated and this role may not do it: run `latchkey migrate` as the role that owns the schema.'
const explainRefusal = explainPrivilege(notOwner)

/** Rejects when the role of this connection cannot migrate: it may create no tables, or others own them. Changes nothing. */
export const requireOwner = async (sql: Sql, tables: readonly string[]) => {
  const { creates, tablesOfOthers } = await rightsToMigrate(sql, tables)
  if (!creates || tablesOfOthers > 0) throw new SchemaOutdated(notOwner)
}

// For example after a restore without privileges.
const explainUnreadable = explainPrivilege(
  'The tables are there and this role has no rights on them: run `latchkey migrate` as the role that owns the schema, which grants them.',
)

/** The migrations that a newer program has applied, and the reason if this one must not run on them. */
const newerThan = (migrations: Migration[], applied: Applied[]) => {
  const newest = migrations.length
  const known = new Set(migrations.map(({ name }) => name))
  const newer = applied.filter(({ name }) => !known.has(name) && numberOf(name) > newest)
  const refusing = newer.find(({ oldestProgram }) => oldestProgram === null || oldestProgram > newest)
  const refusal =
    refusing &&
    new SchemaTooNew(
      `The database has ${refusing.name}, which is newer than this program and does not let it run: start the newer program.`,
    )
  return { newer, refusal }
}

const compare = async (sql: NamedSql, migrations: Migration[]) => {
  const applied = await readApplied(sql)
  const { newer, refusal } = newerThan(migrations, applied)
  if (refusal) throw refusal
  const known = new Map(migrations.map((migration) => [migration.name, migration]))
  const shared = applied.filter((each) => !newer.includes(each))
  for (const { name, checksum } of shared) {
    const ownMigration = known.get(name)
    if (!ownMigration) throw new MigrationsBroken(`The database has ${name}, which this program does not have.`)
    if (ownMigration.checksum !== checksum) throw new MigrationsBroken(`${name} was changed after it had been applied.`)
  }
  // If the database has newer migrations, all migrations of this program must be there as well.
  const places = newer.length > 0 ? migrations : migrations.slice(0, shared.length)
  const gap = places.find(({ name }, place) => name !== shared[place]?.name)
  if (gap) throw new MigrationsBroken(`${gap.name} was not applied, although later ones were.`)
  return { applied, pending: migrations.slice(shared.length), newer: newer.map(({ name }) => name) }
}

const readApplied = async (sql: NamedSql): Promise<Applied[]> => {
  if (!(await hasOwnTables(sql))) return []
  const rows = await sql.query<AppliedRow>(
    'select name, checksum, applied_at, oldest_program from schema_migrations order by name',
  )
  return rows.map(({ applied_at: appliedAt, oldest_program: oldestProgram, ...row }) => ({
    ...row,
    appliedAt,
    oldestProgram,
  }))
}

const numberOf = (name: string) => Number.parseInt(name, 10) || 0

const readMigrations = async (directory: string): Promise<Migration[]> => {
  const files = await readdir(directory).catch(() => {
    throw new MigrationsBroken(`The folder ${directory} cannot be read: it comes with the program, next to dist/.`)
  })
  const names = files.filter((name) => name.endsWith('.sql')).sort()
  for (const [place, name] of names.entries()) {
    if (!/^\d{4}-[a-z0-9-]+\.sql$/.test(name)) throw new MigrationsBroken(`${name} is not named NNNN-name.sql.`)
    if (numberOf(name) !== place + 1)
      throw new MigrationsBroken(`${name} is not number ${place + 1}: one is missing or doubled.`)
  }
  return await Promise.all(names.map((name) => readMigration(directory, name)))
}

const readMigration = async (directory: string, name: string): Promise<Migration> => {
  // A checkout on Windows may have other line ends, which must not change the checksum.
  const text = (await readFile(join(directory, name), 'utf8')).replaceAll('\r\n', '\n')
  const checksum = createHash('sha256').update(text).digest('hex')
  return { name, text, checksum, oldestProgram: readOldestProgram(name, text) }
}

const firstLine = /^-- older programs: (?:can run from (?<oldest>\d{4})|must stop)(?:\n|$)/

// No program is older than the first migration.
const readOldestProgram = (name: string, text: string): number | null => {
  if (numberOf(name) === 1) return null
  const line = firstLine.exec(text)
  const oldest = line?.groups?.oldest
  if (!line || (oldest !== undefined && (numberOf(oldest) < 1 || numberOf(oldest) >= numberOf(name))))
    throw new MigrationsBroken(
      `${name} must begin with "-- older programs: can run from NNNN" (an earlier number) or "-- older programs: must stop".`,
    )
  return oldest === undefined ? null : numberOf(oldest)
}

import { createHash } from 'node:crypto'
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { codeOf } from '../../lib/caught.js'
import { OperatorError } from '../../lib/operator-error.js'
import { type Database, type Sql, StoreUnavailable, type Transaction } from './database.js'
import { type Grants, grant, requireRole, rightsToMigrate } from './grants.js'

/** A newer program has migrated the database, with a migration that does not let this program run. */
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
 * `oldestProgram` is the number of the last migration that an older program must know to run on a schema with this migration. It is
 * null if every older program must stop.
 */
export type Migration = { name: string; text: string; checksum: string; oldestProgram: number | null }
type AppliedMigration = { name: string; checksum: string; appliedAt: Date; oldestProgram: number | null }
type AppliedRow = { name: string; checksum: string; applied_at: Date; oldest_program: number | null }

export type SchemaStatus = {
  applied: Pick<AppliedMigration, 'name' | 'appliedAt' | 'oldestProgram'>[]
  /** The migrations that the program has and the database does not. */
  pending: Pick<Migration, 'name' | 'oldestProgram'>[]
  /** The migrations that the database has and the program does not know. All of them let the program run. */
  newer: string[]
}

type Script = Pick<Transaction, 'query' | 'script'>
type SchemaOptions = Pick<MigrateOptions, 'database' | 'directory'>

export type MigrateOptions = {
  /** The database, connected as the role that owns the schema. */
  database: Database
  /** The folder of NNNN-name.sql files. */
  directory: string
  /** The rights of the role of the running service, if that is not the owner. */
  grants?: Grants
  /** How long to wait for another instance that is migrating. */
  timeoutMs?: number
}

// Every Latchkey has the same number. That is enough, because each database of a server has its own advisory locks.
export const migrationLock = 7_284_110_452
const pauseMs = 100
/**
 * How long a migration waits for a lock. The time is short, because requests wait behind the migration. After a second PostgreSQL looks
 * for deadlocks, and may end a request instead of the migration. Before that, the migration releases everything and tries again.
 */
const lockMs = 500

/**
 * Applies the missing migrations in order, each in a transaction of its own, and returns their names.
 */
export const migrate = async ({
  database,
  directory,
  grants,
  timeoutMs = 10 * 60_000,
}: MigrateOptions): Promise<string[]> => {
  const migrations = await readMigrations(directory)
  const appliedNames: string[] = []
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

/** Rejects if the program cannot run on the schema, and says what to run. It is for an instance that must not migrate. */
export const checkSchema = async (options: SchemaOptions): Promise<void> => {
  const [first] = await pendingMigrations(options)
  if (first)
    throw new SchemaOutdated(`The database lacks ${first}: run \`latchkey migrate\` as the role that owns the schema.`)
}

/** The names of the files that have not been applied yet. */
export const pendingMigrations = async (options: SchemaOptions): Promise<string[]> =>
  (await schemaStatus(options)).pending.map(({ name }) => name)

/**
 * The migrations that were applied, those that are missing, and those that a newer program has added. Rejects if this program must not
 * run on the schema. Without a database, all migrations are missing.
 */
export const schemaStatus = async (options: Partial<SchemaOptions> & { directory: string }): Promise<SchemaStatus> => {
  const migrations = await readMigrations(options.directory)
  if (!options.database) return { applied: [], pending: migrations, newer: [] }
  return await compare(options.database, migrations).catch(explainUnreadable)
}

/** Like `schemaStatus`, but does not reject a schema on which this program must not run: `tooNew` has the reason. */
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

// The lock belongs to the transaction: it ends with the commit, or with the connection if the process is killed. The state is read
// under the lock, so a second instance finds the work done. The lock is tried and not waited for, because a waiting statement would run
// into the timeouts for broken servers.
const applyNext = async (sql: Transaction, migrations: Migration[], grants: Grants | undefined) => {
  const [lock] = await sql.query<{ mine: boolean }>('select pg_try_advisory_xact_lock($1) as mine', [migrationLock])
  if (!lock?.mine) return 'busy'
  await requireOneSchema(sql)
  // This comes before the state is read. A connection may remember that the table does not exist, although the instance that had the
  // lock has created it. `create table if not exists` refreshes what the connection knows; a lookup by name does not.
  await sql.script(tableOfMigrations)
  const { pending, newer } = await compare(sql, migrations)
  const [next] = pending
  if (!next) {
    // Only the newer program knows what the role needs on a newer schema, and it has granted that.
    if (grants && newer.length === 0) await grant(sql, grants)
    return 'finished'
  }
  await sql.script(`set local lock_timeout = '${lockMs}ms'`)
  await apply(sql, next)
  return { applied: next.name }
}

const apply = async (sql: Script, { name, text, checksum, oldestProgram }: Migration) => {
  await sql.script(text)
  await sql.query(
    'insert into schema_migrations (name, checksum, applied_at, oldest_program) values ($1, $2, now(), $3)',
    [name, checksum, oldestProgram],
  )
}

/** Applies these migrations in the transaction of the caller, who holds the lock. */
export const applyInTransaction = async (sql: Script, migrations: readonly Migration[]) => {
  await sql.script(tableOfMigrations)
  for (const migration of migrations) await apply(sql, migration)
}

/** 55P03 means that a lock was not free in time, and 40P01 a deadlock. In both cases nothing was changed. */
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
    if (codeOf(error) === '42501') throw new SchemaOutdated(text, { cause: error })
    throw error
  }

const notOwnerText =
  'The database must be migrated and this role may not do it: run `latchkey migrate` as the role that owns the schema.'
const explainRefusal = explainPrivilege(notOwnerText)

/** Rejects if the role of this connection cannot migrate, because it may not create tables or does not own them. Changes nothing. */
export const requireOwner = async (sql: Sql, tables: readonly string[]) => {
  const { creates, tablesOfOthers } = await rightsToMigrate(sql, tables)
  if (!creates || tablesOfOthers > 0) throw new SchemaOutdated(notOwnerText)
}

// This can happen after a restore without privileges.
const explainUnreadable = explainPrivilege(
  'The tables are there and this role has no rights on them: run `latchkey migrate` as the role that owns the schema, which grants them.',
)

/** The migrations that a newer program has applied, and the error if this program must not run on them. */
const newerThan = (migrations: Migration[], applied: AppliedMigration[]) => {
  const newest = migrations.length
  const known = new Set(migrations.map(({ name }) => name))
  const newer = applied.filter(({ name }) => !known.has(name) && numberOf(name) > newest)
  const refusingMigration = newer.find(({ oldestProgram }) => oldestProgram === null || oldestProgram > newest)
  const refusal =
    refusingMigration &&
    new SchemaTooNew(
      `The database has ${refusingMigration.name}, which is newer than this program and does not let it run: start the newer program.`,
    )
  return { newer, refusal }
}

const compare = async (sql: NamedSql, migrations: Migration[]) => {
  const applied = await readApplied(sql)
  const { newer, refusal } = newerThan(migrations, applied)
  if (refusal) throw refusal
  const known = new Map(migrations.map((migration) => [migration.name, migration]))
  const sharedMigrations = applied.filter((each) => !newer.includes(each))
  for (const { name, checksum } of sharedMigrations) {
    const ownMigration = known.get(name)
    if (!ownMigration) throw new MigrationsBroken(`The database has ${name}, which this program does not have.`)
    if (ownMigration.checksum !== checksum) throw new MigrationsBroken(`${name} was changed after it had been applied.`)
  }
  // If the database has newer migrations, all migrations of this program must be there as well.
  const places = newer.length > 0 ? migrations : migrations.slice(0, sharedMigrations.length)
  const missingMigration = places.find(({ name }, place) => name !== sharedMigrations[place]?.name)
  if (missingMigration)
    throw new MigrationsBroken(`${missingMigration.name} was not applied, although later ones were.`)
  return { applied, pending: migrations.slice(sharedMigrations.length), newer: newer.map(({ name }) => name) }
}

const readApplied = async (sql: NamedSql): Promise<AppliedMigration[]> => {
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

/** The migrations of this program, in their order. */
export const readMigrations = async (directory: string): Promise<Migration[]> => {
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

// The first migration has no such line, because no program is older.
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

/** The schema for our tables belongs to another program, or does not exist. Nothing was changed. */
export class ForeignSchema extends OperatorError {
  override name = 'ForeignSchema'
}

export type NamedSql = Sql & Pick<Database, 'address'>

/** `schema` is where new tables would be created, `ownSchema` where those of this program are. */
type SchemaContent = {
  database: string
  schema: string | null
  path: string
  ownSchema: string | null
  others: string[]
}

// Rails and golang-migrate have a table `schema_migrations` too, so ours is recognised by its columns. Everything is read with one
// snapshot of the catalog, so that an instance that migrates at this moment is not taken for another program. Tables of extensions do
// not count.
const readSchemaContent = `
  select current_database()::text as database, current_schema()::text as schema, current_setting('search_path') as path,
    (
      select case when (
        select count(*) = 4 from pg_attribute
         where attrelid = pg_class.oid and attname in ('name', 'checksum', 'applied_at', 'oldest_program')
      ) then nspname::text end
      from unnest(current_schemas(false)) with ordinality as searched (name, place)
      join pg_namespace on nspname = searched.name
      join pg_class on relnamespace = pg_namespace.oid and relname = 'schema_migrations'
      order by place limit 1
    ) as "ownSchema",
    array(
      select relname::text from pg_class
       where relnamespace = (select oid from pg_namespace where nspname = current_schema())
         and relkind in ('r', 'p') and not relispartition
         and not exists (
           select from pg_depend
            where classid = 'pg_class'::regclass and objid = pg_class.oid and deptype = 'e'
         )
       order by relname limit 4
    ) as others`

const listNames = (names: readonly string[]) =>
  names.length > 3 ? `${names.slice(0, 3).join(', ')} and others` : names.join(', ')

const contentOf = async (sql: NamedSql) => {
  const [content] = await sql.query<SchemaContent>(readSchemaContent)
  if (!content) throw new Error('The database gave no answer')
  const address = sql.address === undefined ? '' : ` at ${sql.address}`
  return { ...content, databaseText: `The database ${content.database}${address}` }
}

/**
 * Whether the tables of this program exist. Rejects if they do not exist, but tables of another program do: two programs in one schema
 * would share names, rights and backups.
 */
export const hasOwnTables = async (sql: NamedSql): Promise<boolean> => {
  const { databaseText, schema, path, ownSchema, others } = await contentOf(sql)
  if (ownSchema !== null) return true
  if (schema === null)
    throw new ForeignSchema(
      `${databaseText} has no schema of the search_path ${path} that this role may use: create it, as the owner of the tables, ` +
        'or run `latchkey migrate`, which grants the rights.',
    )
  if (others.length > 0)
    throw new ForeignSchema(
      `${databaseText} belongs to another program: its schema ${schema} has the tables ${listNames(others)}. Nothing was changed. ` +
        'Create a database for Latchkey alone and name it in DATABASE_URL (in a .env: LATCHKEY_DATABASE_URL), or a schema, ' +
        'and end the address with ?search_path=SCHEMA.',
    )
  return false
}

/**
 * Rejects if a migration would create tables in another schema than that of the existing tables. This can happen if a schema that was
 * created later, such as one with the name of the role, comes first in the search_path. The program would then find an empty installation.
 */
export const requireOneSchema = async (sql: NamedSql): Promise<void> => {
  const { databaseText, schema, path, ownSchema } = await contentOf(sql)
  if (ownSchema !== null && ownSchema !== schema)
    throw new ForeignSchema(
      `${databaseText} has the tables of Latchkey in the schema ${ownSchema}, and the search_path ${path} would create new ones in the schema ` +
        `${schema}. Nothing was changed. End the address of the owner with ?search_path=${ownSchema}.`,
    )
}

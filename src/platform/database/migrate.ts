import { createHash } from 'node:crypto'
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { type Database, type Sql, StoreUnavailable, type Transaction } from './database.js'
import { grantTo } from './grants.js'

/** The database has been migrated by a newer program: this one would misread it. */
export class SchemaTooNew extends Error {
  override name = 'SchemaTooNew'
}

/** The database is behind this program, and whoever asks may not or should not change it. */
export class SchemaOutdated extends Error {
  override name = 'SchemaOutdated'
}

/** The files and what the database says was applied do not belong together. */
export class MigrationsBroken extends Error {
  override name = 'MigrationsBroken'
}

type Migration = { name: string; text: string; checksum: string }
type Applied = { name: string; checksum: string }

export type MigrateOptions = {
  /** Connected as the role that owns the schema. */
  database: Database
  /** The folder of NNNN-name.sql files. */
  directory: string
  /** The role of the running service, if it is another: it is granted what it needs and nothing more. */
  role?: string
  /** How long to wait for another instance that is migrating. */
  patienceMs?: number
}

// One number for every Latchkey on a PostgreSQL server; advisory locks are separate in each database.
const lockKey = 7_284_110_452
const pauseMs = 100

/** Applies what is missing, in order, each file in a transaction of its own. Answers with the names of what it applied. */
export const migrate = async ({
  database,
  directory,
  role,
  patienceMs = 10 * 60_000,
}: MigrateOptions): Promise<string[]> => {
  const migrations = await readMigrations(directory)
  const done: string[] = []
  const giveUpAt = performance.now() + patienceMs
  if (!role && (await missing(database, migrations).catch(explainRefusal)).length === 0) return done
  for (;;) {
    const step = await database.transaction((sql) => applyNext(sql, migrations, role)).catch(explainRefusal)
    if (step === 'finished') return done
    if (step !== 'busy') done.push(step.applied)
    else if (performance.now() > giveUpAt)
      throw new StoreUnavailable('Another instance has been migrating the database for too long')
    else await wait(pauseMs)
  }
}

/** For an instance that must not migrate: resolves when the schema is the program's own, and says what to run when not. */
export const checkSchema = async ({
  database,
  directory,
}: Pick<MigrateOptions, 'database' | 'directory'>): Promise<void> => {
  const [first] = await pendingMigrations({ database, directory })
  if (first)
    throw new SchemaOutdated(`The database lacks ${first}: run \`latchkey migrate\` as the role that owns the schema.`)
}

/** The names of the files that have not been applied yet. */
export const pendingMigrations = async ({
  database,
  directory,
}: Pick<MigrateOptions, 'database' | 'directory'>): Promise<string[]> =>
  (await missing(database, await readMigrations(directory)).catch(explainRefusal)).map(({ name }) => name)

// The lock belongs to the transaction. It goes with the commit, and with the connection when the process is killed; the
// state is read under it, so whoever comes second finds the work done. Asked for, not waited for: a statement that waits
// would run into the timeouts that are there for broken servers.
const applyNext = async (sql: Transaction, migrations: Migration[], role: string | undefined) => {
  const [lock] = await sql.query<{ mine: boolean }>('select pg_try_advisory_xact_lock($1) as mine', [lockKey])
  if (!lock?.mine) return 'busy'
  // Before the look at what is applied: a session may still remember that there is no such table, although whoever had the
  // lock until now has made it. Making it, unlike asking for it by name, hears of that.
  await sql.script(tableOfMigrations)
  const [next] = await missing(sql, migrations)
  if (!next) {
    if (role) await grantTo(sql, role)
    return 'finished'
  }
  await sql.script(next.text)
  await sql.query('insert into schema_migrations (name, checksum, applied_at) values ($1, $2, now())', [
    next.name,
    next.checksum,
  ])
  return { applied: next.name }
}

const tableOfMigrations = `create table if not exists schema_migrations (
  name text primary key,
  checksum text not null,
  applied_at timestamptz not null
)`

const explainRefusal = (error: unknown): never => {
  // 42501: insufficient privilege
  if (error instanceof Error && 'code' in error && error.code === '42501') {
    const text =
      'The database must be migrated and this role may not do it: run `latchkey migrate` as the role that owns the schema.'
    throw new SchemaOutdated(text, { cause: error })
  }
  throw error
}

const missing = async (sql: Sql, migrations: Migration[]): Promise<Migration[]> => {
  const applied = await readApplied(sql)
  const known = new Map(migrations.map((migration) => [migration.name, migration]))
  const unknown = applied.find(({ name }) => !known.has(name))
  const newest = migrations.at(-1)?.name ?? ''
  if (unknown && numberOf(unknown.name) > numberOf(newest)) {
    throw new SchemaTooNew(
      `The database has ${unknown.name}, which is newer than this program: start the newer program.`,
    )
  }
  if (unknown) throw new MigrationsBroken(`The database has ${unknown.name}, which this program does not have.`)
  for (const { name, checksum } of applied) {
    if (known.get(name)?.checksum !== checksum)
      throw new MigrationsBroken(`${name} was changed after it had been applied.`)
  }
  const gap = applied.findIndex(({ name }, place) => name !== migrations[place]?.name)
  if (gap >= 0) throw new MigrationsBroken(`${migrations[gap]?.name} was not applied, although later ones were.`)
  return migrations.slice(applied.length)
}

const readApplied = async (sql: Sql): Promise<Applied[]> => {
  const [table] = await sql.query<{ exists: boolean }>(`select to_regclass('schema_migrations') is not null as exists`)
  if (!table?.exists) return []
  return await sql.query<Applied>('select name, checksum from schema_migrations order by name')
}

const numberOf = (name: string) => Number.parseInt(name, 10) || 0

const readMigrations = async (directory: string): Promise<Migration[]> => {
  const names = (await readdir(directory)).filter((name) => name.endsWith('.sql')).sort()
  for (const [place, name] of names.entries()) {
    if (!/^\d{4}-[a-z0-9-]+\.sql$/.test(name)) throw new MigrationsBroken(`${name} is not named NNNN-name.sql.`)
    if (numberOf(name) !== place + 1)
      throw new MigrationsBroken(`${name} is not number ${place + 1}: one is missing or doubled.`)
  }
  return await Promise.all(names.map((name) => readMigration(directory, name)))
}

const readMigration = async (directory: string, name: string): Promise<Migration> => {
  // A checkout on Windows may have other line ends; that is not another migration.
  const text = (await readFile(join(directory, name), 'utf8')).replaceAll('\r\n', '\n')
  return { name, text, checksum: createHash('sha256').update(text).digest('hex') }
}

import { pipeline } from 'node:stream/promises'
import { setTimeout as wait } from 'node:timers/promises'
import type { Client } from '../http/request-origin.js'
import type { Clock } from '../lib/clock.js'
import { hours, minutes, seconds } from '../lib/durations.js'
import { OperatorError } from '../lib/operator-error.js'

import { uuidv7 } from '../lib/uuid.js'
import { type Grants, grant, requireRole, rightsToMigrate } from '../platform/database/grants.js'
import { applyInTransaction, hasOwnTables, type Migration, requireOneSchema } from '../platform/database/migrate.js'
import { beginAsOwner, copyFailure, type OwnerTransaction } from '../platform/database/owner-connection.js'
import type { PostgresAddress } from '../platform/database/postgres-address.js'
import { everyUser } from '../sessions/ended-sessions.js'
import { BackupFault, brokenText, type Header, openBackup, type TableSection } from './backup-file.js'
import { backupTables, columnsLeftOut, endingTables, isInBackup } from './backup-tables.js'
import * as store from './backups.store.js'

/** The database is in use, or is not one that may be filled. */
class RestoreRefused extends OperatorError {
  override name = 'RestoreRefused'
}

/** Sessions of an older snapshot end: too much may have ended since. A snapshot of the future has a clock that proves nothing. */
const youngAge = 1 * hours
const clockTolerance = 5 * minutes

/** A service shows every second that it runs. */
const longestSilence = 3 * seconds
const lookEvery = 0.1 * seconds

const allTables = Object.keys(backupTables)

export type Restore = {
  /** Opens the database, once it is known that the backup fits. */
  open(header: Header): Promise<PostgresAddress>
  /** The migrations of this program. */
  migrations: readonly Migration[]
  /** The rights of the role of the service, if that is not the owner. */
  grants: Grants | undefined
  keepsSessions: boolean
  clock: Clock
  client: Client
  /** Rejects the backup if what is sealed in it cannot be opened here. Called before the database is looked at. */
  checkKeys(header: Header): void
}

export type Restored = {
  rows: number
  takenAt: Date
  /** How many of what has ended. Undefined if nothing had to. */
  ended: ReadonlyMap<string, number> | undefined
}

/** The migrations of the database at the time of the snapshot: the first ones of this program. */
const migrationsOf = ({ migrations: applied }: Header, migrations: readonly Migration[]) => {
  const unknown = applied.find(({ name }, place) => migrations[place]?.name !== name)
  if (unknown)
    throw new BackupFault(
      `The backup has ${unknown.name}, which this program does not have: restore it with the newer version that made it. Nothing was restored.`,
    )
  const changed = applied.find(({ checksum }, place) => migrations[place]?.checksum !== checksum)
  if (changed)
    throw new BackupFault(`${changed.name} is another one in this program than in the backup. Nothing was restored.`)
  return migrations.slice(0, applied.length)
}

// ── The database

/**
 * Rejects while a service runs on the database. If nobody else is connected there is none, and nothing to wait for; but a pooler may have
 * given us the connection of a service.
 */
const lockOut = async (sql: OwnerTransaction) => {
  const giveUpAt = performance.now() + longestSilence
  // A restore that was killed a moment ago still has the lock.
  for (let [lock] = await store.tryLock(sql); !lock?.mine; [lock] = await store.tryLock(sql)) {
    if (performance.now() > giveUpAt)
      throw new RestoreRefused(
        'Another restore or a migration is at work on this database: wait until it has ended. Nothing was restored.',
      )
    await wait(lookEvery)
  }
  await store.lockOutServices(sql)
  const watchedUntil = performance.now() + longestSilence
  for (;;) {
    const [others] = await store.selectOthers(sql)
    if (others?.waiting)
      throw new RestoreRefused('A service uses this database: stop every instance of it. Nothing was restored.')
    const isAlone = others?.pid === sql.processId && !others?.connected
    if (isAlone || performance.now() > watchedUntil) return
    await wait(lookEvery)
  }
}

const functionNames = (migrations: readonly Migration[]) => [
  ...new Set(
    migrations.flatMap(({ text }) =>
      Array.from(text.matchAll(/^create (?:or replace )?function (\w+)/gm), ([, name = '']) => name),
    ),
  ),
]

const requireNoUser = async (sql: OwnerTransaction) => {
  if ((await store.selectAnyUser(sql)).length === 0) return
  throw new RestoreRefused(
    'The database has users, whom a restore would replace: name another, empty database. Nothing was restored.',
  )
}

/** Leaves the tables empty, with the columns that they had when the backup was made. */
const prepareTables = async (sql: OwnerTransaction, wanted: readonly Migration[], migrations: readonly Migration[]) => {
  const isThere = await hasOwnTables(sql)
  await requireOneSchema(sql)
  const { role, creates, tablesOfOthers } = await rightsToMigrate(sql, allTables)
  if (!creates || tablesOfOthers > 0)
    throw new RestoreRefused(
      `The role ${role} does not own the tables of this database: set DATABASE_OWNER_URL. Nothing was restored.`,
    )
  if (isThere) {
    const existing = (await store.selectExisting(sql, allTables)).map(({ name }) => name)
    await sql.script(store.lockForRestore(existing))
    await requireNoUser(sql)
    const applied = await store.selectMigrations(sql)
    const newer = applied.find(({ name }) => !migrations.some((each) => each.name === name))
    if (newer)
      throw new RestoreRefused(
        `The database has ${newer.name}, which is newer than this program: restore with the newer version. Nothing was restored.`,
      )
    const isSame =
      applied.length === wanted.length && applied.every(({ checksum }, at) => checksum === wanted[at]?.checksum)
    if (isSame) return
    await sql.script(store.dropAll(existing, functionNames(migrations)))
  }
  await applyInTransaction(sql, wanted)
}

const partName = /^events_\w{1,50}$/
const partBounds = /^(?:DEFAULT|FOR VALUES FROM \((?:MINVALUE|'[0-9a-f-]{36}')\) TO \('[0-9a-f-]{36}'\))$/

/** The rows go into the parts where they were. False if the table has no parts yet, with an old schema. */
const makeEventParts = async (sql: OwnerTransaction, { eventParts }: Header) => {
  if (eventParts.some(({ name, bounds }) => !partName.test(name) || !partBounds.test(bounds)))
    throw new BackupFault(brokenText)
  const earlier = (await store.selectEventParts(sql)).map(({ name }) => name)
  if (earlier.length > 0) await sql.script(store.replaceEventParts(earlier, eventParts))
  return earlier.length > 0
}

// ── The rows

/** A row that the database does not take: a backup that is as it was written has none. */
const brokenIfUnwanted = (error: unknown) =>
  error instanceof Error && 'code' in error && /^2[23]/.test(String(error.code))
    ? new BackupFault(brokenText, { cause: error })
    : error

/** Writes the rows of a table. The sentence about a row that does not fit has no value of it. */
const fill = async (sql: OwnerTransaction, { table, columns, rows }: TableSection) => {
  try {
    await pipeline(rows, sql.copyIn(store.copyIn(table, columns)))
  } catch (thrown) {
    if (thrown instanceof BackupFault) throw thrown
    throw brokenIfUnwanted(copyFailure(thrown))
  }
}

/** Reads the rows without writing them, and returns their number: each ends with the only line break that it has. */
const skip = async ({ rows }: TableSection) => {
  let count = 0
  for await (const chunk of rows) for (let at = chunk.indexOf(10); at !== -1; at = chunk.indexOf(10, at + 1)) count += 1
  return count
}

const hasColumns = (section: TableSection, expected: ReadonlyMap<string, readonly string[]>) => {
  const columns = (expected.get(section.table) ?? []).filter(
    (column) => !columnsLeftOut(section.table).includes(column),
  )
  return columns.join() === section.columns.join() && columns.length > 0
}

/** Returns how many rows the backup has, and how many of what has ended. */
const fillTables = async (
  sql: OwnerTransaction,
  sections: ReturnType<Awaited<ReturnType<typeof openBackup>>['tables']>,
  endsOld: boolean,
) => {
  const tables = (await store.selectExisting(sql, allTables)).map(({ name }) => name).filter(isInBackup)
  const columns = new Map((await store.selectColumns(sql, tables)).map((each) => [each.table, each.columns]))
  const ended = new Map<string, number>()
  for (;;) {
    const next = await sections.next()
    if (next.done) {
      if (columns.size > 0) throw new BackupFault(brokenText)
      return { rows: next.value.rows, ended }
    }
    if (!hasColumns(next.value, columns)) throw new BackupFault(brokenText)
    columns.delete(next.value.table)
    const what = endsOld ? endingTables.get(next.value.table) : undefined
    if (what === undefined) await fill(sql, next.value)
    else {
      const count = await skip(next.value)
      if (what !== null) ended.set(what, (ended.get(what) ?? 0) + count)
    }
  }
}

/** Fills the tables, without what is done for each row: triggers, foreign keys and most indexes. */
const load = async (
  sql: OwnerTransaction,
  { header, tables: sections }: Awaited<ReturnType<typeof openBackup>>,
  endsOld: boolean,
) => {
  const tables = (await store.selectExisting(sql, allTables)).map(({ name }) => name)
  const filled = tables.filter((table) => table !== 'schema_migrations')
  const hasParts = await makeEventParts(sql, header)
  // The parts of a table are new, and no trigger of it is for new rows.
  const whole = filled.filter((table) => !hasParts || table !== 'events')
  await sql.script(store.setTriggers(whole, 'disable'))
  const work = await store.selectRowWork(sql, filled)
  for (const { drop } of work.toReversed()) await sql.script(drop)
  await sql.script(store.truncate(whole))
  const result = await fillTables(sql, sections(), endsOld)
  try {
    for (const { make } of work) await sql.script(make)
  } catch (error) {
    throw brokenIfUnwanted(error)
  }
  for (const { set } of await store.selectSequences(sql, filled)) await sql.query(set)
  await sql.script(store.setTriggers(whole, 'enable'))
  return result
}

/** Whether too much may have changed since the snapshot. */
const isOld = async (sql: OwnerTransaction, { takenAt }: Header) => {
  const [row] = await store.selectAge(sql, takenAt)
  return !row || row.age > youngAge || row.age < -clockTolerance
}

/** Fills the database in one transaction, which commits only if the whole backup was read and is as it was written. */
export const restoreBackup = async (restore: Restore, input: AsyncIterable<Buffer | string>): Promise<Restored> => {
  const { migrations, grants, keepsSessions, clock, client } = restore
  const backup = await openBackup(input)
  const { header } = backup
  const wanted = migrationsOf(header, migrations)
  restore.checkKeys(header)
  const sql = await beginAsOwner(await restore.open(header), 'begin')
  try {
    await lockOut(sql)
    if (grants) await requireRole(sql, grants.role)
    await prepareTables(sql, wanted, migrations)
    const endsOld = !keepsSessions && (await isOld(sql, header))
    const { rows, ended } = await load(sql, backup, endsOld)
    await applyInTransaction(sql, migrations.slice(wanted.length))
    if (endsOld) {
      const [undos] = await store.endUndoLinks(sql)
      ended.set('undo link', undos?.count ?? 0)
    }
    await store.refuseEarlierTokens(sql, everyUser)
    const reason = `backup of ${header.takenAt}`
    await store.insertEvent(sql, { id: uuidv7(clock.now()), kind: 'restored', reason, ...client })
    await sql.script(store.analyze(allTables))
    if (grants) await grant(sql, grants)
    await sql.commit()
    return { rows, takenAt: new Date(header.takenAt), ended: endsOld ? ended : undefined }
  } finally {
    await sql.end()
  }
}

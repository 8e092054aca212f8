import type { Writable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { sealedColumns } from '../keys/sealed-columns.js'
import { keysInUse } from '../keys/sealed-values.js'
import { hasOwnTables, type Migration, MigrationsBroken } from '../platform/database/migrate.js'
import { beginAsOwner, copyFailure, type OwnerTransaction } from '../platform/database/owner-connection.js'
import type { PostgresAddress } from '../platform/database/postgres-address.js'
import { signingKeyId } from '../sessions/tokens.js'
import { BackupFault, createPacking, endOfRows, type Header, jsonLine, newHeader } from './backup-file.js'
import { backupTables, columnsLeftOut, isInBackup } from './backup-tables.js'
import * as store from './backups.store.js'

const allTables = Object.keys(backupTables)

type Source = {
  address: PostgresAddress
  /** The migrations of this program. */
  migrations: readonly Migration[]
  /** The secrets that sign tokens, if they are known here. */
  signingSecrets: readonly string[]
  /** Given if the file shall have them. */
  secrets: Header['secrets']
}

const existingTables = async (sql: OwnerTransaction) => {
  if (!(await hasOwnTables(sql)))
    throw new BackupFault('The database has no tables of Latchkey: there is nothing to back up.')
  return (await store.selectExisting(sql, allTables)).map(({ name }) => name)
}

const tablesToLock = async (address: PostgresAddress) => {
  const sql = await beginAsOwner(address, 'begin read only')
  try {
    return await existingTables(sql)
  } finally {
    await sql.end()
  }
}

/**
 * The tables must not change while they are copied, and a snapshot shows a table that was rewritten after it as empty. So they are locked
 * before the snapshot is taken.
 */
const openSnapshot = async (address: PostgresAddress) => {
  const tables = await tablesToLock(address)
  const begin = `begin isolation level repeatable read read only; ${store.lockAgainstChanges(tables)}`
  return { tables, sql: await beginAsOwner(address, begin) }
}

/** A newer program may have tables that this one does not know. */
const requireKnownSchema = (applied: readonly { name: string }[], migrations: readonly Migration[]) => {
  const unknown = applied.find(({ name }) => !migrations.some((each) => each.name === name))
  if (unknown)
    throw new MigrationsBroken(
      `The database has ${unknown.name}, which is newer than this program: back up with the newer program.`,
    )
}

const describe = async (
  sql: OwnerTransaction,
  { migrations, signingSecrets, secrets }: Source,
  columns: ReadonlyMap<string, readonly string[]>,
) => {
  const applied = await store.selectMigrations(sql)
  requireKnownSchema(applied, migrations)
  const [time] = await store.selectTime(sql)
  if (!time) throw new Error('The database gave no answer')
  const stored = sealedColumns.filter(({ table, column }) => columns.get(table)?.includes(column))
  return newHeader({
    takenAt: time.now.toISOString(),
    migrations: applied.map(({ name, checksum }) => ({ name, checksum })),
    sealedWith: await keysInUse(sql, stored),
    signedWith: signingSecrets.map(signingKeyId),
    eventParts: await store.selectEventParts(sql),
    ...(secrets && { secrets }),
  })
}

/** All that stands in the file, before it is packed. `count` is called with the number of rows at the end. */
async function* contentOf(
  source: Source,
  sql: OwnerTransaction,
  tables: readonly string[],
  count: (rows: number) => void,
) {
  const columns = new Map(
    (await store.selectColumns(sql, tables.filter(isInBackup))).map((each) => [each.table, each.columns]),
  )
  yield jsonLine(await describe(sql, source, columns))
  let total = 0
  for (const [table, all] of columns) {
    const copied = all.filter((column) => !columnsLeftOut(table).includes(column))
    yield jsonLine({ table, columns: copied })
    const rows = sql.copyOut(store.copyOut(table, copied))
    try {
      yield* rows
    } catch (error) {
      throw copyFailure(error)
    }
    yield endOfRows
    yield jsonLine({ rows: rows.rowCount })
    total += rows.rowCount
  }
  yield jsonLine({ end: true, rows: total })
  count(total)
}

/** Writes one snapshot of the database, while services go on. Nothing is held in memory but the rows on their way. */
export const writeBackup = async (source: Source, output: Writable, signal?: AbortSignal) => {
  const { tables, sql } = await openSnapshot(source.address)
  try {
    if ((await existingTables(sql)).length !== tables.length)
      throw new BackupFault('The database was migrated at this moment: back up again.')
    const { stages, written } = createPacking()
    let rows = 0
    const content = contentOf(source, sql, tables, (total) => {
      rows = total
    })
    const [gzip, checksum] = stages
    await pipeline(content, gzip, checksum, output, signal ? { signal } : {})
    return { rows, ...written }
  } finally {
    await sql.end()
  }
}

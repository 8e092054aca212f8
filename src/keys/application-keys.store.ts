import type { Sql } from '../platform/database/database.js'
import { databaseNow, milliseconds } from '../platform/database/sql.js'
import type { ApplicationAlgorithm } from './signed-token.js'

export type KeyRow = {
  id: string
  algorithm: ApplicationAlgorithm
  private_key: string | null
  public_key: string
  created_at: Date
  signs_from: Date
}

/** The number of a lock that nothing else uses. The lock lets one process at a time add or remove keys, until its transaction ends. */
const advisoryLock = 7_210_453

export const lock = (sql: Sql) => sql.query('select pg_advisory_xact_lock($1)', [advisoryLock])

/** The time of the database, and the algorithms that applications use. */
export const selectTimeAndAlgorithms = async (sql: Sql, offset: number) => {
  const [row] = await sql.query<{ now: Date; algorithms: ApplicationAlgorithm[] }>(
    `select ${databaseNow('$1')} as now, array(select distinct algorithm from applications order by algorithm) as algorithms`,
    [offset],
  )
  if (!row) throw new Error('The database gave no row for a statement that always has one')
  return row
}

/** In the order in which they sign. */
export const selectAll = (sql: Sql) =>
  sql.query<KeyRow>(
    'select id, algorithm, private_key, public_key, created_at, signs_from from application_keys order by signs_from, id',
  )

export const insert = (
  sql: Sql,
  key: { id: string; algorithm: ApplicationAlgorithm; privateKey: string; publicKey: string },
  { delay, offset }: { delay: number; offset: number },
) =>
  sql.query<{ signs_from: Date }>(
    `insert into application_keys (id, algorithm, private_key, public_key, created_at, signs_from)
     values ($1, $2, $3, $4, ${databaseNow('$5')}, ${databaseNow('$5')} + ${milliseconds('$6')})
     returning signs_from`,
    [key.id, key.algorithm, key.privateKey, key.publicKey, offset, delay],
  )

export const deleteAll = (sql: Sql) => sql.query<{ id: string }>('delete from application_keys returning id')

export const deleteKeys = (sql: Sql, ids: readonly string[]) =>
  sql.query('delete from application_keys where id = any ($1::text[]) returning 1', [ids])

/** Deletes the private keys. The public keys stay. */
export const retire = (sql: Sql, ids: readonly string[]) =>
  sql.query('update application_keys set private_key = null where id = any ($1::text[]) returning 1', [ids])

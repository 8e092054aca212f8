import type { Sql } from '../platform/database/database.js'
import { databaseNow, milliseconds } from '../platform/database/sql.js'
import type { KeyAlgorithm } from './key-pair.js'

/** Without a private key, a key is retired. Only a retired key needs its public key. */
export type KeyRow = {
  id: string
  algorithm: KeyAlgorithm
  private_key: string | null
  public_key: string | null
  created_at: Date
  signs_from: Date
}

/** The time of the database, the algorithms that need a key, and all keys in the order in which they sign. */
type StoredKeys = { now: Date; algorithms: KeyAlgorithm[]; keys: KeyRow[] }
type Row = Omit<StoredKeys, 'keys'> & (KeyRow | Record<keyof KeyRow, null>)

export type NewKey = { id: string; algorithm: KeyAlgorithm; privateKey: string; publicKey: string | null }
export type SigningTime = { delay: number; offset: number }

/** Lets one process at a time add or remove keys, until its transaction ends. Nothing else uses the number. */
export const lock = (sql: Sql, number: number) => sql.query('select pg_advisory_xact_lock($1)', [number])

const select = async (sql: Sql, statement: string, offset: number): Promise<StoredKeys> => {
  const rows = await sql.query<Row>(statement, [offset])
  const [first] = rows
  if (!first) throw new Error('The database gave no row for a statement that always has one')
  return {
    now: first.now,
    algorithms: first.algorithms,
    keys: rows.filter((row): row is Row & KeyRow => row.id !== null),
  }
}

/** Access tokens are signed with ES256 only, and nobody asks for an old one. */
export const selectAccessTokenKeys = (sql: Sql, offset: number) =>
  select(
    sql,
    `select clock.now, '{ES256}'::text[] as algorithms, k.id, 'ES256' as algorithm, k.private_key, null as public_key,
       k.created_at, k.signs_from
     from (select ${databaseNow('$1')} as now) as clock left join signing_keys as k on true
     order by k.signs_from, k.id`,
    offset,
  )

export const selectIdTokenKeys = (sql: Sql, offset: number) =>
  select(
    sql,
    `select clock.now, clock.algorithms, k.id, k.algorithm, k.private_key, k.public_key, k.created_at, k.signs_from
     from (select ${databaseNow('$1')} as now,
       array(select algorithm from applications union select algorithm from resources order by algorithm) as algorithms) as clock
     left join application_keys as k on true
     order by k.signs_from, k.id`,
    offset,
  )

export const insertAccessTokenKey = (sql: Sql, key: NewKey, { delay, offset }: SigningTime) =>
  sql.query<{ signs_from: Date }>(
    `insert into signing_keys (id, private_key, created_at, signs_from)
     values ($1, $2, ${databaseNow('$3')}, ${databaseNow('$3')} + ${milliseconds('$4')})
     returning signs_from`,
    [key.id, key.privateKey, offset, delay],
  )

export const insertIdTokenKey = (sql: Sql, key: NewKey, { delay, offset }: SigningTime) =>
  sql.query<{ signs_from: Date }>(
    `insert into application_keys (id, algorithm, private_key, public_key, created_at, signs_from)
     values ($1, $2, $3, $4, ${databaseNow('$5')}, ${databaseNow('$5')} + ${milliseconds('$6')})
     returning signs_from`,
    [key.id, key.algorithm, key.privateKey, key.publicKey, offset, delay],
  )

export const deleteAllAccessTokenKeys = (sql: Sql) => sql.query<{ id: string }>('delete from signing_keys returning id')

export const deleteAllIdTokenKeys = (sql: Sql) => sql.query<{ id: string }>('delete from application_keys returning id')

export const deleteAccessTokenKeys = (sql: Sql, ids: readonly string[]) =>
  sql.query('delete from signing_keys where id = any ($1::text[]) returning 1', [ids])

export const deleteIdTokenKeys = (sql: Sql, ids: readonly string[]) =>
  sql.query('delete from application_keys where id = any ($1::text[]) returning 1', [ids])

/** Deletes the private keys. The public keys stay. */
export const retireIdTokenKeys = (sql: Sql, ids: readonly string[]) =>
  sql.query('update application_keys set private_key = null where id = any ($1::text[]) returning 1', [ids])

import type { Sql } from '../../platform/database/database.js'

export type PendingRow = {
  id: string
  email: string
  username: string
  name: string | null
  password_hash: string
  code_hash: Uint8Array
  browser_hash: Uint8Array
}

const columns = 'id, email, username, name, password_hash, code_hash, browser_hash'

export const insertPending = (
  sql: Sql,
  pending: {
    id: string
    email: string
    username: string
    name: string | null
    passwordHash: string
    tokenHash: Uint8Array
    codeHash: Uint8Array
    browserHash: Uint8Array
    tries: number
    expiresAt: Date
  },
) =>
  sql.query(
    `insert into pending_registrations
       (id, email, username, name, password_hash, token_hash, code_hash, browser_hash, tries_left, expires_at)
     values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)`,
    [
      pending.id,
      pending.email,
      pending.username,
      pending.name,
      pending.passwordHash,
      pending.tokenHash,
      pending.codeHash,
      pending.browserHash,
      pending.tries,
      pending.expiresAt,
    ],
  )

export const selectByToken = (sql: Sql, tokenHash: Uint8Array, now: Date) =>
  sql.query<PendingRow>(`select ${columns} from pending_registrations where token_hash = $1 and expires_at > $2`, [
    tokenHash,
    now,
  ])

/** Spends a try before anything is compared, so that guesses at once cannot outnumber the tries. */
export const spendTryByToken = (sql: Sql, tokenHash: Uint8Array, now: Date) =>
  sql.query<PendingRow>(
    `update pending_registrations set tries_left = tries_left - 1
     where token_hash = $1 and expires_at > $2 and tries_left > 0 returning ${columns}`,
    [tokenHash, now],
  )

export const spendTryByBrowser = (sql: Sql, browserHash: Uint8Array, now: Date) =>
  sql.query<PendingRow>(
    `update pending_registrations set tries_left = tries_left - 1
     where browser_hash = $1 and expires_at > $2 and tries_left > 0 returning ${columns}`,
    [browserHash, now],
  )

export const lockById = (sql: Sql, id: string) =>
  sql.query(`select id from pending_registrations where id = $1 for update`, [id])

export const deleteById = (sql: Sql, id: string) => sql.query('delete from pending_registrations where id = $1', [id])

export const purge = (sql: Sql, now: Date, limit: number) =>
  sql.query(
    `delete from pending_registrations where id in
       (select id from pending_registrations where expires_at <= $1 limit $2) returning 1`,
    [now, limit],
  )

import type { Sql } from '../platform/database/database.js'

export type Purpose = 'reset_password' | 'printed_reset' | 'restore_account' | 'provider_attempt' | 'passkey_challenge'

export const insertToken = (
  sql: Sql,
  token: {
    hash: Uint8Array
    purpose: Purpose
    userId: string | null
    expiresAt: Date
    applicationId?: string | undefined
  },
) =>
  sql.query(
    `insert into one_time_tokens (hash, purpose, user_id, expires_at, application_id) values ($1, $2, $3, $4, $5)
     on conflict do nothing returning hash`,
    [token.hash, token.purpose, token.userId, token.expiresAt, token.applicationId ?? null],
  )

export const selectToken = (sql: Sql, hash: Uint8Array, purposes: readonly Purpose[], now: Date) =>
  sql.query<{ user_id: string; application_id: string | null }>(
    'select user_id, application_id from one_time_tokens where hash = $1 and purpose = any($2::text[]) and expires_at > $3',
    [hash, purposes, now],
  )

/** Using a token deletes its row, so of several requests at once only one succeeds. */
export const takeToken = (sql: Sql, hash: Uint8Array, purposes: readonly Purpose[], now: Date) =>
  sql.query<{ user_id: string; purpose: Purpose }>(
    'delete from one_time_tokens where hash = $1 and purpose = any($2::text[]) and expires_at > $3 returning user_id, purpose',
    [hash, purposes, now],
  )

export const deleteOfUser = (sql: Sql, userId: string, purposes: readonly Purpose[]) =>
  sql.query('delete from one_time_tokens where user_id = $1 and purpose = any($2::text[])', [userId, purposes])

type CodeRow = { id: string; tries_left: number }

export const upsertCode = (
  sql: Sql,
  code: { holder: string; id: string; userId: string; tries: number; expiresAt: Date },
) =>
  sql.query(
    `insert into mailed_codes (holder, id, user_id, tries_left, expires_at) values ($1, $2, $3, $4, $5)
     on conflict (holder) do update
     set id = excluded.id, user_id = excluded.user_id, tries_left = excluded.tries_left, expires_at = excluded.expires_at`,
    [code.holder, code.id, code.userId, code.tries, code.expiresAt],
  )

/** Counts a try before the code is compared, so that parallel guesses cannot exceed the tries. */
export const spendTry = (sql: Sql, holder: string, userId: string, now: Date) =>
  sql.query<CodeRow>(
    `update mailed_codes set tries_left = tries_left - 1
     where holder = $1 and user_id = $2 and tries_left > 0 and expires_at > $3 returning id, tries_left`,
    [holder, userId, now],
  )

/** Using a code deletes its row, so of many requests at once only one succeeds. */
export const takeCode = (sql: Sql, id: string) =>
  sql.query<{ id: string }>('delete from mailed_codes where id = $1 returning id', [id])

export const deleteCodesOfUser = (sql: Sql, userId: string) =>
  sql.query('delete from mailed_codes where user_id = $1', [userId])

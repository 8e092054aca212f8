import type { Sql } from '../platform/database/database.js'
import { databaseMoment, selectList } from '../platform/database/sql.js'
import type { Email } from '../users/names.js'

export type EmailChangeRow = { user_id: string; email: string; asked_at: Date }

const columns = selectList<EmailChangeRow>({ user_id: true, email: true, asked_at: true })

export const replace = (
  sql: Sql,
  row: {
    userId: string
    email: Email
    hash: Uint8Array
    clockOffset: number
    expiresAt: Date
    sessionId: string
    codeTries: number
  },
) =>
  sql.query(
    `insert into email_changes (user_id, email, email_key, hash, asked_at, expires_at, session_id, code_tries_left)
     values ($1, $2, $3, $4, ${databaseMoment('$5')}, $6, $7, $8)
     on conflict (user_id) do update set email = excluded.email, email_key = excluded.email_key, hash = excluded.hash,
       asked_at = excluded.asked_at, expires_at = excluded.expires_at, session_id = excluded.session_id,
       code_tries_left = excluded.code_tries_left`,
    [
      row.userId,
      row.email.email,
      row.email.key,
      row.hash,
      row.clockOffset,
      row.expiresAt,
      row.sessionId,
      row.codeTries,
    ],
  )

export const selectByHash = (sql: Sql, hash: Uint8Array, now: Date) =>
  sql.query<EmailChangeRow>(`select ${columns} from email_changes where hash = $1 and expires_at > $2`, [hash, now])

/** Only the session that asked for the change has tries. */
export const spendTry = (sql: Sql, { userId, sessionId }: { userId: string; sessionId: string }, now: Date) =>
  sql.query<{ hash: Uint8Array; code_tries_left: number }>(
    `update email_changes set code_tries_left = code_tries_left - 1
     where user_id = $1 and session_id = $2 and code_tries_left > 0 and expires_at > $3 returning hash, code_tries_left`,
    [userId, sessionId, now],
  )

type WaitingRow = {
  email: string
  asked_at: Date
  expires_at: Date
  session_id: string
  code_tries_left: number
}
export const selectWaiting = (sql: Sql, userId: string, now: Date) =>
  sql.query<WaitingRow>(
    `select ${selectList<WaitingRow>({ email: true, asked_at: true, expires_at: true, session_id: true, code_tries_left: true })} from email_changes
     where user_id = $1 and expires_at > $2`,
    [userId, now],
  )

export const remove = (sql: Sql, userId: string) =>
  sql.query('delete from email_changes where user_id = $1 returning 1', [userId])

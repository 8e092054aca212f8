import type { Sql } from '../../platform/database/database.js'
import { databaseMoment } from '../../platform/database/database-now.js'
import { selectList } from '../../platform/database/select-list.js'
import type { Email } from '../users/email.js'

export type EmailChangeRow = { user_id: string; email: string; asked_at: Date }

const change = selectList<EmailChangeRow>({ user_id: true, email: true, asked_at: true })

export const replace = (
  sql: Sql,
  row: { userId: string; email: Email; hash: Uint8Array; clockOffset: number; expiresAt: Date },
) =>
  sql.query(
    `insert into email_changes (user_id, email, email_key, hash, asked_at, expires_at)
     values ($1, $2, $3, $4, ${databaseMoment('$5')}, $6)
     on conflict (user_id) do update set email = excluded.email, email_key = excluded.email_key, hash = excluded.hash,
       asked_at = excluded.asked_at, expires_at = excluded.expires_at`,
    [row.userId, row.email.email, row.email.key, row.hash, row.clockOffset, row.expiresAt],
  )

export const select = (sql: Sql, hash: Uint8Array, now: Date) =>
  sql.query<EmailChangeRow>(`select ${change} from email_changes where hash = $1 and expires_at > $2`, [hash, now])

type WaitingRow = { email: string; asked_at: Date; expires_at: Date }
export const selectWaiting = (sql: Sql, userId: string, now: Date) =>
  sql.query<WaitingRow>(
    `select ${selectList<WaitingRow>({ email: true, asked_at: true, expires_at: true })} from email_changes
     where user_id = $1 and expires_at > $2`,
    [userId, now],
  )

export const remove = (sql: Sql, userId: string) =>
  sql.query('delete from email_changes where user_id = $1 returning 1', [userId])

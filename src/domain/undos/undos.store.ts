import type { Sql } from '../../platform/database/database.js'
import { databaseMoment } from '../../platform/database/database-now.js'
import { selectList } from '../../platform/database/select-list.js'

export type UndoRow = {
  user_id: string
  kind: string
  subject: string | null
  email: string | null
  since: Date
}

const undo = selectList<UndoRow>({ user_id: true, kind: true, subject: true, email: true, since: true })

/** Of several changes away from one address, each takes back what was added since the first of them was asked for. */
export const insert = (
  sql: Sql,
  row: {
    hash: Uint8Array
    userId: string
    kind: string
    subject: string | null
    email: { email: string; key: string } | null
    /** Null for this moment. */
    since: Date | null
    expiresAt: Date
    clockOffset: number
  },
) =>
  sql.query(
    `insert into undos (hash, user_id, kind, subject, email, email_key, since, expires_at)
     select $1, $2::uuid, $3, $4, $5, $6::text,
       least(coalesce($7::timestamptz, ${databaseMoment('$9')}), (select min(since) from undos where user_id = $2 and email_key = $6)), $8`,
    [
      row.hash,
      row.userId,
      row.kind,
      row.subject,
      row.email?.email ?? null,
      row.email?.key ?? null,
      row.since,
      row.expiresAt,
      row.clockOffset,
    ],
  )

export const select = (sql: Sql, hash: Uint8Array, now: Date) =>
  sql.query<UndoRow>(`select ${undo} from undos where hash = $1 and expires_at > $2`, [hash, now])

type FormerEmailRow = { email: string; reserved_until: Date }
export const selectFormerEmails = (sql: Sql, userId: string, now: Date) =>
  sql.query<FormerEmailRow>(
    `select min(email) as email, max(expires_at) as reserved_until from undos
     where user_id = $1 and kind = 'email' and expires_at > $2
       and email_key <> (select email_key from users where id = $1) group by email_key order by 2, 1`,
    [userId, now],
  )

/** Using it deletes its row, so of many requests at once only one succeeds. */
export const take = (sql: Sql, hash: Uint8Array, now: Date) =>
  sql.query<UndoRow>(`delete from undos where hash = $1 and expires_at > $2 returning ${undo}`, [hash, now])

export const selectSince = (sql: Sql, userId: string, since: Date) =>
  sql.query<UndoRow>(`select ${undo} from undos where user_id = $1 and since >= $2 order by since, hash`, [
    userId,
    since,
  ])

export const deleteSince = (sql: Sql, userId: string, since: Date) =>
  sql.query('delete from undos where user_id = $1 and since >= $2', [userId, since])

export const extendOfEmail = (sql: Sql, userId: string, emailKey: string, expiresAt: Date) =>
  sql.query('update undos set expires_at = $3 where user_id = $1 and email_key = $2 and expires_at < $3', [
    userId,
    emailKey,
    expiresAt,
  ])

export const purge = (sql: Sql, now: Date, limit: number) =>
  sql.query('delete from undos where hash in (select hash from undos where expires_at <= $1 limit $2) returning 1', [
    now,
    limit,
  ])

import type { Sql } from '../platform/database/database.js'
import { databaseMoment, milliseconds, selectList } from '../platform/database/sql.js'

export type UndoRow = {
  user_id: string
  kind: string
  subject: string | null
  former_secret_id: string | null
  former_secret: string | null
  email: string
  since: Date
  expires_at: Date
  is_void: boolean
}

const undoSelectList = selectList<UndoRow>({
  user_id: true,
  kind: true,
  subject: true,
  former_secret_id: true,
  former_secret: true,
  email: true,
  since: true,
  expires_at: true,
  is_void: true,
})

/** The database's clock decides, and also sets the expiry: an instance whose clock is wrong must not void the owner's links. */
const isOpen = (clockOffset: string) => `expires_at > ${databaseMoment(clockOffset)}`
const linkWorks = (clockOffset: string) => `not is_void and ${isOpen(clockOffset)}`

/** All rows of one address have the same `since`, the time of the first mail to it. A later address has a later `since`. */
export const insert = (
  sql: Sql,
  row: {
    hash: Uint8Array
    userId: string
    kind: string
    subject: string | null
    formerSecret: { id: string; sealed: string } | undefined
    email: string
    emailKey: string
    isVoid: boolean
    lifetime: number
    clockOffset: number
  },
) =>
  sql.query(
    `insert into undos (hash, user_id, kind, subject, email, email_key, since, made_at, expires_at, is_void,
       former_secret_id, former_secret)
     select $1, $2::uuid, $3, $4, $5, $6::text,
       least(made_at, (select min(since) from undos where user_id = $2 and email_key = $6)), made_at,
       made_at + ${milliseconds('$7')}, $9, $10, $11
     from (select ${databaseMoment('$8')} as made_at) as this`,
    [
      row.hash,
      row.userId,
      row.kind,
      row.subject,
      row.email,
      row.emailKey,
      row.lifetime,
      row.clockOffset,
      row.isVoid,
      row.formerSecret?.id ?? null,
      row.formerSecret?.sealed ?? null,
    ],
  )

export const select = (sql: Sql, hash: Uint8Array, clockOffset: number) =>
  sql.query<UndoRow>(`select ${undoSelectList} from undos where hash = $1 and ${linkWorks('$2')}`, [hash, clockOffset])

/** The open undos, the oldest change first. Undos whose link is void are included. */
export const selectOpen = (sql: Sql, userId: string, clockOffset: number) =>
  sql.query<UndoRow>(
    `select ${undoSelectList} from undos where user_id = $1 and ${isOpen('$2')} order by made_at, hash`,
    [userId, clockOffset],
  )

type FormerEmailRow = { email: string; reserved_until: Date }
export const selectFormerEmails = (sql: Sql, userId: string, clockOffset: number) =>
  sql.query<FormerEmailRow>(
    `select min(email) as email, max(expires_at) as reserved_until from undos
     where user_id = $1 and ${isOpen('$2')}
       and email_key <> (select email_key from users where id = $1) group by email_key order by 2, 1`,
    [userId, clockOffset],
  )

/** Using a link deletes its row, so of several requests at once only one succeeds. */
export const take = (sql: Sql, hash: Uint8Array, clockOffset: number) =>
  sql.query<UndoRow>(`delete from undos where hash = $1 and ${linkWorks('$2')} returning ${undoSelectList}`, [
    hash,
    clockOffset,
  ])

/**
 * Voids all links but those to the earliest address that has a working link. A later address may be a thief's, and the links to the
 * earliest address are those that remove the thief.
 */
export const voidOfLaterEmails = (sql: Sql, userId: string, clockOffset: number) =>
  sql.query(
    `update undos set is_void = true where user_id = $1
       and since > (select min(since) from undos where user_id = $1 and ${linkWorks('$2')})`,
    [userId, clockOffset],
  )

export const deleteOfEmailAndLater = (sql: Sql, userId: string, emailKey: string, since: Date) =>
  sql.query('delete from undos where user_id = $1 and (email_key = $2 or since >= $3)', [userId, emailKey, since])

export const deleteOfUser = (sql: Sql, userId: string) => sql.query('delete from undos where user_id = $1', [userId])

export const forgetFormerSecrets = (sql: Sql, userId: string) =>
  sql.query(
    'update undos set former_secret_id = null, former_secret = null where user_id = $1 and former_secret is not null',
    [userId],
  )

/** Extends the undos of an address. An undo that has expired stays expired, even while its row is still there. */
export const extendOfEmail = (
  sql: Sql,
  row: { userId: string; emailKey: string; lifetime: number; clockOffset: number },
) =>
  sql.query(
    `update undos set expires_at = ${databaseMoment('$4')} + ${milliseconds('$3')}
     where user_id = $1 and email_key = $2 and ${isOpen('$4')}`,
    [row.userId, row.emailKey, row.lifetime, row.clockOffset],
  )

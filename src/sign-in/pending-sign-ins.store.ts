import type { Client } from '../http/request-origin.js'
import type { Sql } from '../platform/database/database.js'
import { selectList } from '../platform/database/sql.js'
import type { SessionFacts } from '../sessions/session-facts.js'

export type PendingSignInRow = {
  id: string
  user_id: string
  kind: string
  way: string
  provider: string | null
  subject: string | null
  is_opened: boolean
  facts: unknown
  tries_left: number
  expires_at: Date
}

const pendingSelectList = selectList<PendingSignInRow>({
  id: true,
  user_id: true,
  kind: true,
  way: true,
  provider: true,
  subject: true,
  is_opened: 'enrolment_opened_at is not null',
  facts: true,
  tries_left: true,
  expires_at: true,
})

/**
 * Inserts a sign-in that waits, under the same conditions as a session: the user is enabled, no undo has taken the account back since the proof and,
 * if a hash is given, the user still has the password that was checked.
 */
export const insert = (
  sql: Sql,
  signIn: {
    hash: Uint8Array
    userId: string
    kind: string
    way: string
    provider: string | null
    subject: string | null
    expiresAt: Date
    passwordHash: string | null
    undoCount: number
    client: Client
    begunAt: Date
    openedAt: Date | null
    facts: SessionFacts
  },
) =>
  sql.query(
    `insert into sign_in_challenges (hash, user_id, way, provider, subject, expires_at, kind, ip, user_agent, begun_at,
       facts, enrolment_opened_at)
     select $1::bytea, u.id, $3::text, $4::text, $5::text, $6::timestamptz, $8::text, $10::text, $11::text, $12::timestamptz,
       $13::jsonb, $14::timestamptz
     from users as u
     where u.id = $2 and u.disabled_at is null and ($7::text is null or u.password_hash = $7) and u.undo_count = $9
     for share returning hash`,
    [
      signIn.hash,
      signIn.userId,
      signIn.way,
      signIn.provider,
      signIn.subject,
      signIn.expiresAt,
      signIn.passwordHash,
      signIn.kind,
      signIn.undoCount,
      signIn.client.ip,
      signIn.client.userAgent,
      signIn.begunAt,
      signIn.facts,
      signIn.openedAt,
    ],
  )

const isOpen = 'hash = $1 and tries_left > 0 and expires_at > $2'

export const select = (sql: Sql, hash: Uint8Array, now: Date) =>
  sql.query<PendingSignInRow>(`select ${pendingSelectList} from sign_in_challenges where ${isOpen}`, [hash, now])

/** Uses up a try before the code is compared. */
export const reserveTry = (sql: Sql, hash: Uint8Array, now: Date) =>
  sql.query<PendingSignInRow>(
    `update sign_in_challenges set tries_left = tries_left - 1 where ${isOpen} returning ${pendingSelectList}`,
    [hash, now],
  )

export const giveBackTry = (sql: Sql, hash: Uint8Array) =>
  sql.query('update sign_in_challenges set tries_left = tries_left + 1 where hash = $1', [hash])

/** Marks the enrolment as open after a right code or password, and gives the try back. */
export const markOpened = (sql: Sql, hash: Uint8Array, now: Date) =>
  sql.query(
    'update sign_in_challenges set enrolment_opened_at = $2, tries_left = tries_left + 1 where hash = $1 returning hash',
    [hash, now],
  )

/**
 * Lets a sign-in whose proofs are complete wait for answers. The browser gets a new token, because the former one was given for
 * fewer proofs.
 */
export const moveOn = (
  sql: Sql,
  hash: Uint8Array,
  to: { hash: Uint8Array; kind: string; way: string; provider: string | null; expiresAt: Date; facts: SessionFacts },
) =>
  sql.query(
    `update sign_in_challenges set hash = $2, kind = $3, way = $4, provider = $5, subject = null, expires_at = $6,
       facts = $7 where hash = $1 returning hash`,
    [hash, to.hash, to.kind, to.way, to.provider, to.expiresAt, to.facts],
  )

export const lock = (sql: Sql, hash: Uint8Array) =>
  sql.query('select 1 from sign_in_challenges where hash = $1 for update', [hash])

export const remove = (sql: Sql, hash: Uint8Array) =>
  sql.query('delete from sign_in_challenges where hash = $1', [hash])

export type ExpiredRow = {
  user_id: string
  kind: string
  way: string
  provider: string | null
  ip: string
  user_agent: string
  begun_at: Date
}

/**
 * Deletes expired sign-ins. Their users are held first, and a user who is being deleted is left out. Otherwise the deletion would wait
 * for the sign-in, and the caller, who writes a row about the user, for the deletion.
 */
export const takeExpired = (sql: Sql, now: Date, limit: number) =>
  sql.query<ExpiredRow>(
    `with due as (select hash, user_id from sign_in_challenges where expires_at <= $1 order by expires_at limit $2),
     held as (select id from users where id in (select user_id from due) for key share skip locked)
     delete from sign_in_challenges where hash in (select hash from due join held on held.id = due.user_id)
     returning ${selectList<ExpiredRow>({ user_id: true, kind: true, way: true, provider: true, ip: true, user_agent: true, begun_at: true })}`,
    [now, limit],
  )

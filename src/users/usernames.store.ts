import type { Sql } from '../platform/database/database.js'
import type { Username } from './username.js'

/** Whether another user has the name, or had it a short time ago. */
export const selectHolder = (sql: Sql, key: string, userId: string | null, now: Date) =>
  sql.query(
    `select 1 from users where username_key = $1 and id is distinct from $2
     union all
     select 1 from reserved_usernames
     where username_key = $1 and user_id is distinct from $2 and reserved_until > $3 limit 1`,
    [key, userId, now],
  )

/** Deletes expired reservations before a name is used, because a trigger refuses every name that is in the table. */
export const deleteExpired = (sql: Sql, keys: readonly string[], now: Date) =>
  sql.query('delete from reserved_usernames where username_key = any($1::text[]) and reserved_until <= $2', [keys, now])

/** The user who had this name until a short time ago. */
export const selectFormerOwner = (sql: Sql, key: string, now: Date) =>
  sql.query<{ user_id: string }>(
    'select user_id from reserved_usernames where username_key = $1 and reserved_until > $2',
    [key, now],
  )

export type ReservedRow = { username_key: string; username: string; reserved_until: Date; counts: boolean }

export const selectOfUser = (sql: Sql, userId: string, now: Date) =>
  sql.query<ReservedRow>(
    `select username_key, username, reserved_until, counts from reserved_usernames
     where user_id = $1 and reserved_until > $2 order by reserved_until`,
    [userId, now],
  )

export const updateUsername = (sql: Sql, userId: string, { username, key }: Username) =>
  sql.query('update users set username = $2, username_key = $3 where id = $1', [userId, username, key])

export const reserve = (sql: Sql, userId: string, { username, key }: Username, until: Date) =>
  sql.query(
    `insert into reserved_usernames (username_key, user_id, reserved_until, username) values ($1, $2, $3, $4)
     on conflict (username_key) do update set user_id = excluded.user_id, reserved_until = excluded.reserved_until,
       username = excluded.username, counts = true`,
    [key, userId, until, username],
  )

export const deleteReservation = (sql: Sql, userId: string, key: string) =>
  sql.query('delete from reserved_usernames where user_id = $1 and username_key = $2', [userId, key])

export const stopCounting = (sql: Sql, userId: string, from: Date) =>
  sql.query('update reserved_usernames set counts = false where user_id = $1 and reserved_until >= $2', [userId, from])

import type { Sql } from '../platform/database/database.js'
import { databaseMoment, databaseNow, milliseconds, selectList } from '../platform/database/sql.js'

/** `isUsable`: not if it belongs to another host, because no browser offers it. */
export const selectHeld = (sql: Sql, userId: string, host: string) =>
  sql.query<{ method: string; isUsable: boolean }>(
    `select method, bool_or(host is null or host = $2) as "isUsable" from second_factors where user_id = $1 group by method`,
    [userId, host],
  )

export type TotpRow = { secret: string; created_at: Date; now_seconds: number }

/** The time by the database's clock, in seconds since 1970. */
const nowSeconds = (offset: string) => `extract(epoch from ${databaseNow(offset)})::float8 as now_seconds`

export const selectTotp = (sql: Sql, userId: string, clockOffset: number) =>
  sql.query<TotpRow>(`select secret, created_at, ${nowSeconds('$2')} from totp_secrets where user_id = $1`, [
    userId,
    clockOffset,
  ])

export const insertTotp = (sql: Sql, totp: { userId: string; secret: string; step: number; clockOffset: number }) =>
  sql.query(
    `insert into totp_secrets (user_id, secret, last_step, created_at) values ($1, $2, $3, ${databaseMoment('$4')})
     on conflict do nothing returning user_id`,
    [totp.userId, totp.secret, totp.step, totp.clockOffset],
  )

/** Each time step is accepted once, and no earlier step after it. */
export const acceptStep = (sql: Sql, userId: string, step: number) =>
  sql.query('update totp_secrets set last_step = $2 where user_id = $1 and last_step < $2 returning user_id', [
    userId,
    step,
  ])

/** A step is a moment in time. A step whose code was accepted stays used up, even if the code was made with another secret. */
export const replaceTotp = (sql: Sql, totp: { userId: string; secret: string; step: number; clockOffset: number }) =>
  sql.query(
    `update totp_secrets
     set secret = $2, last_step = greatest(last_step, $3), created_at = ${databaseMoment('$4')}
     where user_id = $1 returning user_id`,
    [totp.userId, totp.secret, totp.step, totp.clockOffset],
  )

export const deleteTotp = (sql: Sql, userId: string) =>
  sql.query('delete from totp_secrets where user_id = $1 returning user_id', [userId])

export const replacePending = (
  sql: Sql,
  pending: { userId: string; sessionId: string; secret: string; expiresAt: Date },
) =>
  sql.query(
    `insert into pending_totp_secrets (user_id, session_id, secret, expires_at) values ($1, $2, $3, $4)
     on conflict (user_id) do update
     set session_id = excluded.session_id, secret = excluded.secret, expires_at = excluded.expires_at`,
    [pending.userId, pending.sessionId, pending.secret, pending.expiresAt],
  )

export const selectPending = (
  sql: Sql,
  { userId, sessionId, now, clockOffset }: { userId: string; sessionId: string; now: Date; clockOffset: number },
) =>
  sql.query<{ secret: string; now_seconds: number }>(
    `select secret, ${nowSeconds('$4')} from pending_totp_secrets
     where user_id = $1 and session_id = $2 and expires_at > $3`,
    [userId, sessionId, now, clockOffset],
  )

export const deletePending = (sql: Sql, userId: string) =>
  sql.query('delete from pending_totp_secrets where user_id = $1', [userId])

export const insertRecoveryCodes = (
  sql: Sql,
  userId: string,
  codes: readonly { id: string; sealed: string }[],
  clockOffset: number,
) =>
  sql.query(
    `insert into recovery_codes (user_id, id, sealed, created_at)
     select $1, code.id, code.sealed, ${databaseMoment('$4')} from unnest($2::uuid[], $3::text[]) as code (id, sealed)`,
    [userId, codes.map(({ id }) => id), codes.map(({ sealed }) => sealed), clockOffset],
  )

export const deleteRecoveryCodes = (sql: Sql, userId: string) =>
  sql.query('delete from recovery_codes where user_id = $1 returning id', [userId])

/** Deletes the codes that are younger than `age`, in milliseconds. */
export const deleteNewRecoveryCodes = (sql: Sql, userId: string, age: number, clockOffset: number) =>
  sql.query(
    `delete from recovery_codes
     where user_id = $1 and created_at > ${databaseNow('$3')} - ${milliseconds('$2')} returning 1`,
    [userId, age, clockOffset],
  )

export const countNewRecoveryCodes = (sql: Sql, userId: string, age: number, clockOffset: number) =>
  sql.query<{ count: number }>(
    `select count(*) as count from recovery_codes
     where user_id = $1 and created_at > ${databaseNow('$3')} - ${milliseconds('$2')}`,
    [userId, age, clockOffset],
  )

type SealedCodeRow = { id: string; sealed: string }
export const selectSealedCodes = (sql: Sql, userId: string) =>
  sql.query<SealedCodeRow>(
    `select ${selectList<SealedCodeRow>({ id: true, sealed: true })} from recovery_codes where user_id = $1`,
    [userId],
  )

/** Using a code deletes its row, so of many requests at once only one succeeds. */
export const takeRecoveryCode = (sql: Sql, id: string) =>
  sql.query('delete from recovery_codes where id = $1 returning id', [id])

export const countRecoveryCodes = (sql: Sql, userId: string) =>
  sql.query<{ left: number }>('select count(*) as left from recovery_codes where user_id = $1', [userId])

const now = databaseNow('$2')

/** The count begins again after a day without a wrong code, or after an hour with fewer than ten. */
const countRestarts = `(c.last_wrong_at <= ${now} - interval '1 day'
  or (c.failures < 10 and c.window_began <= ${now} - interval '1 hour'))`

/** The tenth wrong code makes the account wait for an hour. Each further five wrong codes double the wait, up to a day. */
const waitUntil = `case when c.failures + 1 >= 10 and (c.failures + 1) % 5 = 0
  then ${now} + least(interval '24 hours', interval '1 hour' * power(2, least((c.failures + 1 - 10) / 5, 5))) end`

/** Counts a code as wrong before it is compared. No row while the account waits. */
export const reserve = (sql: Sql, userId: string, clockOffset: number) =>
  sql.query<{ failures: number }>(
    `insert into wrong_codes as c (user_id, failures, window_began, last_wrong_at, day_began)
     values ($1, 1, ${now}, ${now}, ${now})
     on conflict (user_id) do update set
       failures = case when ${countRestarts} then 1 else c.failures + 1 end,
       window_began = case when ${countRestarts} then ${now} else c.window_began end,
       waits_until = case when ${countRestarts} then null else ${waitUntil} end
     where c.waits_until is null or c.waits_until <= ${now}
     returning failures`,
    [userId, clockOffset],
  )

export const selectWait = (sql: Sql, userId: string, clockOffset: number) =>
  sql.query<{ seconds: number | null }>(
    `select extract(epoch from waits_until - ${now})::float8 as seconds from wrong_codes where user_id = $1`,
    [userId, clockOffset],
  )

/** Takes the count back after a right code. If this code had made the account wait, the account waits no longer. */
export const giveBack = (sql: Sql, userId: string) =>
  sql.query('update wrong_codes set failures = greatest(failures - 1, 0), waits_until = null where user_id = $1', [
    userId,
  ])

/** Returns how many wrong codes there were in a day, with this one. Codes that make no account wait are included. */
export const noteWrong = (sql: Sql, userId: string, clockOffset: number, makesWait: boolean) =>
  sql.query<{ wrong: number; waits: boolean }>(
    `insert into wrong_codes as c (user_id, failures, window_began, last_wrong_at, wrong_in_day, day_began)
     values ($1, 0, ${now}, ${now}, 1, ${now})
     on conflict (user_id) do update set last_wrong_at = case when $3 then ${now} else c.last_wrong_at end,
       wrong_in_day = case when c.day_began > ${now} - interval '1 day' then c.wrong_in_day + 1 else 1 end,
       day_began = case when c.day_began > ${now} - interval '1 day' then c.day_began else ${now} end
     returning wrong_in_day as wrong, coalesce(c.waits_until > ${now}, false) as waits`,
    [userId, clockOffset, makesWait],
  )

export const forgetWrongCodes = (sql: Sql, userId: string) =>
  sql.query('delete from wrong_codes where user_id = $1 returning user_id', [userId])

export const forgetAllWrongCodes = (sql: Sql) => sql.query('delete from wrong_codes returning user_id')

import type { Sql } from '../platform/database/database.js'
import { databaseNow } from '../platform/database/sql.js'

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

/** Returns how many wrong codes there were in a day, with this one. Wrong recovery codes are included, but do not make the account wait. */
export const noteWrong = (sql: Sql, userId: string, clockOffset: number, isTotp: boolean) =>
  sql.query<{ wrong: number; waits: boolean }>(
    `insert into wrong_codes as c (user_id, failures, window_began, last_wrong_at, wrong_in_day, day_began)
     values ($1, 0, ${now}, ${now}, 1, ${now})
     on conflict (user_id) do update set last_wrong_at = case when $3 then ${now} else c.last_wrong_at end,
       wrong_in_day = case when c.day_began > ${now} - interval '1 day' then c.wrong_in_day + 1 else 1 end,
       day_began = case when c.day_began > ${now} - interval '1 day' then c.day_began else ${now} end
     returning wrong_in_day as wrong, coalesce(c.waits_until > ${now}, false) as waits`,
    [userId, clockOffset, isTotp],
  )

export const forget = (sql: Sql, userId: string) =>
  sql.query('delete from wrong_codes where user_id = $1 returning user_id', [userId])

export const forgetAll = (sql: Sql) => sql.query('delete from wrong_codes returning user_id')

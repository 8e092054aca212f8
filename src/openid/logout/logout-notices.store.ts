import type { Sql } from '../../platform/database/database.js'
import { countedUpTo, databaseNow, milliseconds, selectList, waitingAndGivenUp } from '../../platform/database/sql.js'

export type DueNotice = { id: string; application_id: string; sid: string; user_id: string; attempts: number }

export type WaitingRow = {
  id: string
  application_id: string
  user_id: string
  created_at: Date
  attempts: number
  /** Null after the notice was given up. */
  next_attempt_at: Date | null
  failure: string | null
}

const isPaused = (application: string, offset: string) =>
  `exists (select 1 from logout_pauses as p where p.application_id = ${application} and p.paused_until > ${databaseNow(offset)})`

/** The applications for which a notice is due. */
export const selectDue = (sql: Sql, offset: number) =>
  sql.query<{ id: string }>(
    `select a.id from applications as a
     where exists (
       select 1 from logout_notices as n where n.application_id = a.id and n.next_attempt_at <= ${databaseNow('$1')}
     ) and not ${isPaused('a.id', '$1')}`,
    [offset],
  )

/** Takes the notice that has waited longest. No other sender takes it until the lease ends, as with mails. */
export const claim = (sql: Sql, applicationId: string, lease: number, offset: number) =>
  sql.query<DueNotice>(
    `update logout_notices
     set attempts = attempts + 1, next_attempt_at = ${databaseNow('$1')} + ${milliseconds('$2')}
     where id = (
       select id from logout_notices
       where application_id = $3 and next_attempt_at <= ${databaseNow('$1')} and not ${isPaused('$3', '$1')}
       order by next_attempt_at limit 1 for update skip locked
     )
     returning ${selectList<DueNotice>({ id: true, application_id: true, sid: true, user_id: true, attempts: true })}`,
    [offset, lease, applicationId],
  )

/** Deletes a notice, because the application was told or is not to be told any more. */
export const deleteNotice = (sql: Sql, id: string) => sql.query('delete from logout_notices where id = $1', [id])

/**
 * Sets the next attempt after a pause, or gives the notice up if it is older than `retryPeriod`. Only the sender that holds the lease may
 * write it.
 */
export const markFailed = (
  sql: Sql,
  { id, attempts }: DueNotice,
  { failure, pause, retryPeriod, offset }: { failure: string; pause: number; retryPeriod: number; offset: number },
) =>
  sql.query<{ given_up: boolean }>(
    `update logout_notices set failure = $3, next_attempt_at =
       case when created_at > ${databaseNow('$4')} - ${milliseconds('$6')} then ${databaseNow('$4')} + ${milliseconds('$5')} end
     where id = $1 and attempts = $2 and next_attempt_at is not null
     returning next_attempt_at is null as given_up`,
    [id, attempts, failure, offset, pause, retryPeriod],
  )

/**
 * Pauses all notices to the application, for longer after each further failure in a row. `pauses` are in milliseconds, and the last one
 * repeats. Attempts that ran at the same time count once.
 */
export const pause = (sql: Sql, applicationId: string, pauses: readonly number[], offset: number) =>
  sql.query(
    `insert into logout_pauses as p (application_id, failures, paused_until)
     select id, 1, ${databaseNow('$2')} + ${milliseconds('($3::float8[])[1]')} from applications where id = $1
     on conflict (application_id) do update set failures = p.failures + 1, paused_until =
       ${databaseNow('$2')} + ${milliseconds('($3::float8[])[least(p.failures + 1, array_length($3::float8[], 1))]')}
     where p.paused_until <= ${databaseNow('$2')}`,
    [applicationId, offset, pauses],
  )

/**
 * Counts an answer that refuses a notice. `burst` of them in a row pause nothing; after that the application is paused for `spacing`
 * milliseconds after each. `paused_until` is in the past while fewer have come.
 */
export const countRefusal = (
  sql: Sql,
  applicationId: string,
  { burst, spacing, offset }: { burst: number; spacing: number; offset: number },
) =>
  sql.query(
    `insert into logout_pauses as p (application_id, failures, paused_until)
     select id, 0, ${databaseNow('$2')} - ${milliseconds('$3')} + ${milliseconds('$4')} from applications where id = $1
     on conflict (application_id) do update set paused_until =
       greatest(p.paused_until, ${databaseNow('$2')} - ${milliseconds('$3')}) + ${milliseconds('$4')}`,
    [applicationId, offset, burst * spacing, spacing],
  )

/** Ends the pause after failures. The count of refusals stays: an application may take one notice and refuse the next. */
export const endPause = (sql: Sql, applicationId: string) =>
  sql.query('delete from logout_pauses where application_id = $1 and failures > 0', [applicationId])

export const count = (sql: Sql) =>
  sql.query<{ waiting: number; given_up: number }>(waitingAndGivenUp('logout_notices'), [countedUpTo])

/** How long the oldest notice has waited, in seconds. */
export const oldestWaitSeconds = (sql: Sql, offset: number) =>
  sql.query<{ seconds: number | null }>(
    `select extract(epoch from ${databaseNow('$1')} - min(created_at))::float8 as seconds
     from logout_notices where next_attempt_at is not null`,
    [offset],
  )

export type StateRow = {
  name: string
  waiting: number
  oldest: number | null
  given_up: number
  refused: boolean
  failure: string | null
}

/** The state of each application that has a notice in the queue, or has refused one lately. */
export const selectStates = (sql: Sql, { refusedWithin, offset }: { refusedWithin: number; offset: number }) =>
  sql.query<StateRow>(
    `select * from (
       select a.name, count(n.id) filter (where n.next_attempt_at is not null) as waiting,
         extract(epoch from ${databaseNow('$1')} - min(n.created_at) filter (where n.next_attempt_at is not null))::float8 as oldest,
         count(n.id) filter (where n.next_attempt_at is null) as given_up,
         (array_agg(n.failure order by n.next_attempt_at desc) filter (where n.failure is not null and n.next_attempt_at is not null))[1]
           as failure,
         exists (
           select 1 from application_errors as e
           where e.application_id = a.id and e.kind = 'logout_refused' and e.seen_at > ${databaseNow('$1')} - ${milliseconds('$2')}
         ) as refused
       from applications as a left join logout_notices as n on n.application_id = a.id
       group by a.id
     ) as states where waiting + given_up > 0 or refused order by name`,
    [offset, refusedWithin],
  )

/** The names of the applications that do not know yet that a session of this user has ended. */
export const selectUntold = (sql: Sql, userId: string) =>
  sql.query<{ name: string; given_up: boolean }>(
    `select a.name, bool_and(n.next_attempt_at is null) as given_up
     from logout_notices as n join applications as a on a.id = n.application_id
     where n.user_id = $1 group by a.id order by a.name`,
    [userId],
  )

const waitingColumns = selectList<WaitingRow>({
  id: true,
  application_id: true,
  user_id: true,
  created_at: true,
  attempts: true,
  next_attempt_at: true,
  failure: true,
})

export const selectOldest = (sql: Sql, applicationId: string, limit: number) =>
  sql.query<WaitingRow>(
    `select ${waitingColumns} from logout_notices where application_id = $1 order by created_at, id limit $2`,
    [applicationId, limit],
  )

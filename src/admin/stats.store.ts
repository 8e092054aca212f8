import type { CountingFactor } from '../contract/second-factors.js'
import type { Sql } from '../platform/database/database.js'
import { type LiveAt, liveSession, momentsOf } from '../sessions/live-sessions.js'

/** The number of users who have a second factor, for each that counts. */
const withFactor = { totp: 'with_totp', passkey: 'with_passkeys' } as const satisfies Record<CountingFactor, string>
type WithFactor = (typeof withFactor)[CountingFactor]

const countFactors = Object.entries(withFactor).map(
  ([method, name]) => `(select count(distinct user_id) from second_factors where method = '${method}') as ${name}`,
)

export type StatsRow = Record<WithFactor, number> & {
  users: number
  disabled: number
  without_password: number
  new_users: number
  registrations_waiting: number
  sessions: number
  users_with_sessions: number
  mails_waiting: number
  webhooks_waiting: number
  webhooks_given_up: number
  logout_notices_waiting: number
  logout_notices_given_up: number
}

/** Numbers of rows. `since`: from when on users count as new. */
export const selectStats = (sql: Sql, live: LiveAt, { now, since }: { now: Date; since: Date }) =>
  sql.query<StatsRow>(
    `select u.*, s.*,
       ${countFactors.join(', ')},
       (select count(*) from pending_registrations where confirmed_at is null and expires_at > $1) as registrations_waiting,
       (select count(*) from outgoing_mail where next_attempt_at is not null) as mails_waiting,
       (select count(*) from outgoing_webhooks where next_attempt_at is not null) as webhooks_waiting,
       (select count(*) from outgoing_webhooks where next_attempt_at is null) as webhooks_given_up,
       (select count(*) from logout_notices where next_attempt_at is not null) as logout_notices_waiting,
       (select count(*) from logout_notices where next_attempt_at is null) as logout_notices_given_up
     from (
       select count(*) as users,
         count(*) filter (where disabled_at is not null) as disabled,
         count(*) filter (where password_hash is null) as without_password,
         count(*) filter (where created_at >= $2) as new_users
       from users
     ) as u, (
       select count(*) as sessions, count(distinct user_id) as users_with_sessions
       from sessions as r where ${liveSession('$3')}
     ) as s`,
    [now, since, momentsOf(live)],
  )

export const countIdentities = (sql: Sql) =>
  sql.query<{ provider: string; users: number }>(
    'select provider, count(*) as users from identities group by provider order by provider',
  )

/** The numbers of events by kind, and for refusals also by their reason. */
export const countEvents = (sql: Sql, from: string) =>
  sql.query<{ kind: string; reason: string | null; events: number }>(
    `select kind, case when kind in ('sign_in_failed', 'rate_limited', 'second_factor_failed') then reason end as reason,
       count(*) as events
     from events where id >= $1 group by 1, 2 order by 3 desc, 1, 2`,
    [from],
  )

/** Counts each user once, by the last use that is known. */
export const countActiveUsers = (sql: Sql, since: { day: Date; week: Date; month: Date; firstEvent: string }) =>
  sql.query<{ day: number; week: number; month: number }>(
    `select count(*) filter (where used >= $1) as day, count(*) filter (where used >= $2) as week, count(*) as month
     from (
       select user_id, max(used) as used from (
         select user_id, last_used_at as used from sessions where last_used_at >= $3
         union all
         select user_id, created_at from events where id >= $4 and user_id is not null and session_id is not null
       ) as uses group by user_id
     ) as users`,
    [since.day, since.week, since.month, since.firstEvent],
  )

/** The counts between each two ids, which begin with their time. A user counts on the day on which the account was created here. */
export const countDays = (sql: Sql, days: readonly { from: string; before: string }[]) =>
  sql.query<{ first_id: string; sign_ins: number; failures: number; new_users: number }>(
    `select d.first_id, c.sign_ins, c.failures,
       (select count(*) from users where id >= d.first_id and id < d.end_id) as new_users
     from unnest($1::uuid[], $2::uuid[]) as d (first_id, end_id)
     cross join lateral (
       select count(*) filter (where kind = 'signed_in' or (kind = 'registered' and session_id is not null)) as sign_ins,
         count(*) filter (where kind in ('sign_in_failed', 'second_factor_failed')) as failures
       from events where id >= d.first_id and id < d.end_id
     ) as c`,
    [days.map(({ from }) => from), days.map(({ before }) => before)],
  )

/** The number of mails that wait since before a time, since when the oldest waits, and the error of the newest that has one. */
export const countLateMails = (sql: Sql, waitingSince: Date) =>
  sql.query<{ late_count: number; since: Date | null; last_error: string | null }>(
    `select count(*) as late_count, min(created_at) as since,
       (array_agg(last_error order by id desc) filter (where last_error is not null))[1] as last_error
     from outgoing_mail where next_attempt_at is not null and created_at < $1`,
    [waitingSince],
  )

/** Why the file of this name could not be applied; null if it could. */
export const selectConfigurationFault = (sql: Sql, name: string) =>
  sql.query<{ fault: string | null; tried_at: Date }>(
    'select fault, tried_at from configuration_files where name = $1',
    [name],
  )

export const countWithoutSecret = (sql: Sql) =>
  sql.query<{ applications: number }>(
    `select count(*)::int as applications from applications as a where kind = 'web' and redirect_addresses <> '{}'
       and not exists (select 1 from application_secrets as s where s.application_id = a.id)`,
  )

export const countEventsOfKind = (sql: Sql, kind: string, from: string) =>
  sql.query<{ events: number }>('select count(*) as events from events where id >= $1 and kind = $2', [from, kind])

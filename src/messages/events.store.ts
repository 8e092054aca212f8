import type { EventDetails } from '../contract/configuration.js'
import type { Client } from '../http/request-origin.js'
import type { Sql } from '../platform/database/database.js'
import { selectList } from '../platform/database/sql.js'

export type EventRow = {
  id: string
  kind: string
  user_id: string | null
  username: string | null
  name_mark: string | null
  session_id: string | null
  reason: string | null
  request_id: string | null
  ip: string
  user_agent: string
  created_at: Date
  actor_id: string | null
  actor_name: string | null
  actor_key: string | null
  actor_reason: string | null
  details: EventDetails | null
}

const columns = selectList<EventRow>({
  id: true,
  kind: true,
  user_id: true,
  username: true,
  name_mark: true,
  session_id: true,
  reason: true,
  request_id: true,
  ip: true,
  user_agent: true,
  created_at: true,
  actor_id: true,
  actor_name: true,
  actor_key: true,
  actor_reason: true,
  details: true,
})

/** Inserts an event, unless it is about a user who was deleted in the meantime. */
export const insertEvent = (
  sql: Sql,
  event: {
    id: string
    kind: string
    userId: string | null
    sessionId: string | null
    reason: string | null
    requestId: string | null
    nameMark: string | null
    ip: string
    userAgent: string
    now: Date
    logPending: boolean
    actorId: string | null
    actorKey: string | null
    actorReason: string | null
    details: object | null
  },
) =>
  sql.query<{ username: string | null }>(
    `with held as (select id, username from users where id = $3 for key share)
     insert into events (id, kind, user_id, username, name_mark, session_id, reason, request_id, ip, user_agent, created_at,
       log_pending, actor_id, actor_reason, actor_key, details, actor_name)
     select $1, $2, u.id, u.username, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15::jsonb,
       (select actor.username from users as actor where actor.id = $12)
     from (select $3::uuid as wanted) as given left join held as u on u.id = wanted
     where wanted is null or u.id is not null
     returning username`,
    [
      event.id,
      event.kind,
      event.userId,
      event.nameMark,
      event.sessionId,
      event.reason,
      event.requestId,
      event.ip,
      event.userAgent,
      event.now,
      event.logPending,
      event.actorId,
      event.actorReason,
      event.actorKey,
      event.details,
    ],
  )

export const selectById = (sql: Sql, id: string) =>
  sql.query<EventRow>(`select ${columns} from events where id = $1`, [id])

/** The oldest events that are in no log yet. They are marked as logged. */
export const takeUnlogged = (sql: Sql, limit: number) =>
  sql.query<EventRow>(
    `with taken as (
       update events set log_pending = false
       where id in (select id from events where log_pending order by id limit $1 for update skip locked)
       returning ${columns}
     )
     select ${columns} from taken order by id`,
    [limit],
  )

export const selectRecentOfUser = (sql: Sql, userId: string, kinds: readonly string[] | null, limit: number) =>
  sql.query<EventRow>(
    `select ${columns} from events where user_id = $1 and ($2::text[] is null or kind = any($2))
     order by id desc limit $3`,
    [userId, kinds, limit],
  )

/** Whether there is a sign-in of this client among the events from one id on. */
export const selectSignIn = (sql: Sql, userId: string, firstId: string, { ip, userAgent }: Client) =>
  sql.query(
    `select 1 from events where user_id = $1 and id >= $2 and session_id is not null and kind in ('signed_in', 'registered')
     and ip = $3 and user_agent = $4 limit 1`,
    [userId, firstId, ip, userAgent],
  )

/** An attempt from before the account existed has no user, only the mark of the typed name. The mark is deleted here. */
export const forgetNames = (sql: Sql, nameMarks: readonly string[]) =>
  sql.query('update events set name_mark = null where name_mark = any($1::text[])', [nameMarks])

/** The events from one id (inclusive) to another (exclusive), newest first. */
export type Span = {
  from: string
  before: string
  kinds: readonly string[] | null
  /** An IP address, or the word that events without an address have. */
  ip: string | null
  /** In the notation of CIDR. */
  network: string | null
  /** The beginning of the id of a request. */
  request: string | null
  limit: number
}

/** Not every `ip` is an IP address, and only an IP address can be cast. */
const inNetwork = `case when ip ~ '^[0-9a-f]*[.:][0-9a-f.:]*$' then ip::inet <<= $6::inet else false end`

const inSpan = `id >= $1 and id < $2 and ($3::text[] is null or kind = any($3)) and ($5::text is null or ip = $5)
          and ($6::text is null or ${inNetwork}) and ($7::text is null or starts_with(request_id::text, $7))`

const spanParameters = ({ from, before, kinds, limit, ip, network, request }: Span) => [
  from,
  before,
  kinds,
  limit,
  ip,
  network,
  request,
]

export const selectSpan = (sql: Sql, span: Span) =>
  sql.query<EventRow>(
    `select ${columns} from events
     where ${inSpan} order by id desc limit $4`,
    spanParameters(span),
  )

/**
 * Events of a user or a name, and requests from the user's addresses that a limit refused. Such a refusal has no name, because the body of
 * the request was never read.
 */
export const selectAbout = (sql: Sql, span: Span, who: { userId: string | null; nameMarks: string[] }) =>
  sql.query<EventRow>(
    `with mine as (select ip from events where user_id = $8 order by id desc limit 1000),
     found as (
       (select ${columns} from events where user_id = $8
          and ${inSpan} order by id desc limit $4)
       union all
       (select ${columns} from events where name_mark = any($9::text[])
          and ${inSpan} order by id desc limit $4)
       union all
       (select ${columns} from events where kind = 'rate_limited' and user_id is null and ip in (select ip from mine)
          and ${inSpan} order by id desc limit $4)
     )
     select ${columns} from found order by id desc limit $4`,
    [...spanParameters(span), who.userId, who.nameMarks],
  )

/**
 * The table has a partition for each month, and a default partition for events of other months. `make_event_months` locks the
 * table, so it is not called if the next month has its partition.
 */
export const makeMonths = (sql: Sql) =>
  sql.query<{ made: number }>(
    `select case when to_regclass('events_' || to_char((now() at time zone 'utc') + interval '1 month', 'YYYY_MM')) is null
       then make_event_months() else 0 end as made`,
  )

/** Drops whole months that ended more than 90 days ago, also by the database's clock. */
export const dropMonthsBefore = (sql: Sql, oldestKeptId: string) =>
  sql.query<{ dropped: number }>('select drop_event_months($1) as dropped', [oldestKeptId])

/**
 * Ids begin with their time, so the order of the primary key is the order of age. A trigger refuses to delete events that are younger by
 * the database's clock.
 */
export const purgeBefore = (sql: Sql, oldestKeptId: string, limit: number) =>
  sql.query(
    `delete from events where id in (
       select id from events where id < $1 and created_at < now() - interval '90 days' order by id limit $2
     ) returning 1`,
    [oldestKeptId, limit],
  )

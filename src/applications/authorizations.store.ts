import type { Sql } from '../platform/database/database.js'
import { selectList } from '../platform/database/sql.js'
import { type LiveAt, liveSession, momentsOf } from '../sessions/live-sessions.js'
import { hasRight } from './still-authorized.js'

type UsedApplicationRow = {
  id: string
  name: string
  home: string
  hears_logouts: boolean
  since: Date
  last_used_at: Date
}
const usedApplicationColumns = selectList<UsedApplicationRow>({
  id: 'a.id',
  name: 'a.name',
  home: 'a.home',
  // An application that is only behind a proxy has no session of its own.
  hears_logouts: 'a.backchannel_logout is not null or cardinality(a.redirect_addresses) = 0',
  since: 'min(s.created_at)',
  last_used_at: 'max(greatest(s.last_used_at, t.rotated_at))',
})

export const selectOfUser = (sql: Sql, userId: string, live: LiveAt) =>
  sql.query<UsedApplicationRow>(
    `select ${usedApplicationColumns}
     from application_sessions as s
     join sessions as r on r.id = s.sid
     join applications as a on a.id = s.application_id
     left join application_tokens as t on t.application_session_id = s.id
     where s.user_id = $1 and ${liveSession('$2')}
     group by a.id order by last_used_at desc, a.id`,
    [userId, momentsOf(live)],
  )

export const selectUsers = (sql: Sql, applicationId: string, live: LiveAt) =>
  sql.query(
    `select distinct s.user_id from application_sessions as s join sessions as r on r.id = s.sid
     where s.application_id = $1 and ${liveSession('$2')}`,
    [applicationId, momentsOf(live)],
  )

export const selectSessionCounts = (sql: Sql, live: LiveAt) =>
  sql.query<{ application_id: string; sessions: number }>(
    `select s.application_id, count(*)::int as sessions
     from application_sessions as s join sessions as r on r.id = s.sid and r.application_id = s.application_id
     where ${liveSession('$1')} group by s.application_id`,
    [momentsOf(live)],
  )

/** Every transaction that ends authorizations locks them in this order. */
const inLockOrder = 'order by s.sid, s.application_id for update of s'

type EndedRow = { sid: string; user_id: string; application_name: string }
const endedColumns = selectList<EndedRow>({ sid: 's.sid', user_id: 's.user_id', application_name: 'a.name' })

/**
 * Ends the authorizations that meet the condition. Their codes and tokens are deleted with them, and a trigger queues the logout notices.
 */
const endAuthorizations = (sql: Sql, condition: string, values: readonly unknown[]) =>
  sql.query<EndedRow>(
    `delete from application_sessions as s using applications as a
     where a.id = s.application_id and s.id = any(array(
       select s.id from application_sessions as s
       join users as u on u.id = s.user_id join applications as a on a.id = s.application_id
       left join sessions as r on r.id = s.sid
       where ${condition} ${inLockOrder}
     )) returning ${endedColumns}`,
    values,
  )

export const deleteOfUser = (sql: Sql, userId: string, applicationId: string) =>
  endAuthorizations(sql, 's.user_id = $1 and s.application_id = $2', [userId, applicationId])

export const deleteOfApplication = (sql: Sql, applicationId: string) =>
  endAuthorizations(sql, 's.application_id = $1', [applicationId])

export const deleteOfResource = (sql: Sql, resourceId: string) =>
  endAuthorizations(sql, 's.resource_id = $1', [resourceId])

type Filter = { userId?: string; applicationId?: string; resourceId?: string }

export const deleteWithoutRight = (sql: Sql, { userId, applicationId, resourceId }: Filter) =>
  endAuthorizations(
    sql,
    `($1::uuid is null or s.user_id = $1) and ($2::text is null or s.application_id = $2)
     and ($3::text is null or s.resource_id = $3) and not ${hasRight}`,
    [userId ?? null, applicationId ?? null, resourceId ?? null],
  )

export const deleteById = (sql: Sql, id: string) => endAuthorizations(sql, 's.id = $1', [id])

export const selectConsents = (sql: Sql, userId: string) =>
  sql.query<{ application: string; scopes: string[]; given_at: Date }>(
    `select a.name as application, c.scopes, c.given_at from consents as c join applications as a on a.id = c.application_id
     where c.user_id = $1 order by c.given_at, a.id`,
    [userId],
  )

/** Deletes the consent of a user. */
export const deleteConsent = (sql: Sql, userId: string, applicationId: string) =>
  sql.query('delete from consents where user_id = $1 and application_id = $2 returning 1', [userId, applicationId])

/** Everything that ends sessions locks the user before the authorizations. The lock waits for a code that is being made. */
export const holdUser = (sql: Sql, userId: string) =>
  sql.query('select 1 from users where id = $1 for no key update', [userId])

/** The only authorization of a device's session. No row for the session of a browser. */
export const selectOfDevice = (sql: Sql, sid: string) =>
  sql.query<{ id: string; user_id: string }>(
    `select s.id, s.user_id from application_sessions as s join sessions as r on r.id = s.sid
     where s.sid = $1 and r.application_id is not null`,
    [sid],
  )

export const selectOwner = (sql: Sql, id: string) =>
  sql.query<{ user_id: string }>('select user_id from application_sessions where id = $1', [id])

export const selectScopes = (sql: Sql, userId: string, applicationId: string) =>
  sql.query<{ scopes: string[] }>('select scopes from consents where user_id = $1 and application_id = $2', [
    userId,
    applicationId,
  ])

export const addScopes = (
  sql: Sql,
  consent: { userId: string; applicationId: string; scopes: readonly string[]; now: Date },
) =>
  sql.query(
    `insert into consents (user_id, application_id, scopes, given_at) values ($1, $2, $3, $4)
     on conflict (user_id, application_id) do update
     set given_at = excluded.given_at,
         scopes = array(select distinct unnest(consents.scopes || excluded.scopes) order by 1)`,
    [consent.userId, consent.applicationId, consent.scopes, consent.now],
  )

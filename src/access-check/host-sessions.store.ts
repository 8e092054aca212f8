import type { Access } from '../applications/applications.js'
import { authorizationTables, stillAuthorized } from '../applications/still-authorized.js'
import type { Sql } from '../platform/database/database.js'
import { databaseMoment, milliseconds, selectList } from '../platform/database/sql.js'
import { type LiveAt, liveSession, momentsOf } from '../sessions/live-sessions.js'

/** The moments that a statement compares with. */
export type Moments = { live: LiveAt; clockOffset: number }

/** Reads who may use the application now, if it still has this address. An operator who changes it waits for the transaction. */
export const holdApplication = (sql: Sql, id: string, origin: string) =>
  sql.query<{ access: Access['access']; groups: string[] }>(
    'select access, groups from applications where id = $1 and proxy_origin = $2 for share',
    [id, origin],
  )

type NewUse = { id: string; sid: string; applicationId: string; userId: string; now: Date }

/** The use of an application in a session, which its tokens share. Behind a proxy it needs no scopes. */
export const upsertUse = (sql: Sql, { id, sid, applicationId, userId, now }: NewUse) =>
  sql.query<{ id: string; is_first: boolean }>(
    `insert into application_sessions as s (id, sid, application_id, user_id, scopes, created_at, last_used_at)
     values ($1, $2, $3, $4, '{}', $5, $5)
     on conflict (sid, application_id) do update set last_used_at = excluded.last_used_at
     returning s.id, s.id = $1 as is_first`,
    [id, sid, applicationId, userId, now],
  )

type NewCode = {
  hash: Uint8Array
  useId: string
  origin: string
  challenge: string
  returnTo: string
  lifetime: number
  clockOffset: number
}

export const insertCode = (sql: Sql, code: NewCode) =>
  sql.query(
    `insert into host_codes (hash, application_session_id, origin, challenge, return_to, expires_at)
     values ($1, $2, $3, $4, $5, ${databaseMoment('$6')} + ${milliseconds('$7')})`,
    [code.hash, code.useId, code.origin, code.challenge, code.returnTo, code.clockOffset, code.lifetime],
  )

type UsedCode = {
  return_to: string
  /** Whether it was made for this host. */
  is_of_origin: boolean
  /** Whether it belongs to another verifier than that of this browser, and would be good otherwise. */
  is_of_other_attempt: boolean
  /** For how many seconds the new cookie is good. Null if the code gave none. */
  seconds: number | null
}

type CodeUse = {
  hash: Uint8Array
  origin: string
  challenge: string
  session: { id: string; hash: Uint8Array; lifetime: number }
}

/**
 * Uses the code up, whether it is good or not, and begins the session of the host if it is. The use of the application is held first, as by
 * everything that ends it.
 */
export const useCode = (sql: Sql, { hash, origin, challenge, session }: CodeUse, { live, clockOffset }: Moments) =>
  sql.query<UsedCode>(
    `with held as materialized (
       select s.id from application_sessions as s
       where s.id = (select application_session_id from host_codes where hash = $1) for key share
     ), code as (
       delete from host_codes as c using held where c.hash = $1 and c.application_session_id = held.id
       returning held.id, c.return_to, c.origin = $2 as is_of_origin,
         c.origin = $2 and c.expires_at > ${databaseMoment('$4')} as is_current, c.challenge = $3 as is_of_attempt
     ), made as (
       insert into host_sessions (id, hash, application_session_id, sid, origin, created_at, expires_at)
       select $6, $7, s.id, s.sid, $2, ${databaseMoment('$4')},
         least(r.expires_at, ${databaseMoment('$4')} + ${milliseconds('$8')})
       from code join (${authorizationTables}) on s.id = code.id
       where code.is_current and code.is_of_attempt and ${stillAuthorized('$5')}
       returning expires_at
     )
     select code.return_to, code.is_of_origin, code.is_current and not code.is_of_attempt as is_of_other_attempt,
       floor(extract(epoch from made.expires_at - ${databaseMoment('$4')}))::int as seconds
     from code left join made on true`,
    [hash, origin, challenge, clockOffset, momentsOf(live), session.id, session.hash, session.lifetime],
  )

export type HostSessionRow = {
  id: string
  sid: string
  user_id: string
  username: string
  name: string | null
  email: string
  groups: string[]
  methods: string[]
  authenticated_at: Date
  second_factor_at: Date | null
  oldest_generation: number
  expires_at: Date
}
const columns = selectList<HostSessionRow>({
  id: 'h.id',
  sid: 'h.sid',
  user_id: 'u.id',
  username: 'u.username',
  name: 'u.name',
  email: 'u.email',
  groups: 'u.groups',
  methods: 'r.methods',
  authenticated_at: 'r.authenticated_at',
  second_factor_at: 'r.second_factor_at',
  oldest_generation: 'r.oldest_generation',
  expires_at: 'least(h.expires_at, r.expires_at)',
})

/** No row if the cookie or its session has ended. */
export const selectByHash = (
  sql: Sql,
  { hash, origin, applicationId }: { hash: Uint8Array; origin: string; applicationId: string },
  { live, clockOffset }: Moments,
) =>
  sql.query<HostSessionRow>(
    `select ${columns} from host_sessions as h join (${authorizationTables}) on s.id = h.application_session_id
     where h.hash = $1 and h.origin = $2 and s.application_id = $3 and h.expires_at > ${databaseMoment('$4')}
       and u.disabled_at is null and ${liveSession('$5')}`,
    [hash, origin, applicationId, clockOffset, momentsOf(live)],
  )

export const deleteById = (sql: Sql, id: string) => sql.query('delete from host_sessions where id = $1', [id])

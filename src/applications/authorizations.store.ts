import { methodsCountingAs } from '../contract/factors.js'
import type { HolderRow } from '../openid/token/tokens.store.js'
import type { TokenContent } from '../openid/token/user-claims.js'
import type { Sql } from '../platform/database/database.js'
import { databaseMoment, milliseconds, selectList } from '../platform/database/sql.js'
import { type LiveAt, liveSession, momentsOf } from '../sessions/live-sessions.js'
import type { ProofRow } from '../sessions/session-facts.js'
import type { Application } from './applications.js'

/** Whether the user may use the application, as `mayUse` decides it, for the tables `applications as a` and `users as u`. */
const mayUseNow = `(a.access = 'everyone' or a.groups && u.groups)`

const hasOneOf = (counts: 'first' | 'second' | 'both') => `r.methods && '{${methodsCountingAs(counts).join()}}'::text[]`

/** Whether the session `sessions as r` has two factors, counted as by `countFactors`. */
const hasTwoFactors = `coalesce(${hasOneOf('both')} or (${hasOneOf('first')} and ${hasOneOf('second')}), false)`

/** Whether the user has agreed to everything that the application got last. */
const hasAgreed = `exists (
  select 1 from consents as k where k.user_id = s.user_id and k.application_id = s.application_id and k.scopes @> s.scopes)`

/** Whether the session meets what the application demands now, which may be more than when the authorization was made. */
const meetsDemands = `((a.factors = 1 or ${hasTwoFactors}) and (a.consent = 'none' or ${hasAgreed}))`

/** Whether the user is enabled, may use the application, and has a session that meets its demands. */
const hasRight = `(u.disabled_at is null and ${mayUseNow} and ${meetsDemands})`

/** The tables that `stillAuthorized` reads, for a statement that names `application_sessions as s`. */
export const authorizationTables = `application_sessions as s
     join sessions as r on r.id = s.sid
     join users as u on u.id = s.user_id
     join applications as a on a.id = s.application_id`

/**
 * Whether the user has the right to use the application, in a session that has not ended. Every statement that issues or accepts a token
 * checks this again. `live` is the parameter of the statement that `liveSession` reads.
 */
export const stillAuthorized = (live: string) => `(${hasRight} and ${liveSession(live)})`

/** Reads who may use the application now. An operator who changes it waits until the transaction ends. */
export const holdApplication = (sql: Sql, id: string) =>
  sql.query<Pick<Application, 'access' | 'groups'>>('select access, groups from applications where id = $1 for share', [
    id,
  ])

type NewAuthorization = {
  id: string
  sid: string
  applicationId: string
  userId: string
  scopes: readonly string[]
  now: Date
}

/** Each session has one authorization for each application. `is_first`: this statement has created it. */
export const upsertAuthorization = (sql: Sql, authorization: NewAuthorization) =>
  sql.query<{ id: string; is_first: boolean }>(
    `insert into application_sessions as s (id, sid, application_id, user_id, scopes, created_at, last_used_at)
     values ($1, $2, $3, $4, $5, $6, $6)
     on conflict (sid, application_id) do update set scopes = excluded.scopes, last_used_at = excluded.last_used_at
     returning s.id, s.id = $1 as is_first`,
    [
      authorization.id,
      authorization.sid,
      authorization.applicationId,
      authorization.userId,
      authorization.scopes,
      authorization.now,
    ],
  )

type ApproverRow = Pick<HolderRow, 'user_id' | 'username' | 'name' | 'email' | 'email_proven' | 'groups' | 'fields'> &
  ProofRow & { begun_at: Date }
const approverColumns = selectList<ApproverRow>({
  user_id: 'u.id',
  username: 'u.username',
  name: 'u.name',
  email: 'u.email',
  email_proven: 'u.email_proven',
  groups: 'u.groups',
  fields: 'u.fields',
  methods: 'r.methods',
  authenticated_at: 'r.authenticated_at',
  second_factor_at: 'r.second_factor_at',
  begun_at: 'r.created_at',
})

/** The user who has approved a device, if not disabled, and if the session of the approval has not ended. */
export const selectApprover = (sql: Sql, { userId, sid }: { userId: string; sid: string }, live: LiveAt) =>
  sql.query<ApproverRow>(
    `select ${approverColumns} from sessions as r join users as u on u.id = r.user_id
     where r.id = $1 and r.user_id = $2 and u.disabled_at is null and ${liveSession('$3')}`,
    [sid, userId, momentsOf(live)],
  )

type NewCode = {
  hash: Uint8Array
  authorizationId: string
  redirectAddress: string
  challenge: string | null
  content: TokenContent
  lifetime: number
  clockOffset: number
}

export const insertCode = (sql: Sql, code: NewCode) =>
  sql.query(
    `insert into authorization_codes
       (hash, application_session_id, redirect_address, challenge, token_content, created_at, expires_at)
     values ($1, $2, $3, $4, $5, ${databaseMoment('$6')}, ${databaseMoment('$6')} + ${milliseconds('$7')})`,
    [
      code.hash,
      code.authorizationId,
      code.redirectAddress,
      code.challenge,
      code.content,
      code.clockOffset,
      code.lifetime,
    ],
  )

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
  hears_logouts: 'a.backchannel_logout is not null',
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

export const deleteWithoutRight = (sql: Sql, filter: { userId?: string; applicationId?: string }) =>
  endAuthorizations(
    sql,
    `($1::uuid is null or s.user_id = $1) and ($2::text is null or s.application_id = $2) and not ${hasRight}`,
    [filter.userId ?? null, filter.applicationId ?? null],
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

/** No row if the authorization has ended, or does not meet what the application demands. */
export const selectStillAuthorized = (sql: Sql, id: string, live: LiveAt) =>
  sql.query(`select 1 from ${authorizationTables} where s.id = $1 and ${stillAuthorized('$2')}`, [id, momentsOf(live)])

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

import type { Sql } from '../platform/database/database.js'
import { type LiveAt, liveSession, momentsOf } from './live-sessions.js'
import type { ProofRow, SessionCaller } from './session-facts.js'

type AdministratorRow = ProofRow & { username: string; groups: string[]; administers_since: Date | null }

/**
 * The user of the session, if in one of the groups, with the proof of the session. No row if the user is disabled or the session has ended.
 */
export const selectAdministrator = (sql: Sql, caller: SessionCaller, groups: readonly string[], live: LiveAt) =>
  sql.query<AdministratorRow>(
    `select u.username, u.groups, r.methods, r.authenticated_at, r.second_factor_at, r.administers_since
     from users as u join sessions as r on r.user_id = u.id
     where u.id = $1 and u.disabled_at is null and u.groups && $4::text[]
       and r.id = $2 and r.oldest_generation <= $3 and ${liveSession('$5')}`,
    [caller.userId, caller.sessionId, caller.generation, groups, momentsOf(live)],
  )

/** The group that the setup has made. There is at most one. */
export const selectStoredGroup = (sql: Sql) => sql.query<{ name: string }>('select name from administrators_group')

export const insertStoredGroup = (sql: Sql, name: string) =>
  sql.query('insert into administrators_group (name) values ($1)', [name])

export const selectGroups = (sql: Sql, groups: readonly string[]) =>
  sql.query<{ name: string }>('select name from groups where name = any($1::text[])', [groups])

/** Changes by administrators wait for each other. Users can still join the groups. */
export const lockGroups = (sql: Sql, groups: readonly string[]) =>
  sql.query('select name from groups where name = any($1::text[]) order by name for no key update', [groups])

/**
 * No row if the user is disabled, is in none of the groups, or the session has ended. The lock keeps the user's row until the event that
 * names the user is written.
 */
export const selectActor = (sql: Sql, userId: string, sessionId: string, groups: readonly string[]) =>
  sql.query(
    `select 1 from users as u join sessions as r on r.user_id = u.id
     where u.id = $1 and u.disabled_at is null and u.groups && $3::text[] and r.id = $2
     for key share of u`,
    [userId, sessionId, groups],
  )

export const selectMember = (sql: Sql, userId: string, groups: readonly string[]) =>
  sql.query('select 1 from users where id = $1 and groups && $2::text[]', [userId, groups])

/** No row if the session was marked before. */
export const markSession = (sql: Sql, sessionId: string, now: Date) =>
  sql.query('update sessions set administers_since = $2 where id = $1 and administers_since is null returning id', [
    sessionId,
    now,
  ])

import { methodsCountingAs } from '../contract/factors.js'
import { liveSession } from '../sessions/live-sessions.js'

/** Whether the user may use the application, as `mayUse` decides it, for the tables `applications as a` and `users as u`. */
const mayUseNow = `(a.access = 'everyone' or a.groups && u.groups)`

const hasOneOf = (counts: 'first' | 'second' | 'both') => `r.methods && '{${methodsCountingAs(counts).join()}}'::text[]`

/** Whether the session `sessions as r` has two factors, counted as by `countFactors`. */
const hasTwoFactors = `coalesce(${hasOneOf('both')} or (${hasOneOf('first')} and ${hasOneOf('second')}), false)`

/** Whether the user may use the resource of the authorization, if it has one. */
const mayUseResource = `(s.resource_id is null or exists (
  select 1 from resources as x where x.id = s.resource_id and (x.access = 'everyone' or x.groups && u.groups)))`

/**
 * Whether the user has agreed to everything that the application got last. Behind a proxy it gets no tokens, and nobody is asked. For a
 * resource the user is asked each time, and the authorization itself is the consent.
 */
const hasAgreed = `(s.scopes = '{}' or s.resource_id is not null or exists (
  select 1 from consents as k where k.user_id = s.user_id and k.application_id = s.application_id and k.scopes @> s.scopes))`

/** Whether the session meets what the application demands now, which may be more than when the authorization was made. */
const meetsDemands = `((a.factors = 1 or ${hasTwoFactors}) and (a.consent = 'none' or ${hasAgreed}))`

/** Whether the user is enabled, may use the application, and has a session that meets its demands. */
export const hasRight = `(u.disabled_at is null and ${mayUseNow} and ${mayUseResource} and ${meetsDemands})`

const byKey = (table: string, key: string) => `lateral (select * from ${table} where id = ${key} offset 0)`

/**
 * The tables that `stillAuthorized` reads, beginning with `application_sessions as s`. Each is read by its key, whatever the planner knows:
 * of tables that nobody has analyzed it expects one row, and would compare every user with every session. So conditions on the application
 * are written about `a`, or its authorizations would be read, all of them.
 */
export const authorizationTables = `application_sessions as s
     join ${byKey('sessions', 's.sid')} as r on true
     join ${byKey('users', 's.user_id')} as u on true
     join ${byKey('applications', 's.application_id')} as a on true`

/**
 * Whether the user has the right to use the application, in a session that has not ended. Every statement that issues or accepts a token
 * checks this again. `live` is the parameter of the statement that `liveSession` reads.
 */
export const stillAuthorized = (live: string) => `(${hasRight} and ${liveSession(live)})`

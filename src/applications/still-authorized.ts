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

import { methodsThatCount } from '../../contract/factors.js'
import { liveSession } from '../sessions/live-sessions.js'

/** Whether the user may use the application, as `mayUse` decides it, for the tables `applications as a` and `users as u`. */
const mayUseNow = `(a.access = 'everyone' or a.groups && u.groups)`

const hasOneOf = (counts: 'first' | 'second' | 'both') => `r.methods && '{${methodsThatCount(counts).join()}}'::text[]`

/** Two factors, counted as by `factorsOf`, in the session `refresh_token_records as r`. */
const hasTwoFactors = `coalesce(${hasOneOf('both')} or (${hasOneOf('first')} and ${hasOneOf('second')}), false)`

/** The user has agreed to everything that the application got last. */
const hasAgreed = `exists (
  select 1 from consents as k where k.user_id = s.user_id and k.application_id = s.application_id and k.scopes @> s.scopes)`

/** The demands of the application now, which may be more than when the authorization was made. */
const meetsDemands = `((a.factors = 1 or ${hasTwoFactors}) and (a.consent = 'none' or ${hasAgreed}))`

/** An enabled user who may use the application, in a session that is good enough for it. */
export const hasRight = `(u.disabled_at is null and ${mayUseNow} and ${meetsDemands})`

/** The tables that `stillAuthorized` reads, for a statement that names `application_sessions as s`. */
export const authorizationTables = `application_sessions as s
     join refresh_token_records as r on r.id = s.sid
     join users as u on u.id = s.user_id
     join applications as a on a.id = s.application_id`

/**
 * Asked again by every statement that gives a token or answers one: the user is enabled, the session lives, and the user may still use
 * the application, by what it demands now. The parameter is that of `liveSession`.
 */
export const stillAuthorized = (live: string) => `(${hasRight} and ${liveSession(live)})`

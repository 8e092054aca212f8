import { liveSession } from '../sessions/live-sessions.js'

/** Whether the user may use the application, as `mayUse` decides it, for the tables `applications as a` and `users as u`. */
const mayUseNow = `(a.access = 'everyone' or a.groups && u.groups)`

/** An enabled user who may use the application. */
export const hasRight = `(u.disabled_at is null and ${mayUseNow})`

/** What `stillAuthorized` asks about, for a statement that names `application_sessions as s`. */
export const authorization = `application_sessions as s
     join refresh_token_records as r on r.id = s.sid
     join users as u on u.id = s.user_id
     join applications as a on a.id = s.application_id`

/**
 * Asked again by every statement that gives a token or answers one: the user is enabled, the session lives, and the user may still use
 * the application. The parameter is that of `liveSession`.
 */
export const stillAuthorized = (live: string) => `(${hasRight} and ${liveSession(live)})`

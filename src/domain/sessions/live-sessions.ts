import { type Clock, later } from '../../lib/clock.js'
import { days } from '../../lib/durations.js'

/** A session that is not used for this long is over: every refresh begins it anew. */
export const refreshTokenLifetime = 30 * days

/** The moments that a session is compared with, for the one parameter of `liveSession`. */
export type LiveAt = readonly [now: Date, begunAfter: Date]

/** The one condition in SQL, for the table `refresh_token_records as r` and a parameter with a `LiveAt`. */
export const liveSession = (parameter: string) => {
  const [now, begunAfter] = [1, 2].map((place) => `(${parameter}::timestamptz[])[${place}]`)
  return `(r.expires_at > ${now} and r.created_at > ${begunAfter})`
}

/** A session lasts for `sessionMaxAge` at most, also one that began while the setting was longer. */
export type SessionLimits = { sessionMaxAge: number }

/** When sessions are over. Claims have whole seconds, and so have the numbers here. */
export const createSessionLife = ({ clock, sessionMaxAge }: SessionLimits & { clock: Clock }) => {
  const endOf = (begun: number) => begun + Math.floor(sessionMaxAge / 1000)
  return {
    liveNow: (): LiveAt => [clock.now(), later(clock.now(), -sessionMaxAge)],
    /** The latest end of a session that began then. */
    endOf,
    /** When a refresh token expires that is signed now. */
    expiryFor: (begun: number) =>
      Math.min(Math.floor(later(clock.now(), refreshTokenLifetime).getTime() / 1000), endOf(begun)),
  }
}

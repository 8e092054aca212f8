import { type Clock, later } from '../../lib/clock.js'
import { days } from '../../lib/durations.js'

/** A session that is not used for this long is over: every refresh begins it anew. */
export const refreshTokenLifetime = 30 * days

/** The lifetimes of tokens are shorter than the constants only in tests of applications. */
export type Lifetimes = Readonly<Record<'session' | 'refreshToken' | 'accessToken', number>>
export type SessionLimits = { lifetimes: Lifetimes }

/** How long a session lasts from a moment that its row has, also one that began while a setting was longer. */
const limits = {
  begun: { column: 'created_at', longest: ({ session }) => session },
  refreshed: { column: 'issued_at', longest: ({ refreshToken }) => refreshToken },
} as const satisfies Record<string, { column: string; longest: (lifetimes: Lifetimes) => number }>

type Limit = keyof typeof limits
const limitNames = Object.keys(limits) as Limit[]

/** The moments that a session is compared with: its token expires after `now`, and it began and was refreshed after the others. */
export type LiveAt = Readonly<Record<'now' | Limit, Date>>
const moments = ['now', ...limitNames] as const

/** For the one parameter of `liveSession`. */
export const momentsOf = (live: LiveAt) => moments.map((name) => live[name])

/** The one condition in SQL, for the table `refresh_token_records as r` and a parameter with `momentsOf`. */
export const liveSession = (parameter: string) => {
  const moment = (name: keyof LiveAt) => `(${parameter}::timestamptz[])[${moments.indexOf(name) + 1}]`
  const within = limitNames.map((name) => `r.${limits[name].column} > ${moment(name)}`)
  return `(${[`r.expires_at > ${moment('now')}`, ...within].join(' and ')})`
}

/** When sessions are over. Claims have whole seconds, and so have the numbers here. */
export type SessionLife = ReturnType<typeof createSessionLife>

export const createSessionLife = ({ clock, lifetimes }: SessionLimits & { clock: Clock }) => {
  const endBy = (name: Limit, from: number) => from + Math.floor(limits[name].longest(lifetimes) / 1000)
  return {
    liveNow: () => {
      const now = clock.now()
      const since = limitNames.map((name) => [name, later(now, -limits[name].longest(lifetimes))])
      return { now, ...Object.fromEntries(since) } as LiveAt
    },
    /** The latest end of a session that began then. */
    endOf: (begun: number) => endBy('begun', begun),
    /** When a refresh token expires that is signed now. */
    expiryFor: (begun: number) => {
      const from: Record<Limit, number> = { begun, refreshed: Math.floor(clock.now().getTime() / 1000) }
      return Math.min(...limitNames.map((name) => endBy(name, from[name])))
    },
  }
}

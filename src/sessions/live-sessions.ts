import { type Clock, later } from '../lib/clock.js'
import type { Lifetimes } from '../settings/config.js'

/** The lifetimes of tokens. They are shorter than the constants only in tests of applications. */
export type SessionLimits = { lifetimes: Lifetimes }

/** How long a session lasts from each of these columns. The limits also apply to a session that began while a setting was longer. */
const limits = {
  begun: { column: 'created_at', longest: ({ session }) => session },
  refreshed: { column: 'issued_at', longest: ({ refreshToken }) => refreshToken },
} as const satisfies Record<string, { column: string; longest: (lifetimes: Lifetimes) => number }>

type Limit = keyof typeof limits
const limitNames = Object.keys(limits) as Limit[]

/** The moments that a session is compared with. A live session expires after `now`, and it began and was refreshed after the other two. */
export type LiveAt = Readonly<Record<'now' | Limit, Date>>
const momentNames = ['now', ...limitNames] as const

/** The value of the parameter of `liveSession`. */
export const momentsOf = (live: LiveAt) => momentNames.map((name) => live[name])

/**
 * The condition in SQL for a live session, for the table `sessions as r`. The value of the parameter comes from `momentsOf`.
 */
export const liveSession = (parameter: string) => {
  const moment = (name: keyof LiveAt) => `(${parameter}::timestamptz[])[${momentNames.indexOf(name) + 1}]`
  const conditions = limitNames.map((name) => `r.${limits[name].column} > ${moment(name)}`)
  return `(${[`r.expires_at > ${moment('now')}`, ...conditions].join(' and ')})`
}

/** What sessions are measured by. */
export type SessionLife = SessionLimits & { clock: Clock }

export const liveNow = ({ clock, lifetimes }: SessionLife): LiveAt => {
  const now = clock.now()
  const since = (name: Limit) => later(now, -limits[name].longest(lifetimes))
  return { now, begun: since('begun'), refreshed: since('refreshed') }
}

/** How long a session lasts by each limit, in whole seconds, because the claims of tokens have whole seconds. */
export const longestInSeconds = (lifetimes: Lifetimes) =>
  limitNames.map((name) => Math.floor(limits[name].longest(lifetimes) / 1000))

/** The expiry of a refresh token, from the moments from which each limit counts, in seconds. */
export const expiryFor = ({ lifetimes }: SessionLimits, from: Readonly<Record<Limit, number>>) => {
  const longest = longestInSeconds(lifetimes)
  return Math.min(...limitNames.map((name, index) => from[name] + (longest[index] ?? 0)))
}

/**
 * The same expiry in SQL, for the session of a device, which no browser refreshes. The value of the
 * parameter is `longestInSeconds`.
 */
export const expiryInSql = (from: Readonly<Record<Limit, string>>, parameter: string) => {
  const ends = limitNames.map(
    (name, index) => `${from[name]} + (${parameter}::float8[])[${index + 1}] * interval '1 second'`,
  )
  return `least(${ends.join(', ')})`
}

import { type Clock, later } from '../lib/clock.js'
import { milliseconds } from '../platform/database/sql.js'
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

/** How long a session lasts, in milliseconds: the value of the parameter of `expiryAtUse`. */
export const longestOf = (lifetimes: Lifetimes) => limitNames.map((name) => limits[name].longest(lifetimes))

/** `expiryFor` in SQL: when the session of a row ends that is refreshed now. Both are parameters. */
export const expiryAtUse = (now: string, longest: string) => {
  const from = (name: Limit) => (name === 'refreshed' ? `${now}::timestamptz` : limits[name].column)
  const ends = limitNames.map(
    (name, index) => `${from(name)} + ${milliseconds(`(${longest}::float8[])[${index + 1}]`)}`,
  )
  return `least(${ends.join(', ')})`
}

/** When sessions end. Claims have whole seconds, and so have the numbers here. */
export type SessionLife = ReturnType<typeof createSessionLife>

export const createSessionLife = ({ clock, lifetimes }: SessionLimits & { clock: Clock }) => {
  const endBy = (name: Limit, from: number) => from + Math.floor(limits[name].longest(lifetimes) / 1000)
  return {
    liveNow: () => {
      const now = clock.now()
      const since = limitNames.map((name) => [name, later(now, -limits[name].longest(lifetimes))])
      return { now, ...Object.fromEntries(since) } as LiveAt
    },
    /** The latest end of a session that began at this time. */
    endOf: (begun: number) => endBy('begun', begun),
    /** The expiry of a refresh token that is signed now, for a session that began at this time. */
    expiryFor: (begun: number) => {
      const from: Record<Limit, number> = { begun, refreshed: Math.floor(clock.now().getTime() / 1000) }
      return Math.min(...limitNames.map((name) => endBy(name, from[name])))
    },
  }
}

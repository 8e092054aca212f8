import { factorsOf } from '../../contract/factors.js'
import { refuse } from '../../contract/outcome.js'
import type { AccessClaims } from '../../domain/tokens/tokens.js'
import { readDuration } from '../../lib/durations.js'

/** What a proxy asks for: `freshFor` in milliseconds, and whether the answer may renew the tokens. */
export type Conditions = {
  renew: boolean
  freshFor: number
  factors: 1 | 2
  /** The page on which the user can meet the conditions. */
  stepUp: string
}

const none = { renew: false, freshFor: Number.POSITIVE_INFINITY, factors: 1 } as const

type Readings = Record<string, (value: string) => Partial<Conditions> | undefined>

const readings: Readings = {
  renew: (value) => (value === '1' ? { renew: true } : undefined),
  factors: (value) => (value === '2' ? { factors: 2 } : undefined),
  fresh: (value) => {
    const freshFor = readDuration(value)
    return freshFor ? { freshFor } : undefined
  },
}

const stepUpPage = (query: Record<string, unknown>) => {
  const conditions = ['fresh', 'factors'].flatMap((name) => {
    const value = query[name]
    return typeof value === 'string' ? [`${name}=${value}`] : []
  })
  return `/step-up?${conditions.join('&')}`
}

/** A parameter that is misspelt or twice there is refused: a guard that is not understood must let no request through. */
export const readConditions = (query: Record<string, unknown>) => {
  const parts = Object.entries(query).map(([name, value]) =>
    typeof value === 'string' && Object.hasOwn(readings, name) ? readings[name]?.(value) : undefined,
  )
  if (parts.includes(undefined)) return refuse('bad_request', { message: 'Use renew=1, fresh=10m and factors=2 only' })
  const conditions: Conditions = Object.assign({ ...none, stepUp: stepUpPage(query) }, ...parts)
  return conditions
}

/**
 * Whether there were enough proofs, and the last one is recent enough: with two factors, the last one by a second factor. A
 * token that does not say when that was is not enough.
 */
export const meets = ({ auth_time, mfa_time, amr }: AccessClaims, { freshFor, factors }: Conditions, now: Date) => {
  const provenAt = (factors === 2 ? mfa_time : auth_time) ?? 0
  const isFresh = freshFor === none.freshFor || now.getTime() - provenAt * 1000 <= freshFor
  return isFresh && factorsOf(amr) >= factors
}

import type { AccessClaims } from '../contract/access-claims.js'
import { countFactors } from '../contract/factors.js'
import { readGroupList } from '../contract/groups.js'
import { refuse } from '../contract/outcome.js'
import { readDuration } from '../lib/durations.js'

/**
 * The conditions of a proxy: a proof within `freshFor` milliseconds, membership in any one of `groups`, and whether the answer may
 * renew the tokens.
 */
export type Conditions = {
  renew: boolean
  freshFor: number
  factors: 1 | 2
  groups: readonly string[] | undefined
  /** The page on which the user can prove their identity again. */
  stepUp: string
}

const noConditions = { renew: false, freshFor: Number.POSITIVE_INFINITY, factors: 1, groups: undefined } as const

type Readers = Record<string, (value: string) => Partial<Conditions> | undefined>

const readers: Readers = {
  renew: (value) => (value === '1' ? { renew: true } : undefined),
  factors: (value) => (value === '2' ? { factors: 2 } : undefined),
  fresh: (value) => {
    const freshFor = readDuration(value)
    return freshFor ? { freshFor } : undefined
  },
  group: (value) => {
    const groups = readGroupList(value)
    return groups && { groups }
  },
}

const stepUpPage = (query: Record<string, unknown>) => {
  const conditions = ['fresh', 'factors'].flatMap((name) => {
    const value = query[name]
    return typeof value === 'string' ? [`${name}=${value}`] : []
  })
  return `/step-up?${conditions.join('&')}`
}

/** A parameter that is misspelt or repeated is refused: if the service does not understand a condition, it must let no request through. */
export const readConditions = (query: Record<string, unknown>) => {
  const parts = Object.entries(query).map(([name, value]) =>
    typeof value === 'string' && Object.hasOwn(readers, name) ? readers[name]?.(value) : undefined,
  )
  if (parts.includes(undefined))
    return refuse('bad_request', { message: 'Use renew=1, group=staff, fresh=10m and factors=2 only' })
  const conditions: Conditions = Object.assign({ ...noConditions, stepUp: stepUpPage(query) }, ...parts)
  return conditions
}

/** The page that says who is signed in, and that this account has no access. */
const noAccessPage = '/step-up?group=1'

/** Whether the user is a member of one of these groups. A token without groups counts as a member of none. */
export const isMember = (groups: readonly string[], { groups: userGroups = [] }: AccessClaims) =>
  userGroups.some((name) => groups.includes(name))

/**
 * Whether there were enough proofs, and the last one is recent enough. With two factors, the last proof by a second factor counts. A
 * token without that time is not recent enough.
 */
const isProven = ({ auth_time, mfa_time, amr }: AccessClaims, { freshFor, factors }: Conditions, now: Date) => {
  const provenAt = (factors === 2 ? mfa_time : auth_time) ?? 0
  const isFresh = freshFor === noConditions.freshFor || now.getTime() - provenAt * 1000 <= freshFor
  return isFresh && countFactors(amr) >= factors
}

/**
 * The refusal for the first condition that is not met, with the page that helps. The group is checked first, because a new proof would
 * not help.
 */
export const refusalFor = (claims: AccessClaims, conditions: Conditions, now: Date) => {
  if (conditions.groups && !isMember(conditions.groups, claims)) return refuse('group_required', { page: noAccessPage })
  return isProven(claims, conditions, now) ? undefined : refuse('step_up_required', { page: conditions.stepUp })
}

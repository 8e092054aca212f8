import { isGroupList } from '#contract/groups.js'
import type { Verified } from './claims.js'

export type ConditionOptions = {
  /** Asks for two factors. */
  factors?: 2
  /**
   * The longest time since the user last proved who they are, such as `10m`: a number with `s`, `m`, `h` or `d`. With
   * `factors: 2` it is the time since they last proved a second factor.
   */
  fresh?: string
  /** A group that the user must be a member of, or several, of which one is enough. */
  group?: string | readonly string[]
}

/** `query` is the query for the page /step-up. */
export type MissingCondition = { readonly code: 'group_required' | 'step_up_required'; readonly query: string }

const unitSeconds: Record<string, number> = { s: 1, m: 60, h: 3_600, d: 86_400 }

const secondsIn = (fresh: string | undefined) => {
  if (fresh === undefined) return Number.POSITIVE_INFINITY
  const [, amount, unit = ''] = /^(\d{1,6})([smhd])$/.exec(fresh) ?? []
  const seconds = Number(amount) * (unitSeconds[unit] ?? Number.NaN)
  if (!(seconds > 0)) throw new TypeError('fresh: must be a duration such as 10m')
  return seconds
}

/** An empty list lets no user in. */
const groupsIn = (group: ConditionOptions['group']) => {
  if (group === undefined) return undefined
  const groups = [group].flat()
  if (!isGroupList(groups)) throw new TypeError('group: must be the name of a group, or a list of up to 16 names')
  return groups
}

/** What a part of the application asks for beyond a session. A wrong condition is an error at the start. */
export const conditionsOf = (options: ConditionOptions) => {
  const { factors, fresh, group } = options
  // An undefined condition may come from a missing environment variable, and would leave the part open.
  for (const name of ['group', 'fresh', 'factors'] as const)
    if (name in options && options[name] === undefined) throw new TypeError(`${name}: is undefined; leave it out`)
  if (factors !== undefined && factors !== 2) throw new TypeError('factors: must be 2')
  const longestAge = secondsIn(fresh) * 1000
  const groups = groupsIn(group)
  const query = new URLSearchParams({ ...(fresh && { fresh }), ...(factors && { factors: '2' }) }).toString()
  /** `provenAt` is in seconds. A token without this time is not fresh. */
  const isFresh = (provenAt: number | undefined, now: number) =>
    fresh === undefined || now - (provenAt ?? 0) * 1000 <= longestAge
  const isProven = ({ factors: provenFactors, claims }: Verified, now: number) =>
    provenFactors >= (factors ?? 1) && isFresh(factors === 2 ? claims.mfa_time : claims.auth_time, now)
  return {
    /** Whether the token is from a service that knew no groups, and so has none. */
    isOutdated: ({ claims }: Verified) => groups !== undefined && claims.groups === undefined,
    /** The first condition that is not met. The group is checked first, because a new proof would not help. */
    firstMissing: (auth: Verified, now: number): MissingCondition | undefined => {
      if (groups && !auth.groups.some((name) => groups.includes(name)))
        return { code: 'group_required', query: 'group=1' }
      return isProven(auth, now) ? undefined : { code: 'step_up_required', query }
    },
  }
}

import type { Verified } from './claims.js'

export type ConditionOptions = {
  /** Asks for two factors. */
  factors?: 2
  /**
   * The longest time since the user last proved who they are, such as `10m`: a number with `s`, `m`, `h` or `d`. With
   * `factors: 2` it is the time since they last proved a second factor.
   */
  fresh?: string
}

const unitSeconds: Record<string, number> = { s: 1, m: 60, h: 3_600, d: 86_400 }

const secondsIn = (fresh: string | undefined) => {
  if (fresh === undefined) return Number.POSITIVE_INFINITY
  const [, amount, unit = ''] = /^(\d{1,6})([smhd])$/.exec(fresh) ?? []
  const seconds = Number(amount) * (unitSeconds[unit] ?? Number.NaN)
  if (!(seconds > 0)) throw new TypeError('fresh: must be a duration such as 10m')
  return seconds
}

/** What a part of the application asks for beyond a session. A wrong one is an error at the start. */
export const conditionsOf = ({ factors, fresh }: ConditionOptions) => {
  if (factors !== undefined && factors !== 2) throw new TypeError('factors: must be 2')
  const longest = secondsIn(fresh) * 1000
  const query = new URLSearchParams({ ...(fresh && { fresh }), ...(factors && { factors: '2' }) }).toString()
  /** In seconds. A token that says nothing about it is not fresh. */
  const isFresh = (provenAt: number | undefined, now: number) =>
    fresh === undefined || now - (provenAt ?? 0) * 1000 <= longest
  return {
    query,
    areMet: ({ factors: proven, claims }: Verified, now: number) =>
      proven >= (factors ?? 1) && isFresh(factors === 2 ? claims.mfa_time : claims.auth_time, now),
  }
}

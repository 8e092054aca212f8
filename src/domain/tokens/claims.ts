import { isCleanText } from '../../lib/strict-json.js'
import { isUuid } from '../../lib/uuid.js'

/*
 * Claims are a stored format: browsers keep tokens across an upgrade, an access token for 15 minutes and a refresh token for
 * 30 days, and both for as long when you go back a release. So a claim that is added is optional when it is read, and one that
 * is dropped may still be there. The two kinds are checked apart: what access tokens must have from now on is no reason to
 * refuse the refresh tokens that are out. `stored-tokens.test.ts` has a token of every shape there has been: add one there
 * when you change what is signed.
 */

/** `gen` counts the rotations of a session. An access token of an earlier release may lack it. */
export type AccessClaims = { userId: string; username: string; sid: string; gen?: number; iat: number; exp: number }

/** `auth_time` is when the session began: together with `gen` it makes each token unlike any other. */
export type RefreshClaims = {
  userId: string
  username: string
  sid: string
  gen: number
  auth_time: number
  iat: number
  exp: number
}

type Payload = Readonly<Record<string, unknown>>

const isWholeUpTo = (value: unknown, most: number): value is number =>
  Number.isSafeInteger(value) && Number(value) >= 0 && Number(value) <= most

/** Seconds until the end of the year 9999: every database and every format of a date can write it. */
const lastMoment = 253_402_300_799
export const isMoment = (value: unknown): value is number => isWholeUpTo(value, lastMoment)

/** The column is a 32-bit integer, and the successor's number must fit in as well. */
const lastGeneration = 2 ** 31 - 2
const isGeneration = (value: unknown): value is number => isWholeUpTo(value, lastGeneration)

const isId = (value: unknown): value is string => typeof value === 'string' && isUuid(value)

const longestName = 64
const isName = (value: unknown): value is string =>
  typeof value === 'string' && isCleanText(value) && value.length > 0 && Array.from(value).length <= longestName

// Only we can sign a token; but what an older release or another program with our secret has signed may be odd.

export const isAccessClaims = (claims: Payload): claims is AccessClaims =>
  isId(claims.userId) &&
  isName(claims.username) &&
  isId(claims.sid) &&
  (claims.gen === undefined || isGeneration(claims.gen)) &&
  isMoment(claims.iat) &&
  isMoment(claims.exp)

export const isRefreshClaims = (claims: Payload): claims is RefreshClaims =>
  isId(claims.userId) &&
  isName(claims.username) &&
  isId(claims.sid) &&
  isGeneration(claims.gen) &&
  isMoment(claims.auth_time) &&
  isMoment(claims.iat) &&
  isMoment(claims.exp)

import { isGroupList } from '../contract/names.js'
import { isCleanText } from '../lib/strict-json.js'
import { isUuid } from '../lib/uuid.js'

/*
 * Claims are a stored format: browsers keep an access token for 15 minutes and a refresh token for 30 days, also across an upgrade or a
 * return to the old release. So a claim that a release adds is optional when it is read. `stored-tokens.test.ts` has a token of each
 * release: add one there when you change what is signed.
 */

/**
 * `gen` counts the rotations of a session. `auth_time` is when the user last proved who they are, and `amr` how. `mfa_time` is when they
 * last used a second factor. It is missing if they never did. A token without `groups` comes from a release that had none.
 */
export type AccessClaims = {
  userId: string
  username: string
  sid: string
  gen: number
  iat: number
  exp: number
  sub: string
  iss: string
  aud: string
  email: string
  name?: string
  auth_time: number
  amr: readonly string[]
  mfa_time?: number
  groups?: readonly string[]
}

/** The claims that a session signs. `sub`, `iss` and `aud` are added to them, and a long name is cut. */
export type NewAccessClaims = Omit<AccessClaims, 'sub' | 'iss' | 'aud' | 'name' | 'groups'> & {
  name: string | null
  groups: readonly string[]
}

/** `auth_time` is when the session began. */
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

/** The end of the year 9999, in seconds. Every database and every format of a date can write it. */
export const lastMoment = 253_402_300_799
export const isMoment = (value: unknown): value is number => isWholeUpTo(value, lastMoment)

/** The highest generation. The column is a 32-bit integer, and the number of the successor must fit too. */
export const lastGeneration = 2 ** 31 - 2
const isGeneration = (value: unknown): value is number => isWholeUpTo(value, lastGeneration)

const isId = (value: unknown): value is string => typeof value === 'string' && isUuid(value)

const longestNameInToken = 64
const longestEmail = 254
const isText = (value: unknown, longest: number): value is string =>
  typeof value === 'string' && isCleanText(value) && value.length > 0 && Array.from(value).length <= longest

/** Cuts a display name, which may be longer than a token has room for. */
export const cutName = (name: string) => Array.from(name).slice(0, longestNameInToken).join('').trim()

/** A later release may know more methods, so any short word is read. */
const isMethods = (value: unknown): value is string[] =>
  Array.isArray(value) &&
  value.length <= 16 &&
  value.every((method) => typeof method === 'string' && /^[a-z]{1,16}$/.test(method))

const isAbsentOr = (value: unknown, isValid: (value: unknown) => boolean) => value === undefined || isValid(value)

/** Whether this service has issued the token for itself, about the user whom it names. */
const isOwn = (claims: Payload, issuer: string) =>
  claims.iss === issuer && claims.aud === issuer && claims.sub === claims.userId

/** Checks every claim although the token is signed, because another program may share the secret. */
export const isAccessClaims = (claims: Payload, issuer: string): claims is AccessClaims =>
  isId(claims.userId) &&
  isText(claims.username, longestNameInToken) &&
  isId(claims.sid) &&
  isGeneration(claims.gen) &&
  isMoment(claims.iat) &&
  isMoment(claims.exp) &&
  isOwn(claims, issuer) &&
  isText(claims.email, longestEmail) &&
  isAbsentOr(claims.name, (name) => isText(name, longestNameInToken)) &&
  isMoment(claims.auth_time) &&
  isMethods(claims.amr) &&
  isAbsentOr(claims.mfa_time, isMoment) &&
  isAbsentOr(claims.groups, isGroupList)

export const isRefreshClaims = (claims: Payload): claims is RefreshClaims =>
  isId(claims.userId) &&
  isText(claims.username, longestNameInToken) &&
  isId(claims.sid) &&
  isGeneration(claims.gen) &&
  isMoment(claims.auth_time) &&
  isMoment(claims.iat) &&
  isMoment(claims.exp)

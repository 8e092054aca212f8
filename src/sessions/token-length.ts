import { amrMethods } from '../contract/factors.js'
import { nilUuid } from '../lib/uuid.js'
import { lastGeneration, lastMoment, type NewAccessClaims } from './claims.js'

/** With tokens of this length the cookies of a browser stay under 4 KB, the most that many proxies accept. */
export const longestAccessToken = 1800

/** The length of an ES256 signature in base64url. */
const lengthOfLongerSignature = 86

const longestClaims = {
  userId: nilUuid,
  sid: nilUuid,
  gen: lastGeneration,
  iat: lastMoment,
  exp: lastMoment,
  auth_time: lastMoment,
  amr: Object.keys(amrMethods),
  mfa_time: lastMoment,
}

const base64Length = (text: string) => Math.ceil((Buffer.byteLength(text) * 4) / 3)

/** The id of a key has at most 16 characters. */
const longestHeader = base64Length(JSON.stringify({ alg: 'ES256', typ: 'at+jwt', kid: 'x'.repeat(16) }))

type TokenOwner = Pick<NewAccessClaims, 'username' | 'email' | 'groups'>

/**
 * Whether the access tokens of a user stay short enough, with the longest values of all other claims, without a name, and with the longer
 * signature. Nothing is signed, because a command has no key.
 */
export const createFits =
  (issuer: string) =>
  ({ username, email, groups }: TokenOwner) => {
    const claims = { ...longestClaims, username, email, groups, sub: nilUuid, iss: issuer, aud: issuer }
    const parts = [longestHeader, base64Length(JSON.stringify(claims)), lengthOfLongerSignature]
    const dots = parts.length - 1
    return parts.reduce((sum, length) => sum + length, dots) <= longestAccessToken
  }

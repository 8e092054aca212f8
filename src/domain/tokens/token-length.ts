import { methods } from '../../contract/factors.js'
import { nilUuid } from '../../lib/uuid.js'
import { lastGeneration, lastMoment, type NewAccessClaims } from './claims.js'

/** With it the cookies of a browser stay under 4 KB, which is the most that many proxies take. */
export const longestAccessToken = 1800

/** Of ES256, in base64url. */
const lengthOfLongerSignature = 86

const longestClaims = {
  userId: nilUuid,
  sid: nilUuid,
  gen: lastGeneration,
  iat: lastMoment,
  exp: lastMoment,
  auth_time: lastMoment,
  amr: Object.keys(methods),
  mfa_time: lastMoment,
  name: null,
}

/**
 * Whether the access tokens of a user stay short enough: with the longest of what else they say, without a name, and with the longer
 * of both kinds of signatures.
 */
export const createFits =
  (signAccess: (claims: NewAccessClaims) => string) =>
  ({ username, email, groups }: Pick<NewAccessClaims, 'username' | 'email' | 'groups'>) => {
    const token = signAccess({ ...longestClaims, username, email, groups })
    return token.lastIndexOf('.') + 1 + lengthOfLongerSignature <= longestAccessToken
  }

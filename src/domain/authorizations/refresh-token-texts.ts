import { deriveKey } from '../../lib/keys.js'
import { isUuid } from '../../lib/uuid.js'
import { isMoment, lastGeneration } from '../tokens/claims.js'
import { createTokenKey, headerOf } from '../tokens/token-keys.js'

/** The row of the tokens, how often they were rotated, and when. The row has all three: they are signed to the same bytes again. */
export type RefreshTokenClaims = { tid: string; gen: number; iat: number }

const isClaims = (claims: Record<string, unknown>): claims is RefreshTokenClaims =>
  typeof claims.tid === 'string' &&
  isUuid(claims.tid) &&
  Number.isSafeInteger(claims.gen) &&
  Number(claims.gen) >= 0 &&
  Number(claims.gen) <= lastGeneration &&
  isMoment(claims.iat)

/** Signed with keys of their own and a `typ` of their own, so that no token of a session passes for one, or the reverse. */
export const createRefreshTokenTexts = (keys: readonly Buffer[]) => {
  const tokenKeys = keys.map((key) => {
    const secret = key.toString('base64url')
    const kid = deriveKey(secret, 'key id').toString('base64url').slice(0, 8)
    return createTokenKey('art+jwt', { algorithm: 'HS256', kid, secret })
  })
  const [signingKey] = tokenKeys
  if (!signingKey) throw new Error('There is no key for refresh tokens of applications')
  return {
    sign: (claims: RefreshTokenClaims) => signingKey.sign(claims),
    /** With every key: a token that was signed before a secret was added is among them. */
    signWithEach: (claims: RefreshTokenClaims) => tokenKeys.map(({ sign }) => sign(claims)),
    read: (text: string): RefreshTokenClaims | undefined => {
      const claims = tokenKeys.find(({ header }) => header === headerOf(text))?.verify(text)
      return claims && isClaims(claims) ? claims : undefined
    },
  }
}

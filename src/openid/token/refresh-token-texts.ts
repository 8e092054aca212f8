import { isMoment, lastGeneration } from '../../contract/access-claims.js'
import { createTokenKey, headerOf } from '../../keys/key-pair.js'
import { type Key, keyId } from '../../lib/random.js'
import { isUuid } from '../../lib/uuid.js'

/**
 * `tid`: the id of the row of the tokens. `gen`: how often they were rotated. `iat`: when this token was issued. The row has all
 * three, so the same token can be signed again.
 */
export type RefreshTokenClaims = { tid: string; gen: number; iat: number }

const isClaims = (claims: Record<string, unknown>): claims is RefreshTokenClaims =>
  typeof claims.tid === 'string' &&
  isUuid(claims.tid) &&
  Number.isSafeInteger(claims.gen) &&
  Number(claims.gen) >= 0 &&
  Number(claims.gen) <= lastGeneration &&
  isMoment(claims.iat)

/**
 * Signs and reads the refresh tokens of applications. They have their own keys and their own `typ`, so that none passes for a token of a
 * session, or the reverse. The first key signs. All of them verify.
 */
export const createRefreshTokenTexts = (keys: readonly Key[]) => {
  const tokenKeys = keys.map((key) => {
    const secret = key.export().toString('base64url')
    const kid = keyId(secret, 'key id')
    return createTokenKey('art+jwt', { algorithm: 'HS256', kid, secret })
  })
  const [signingKey] = tokenKeys
  if (!signingKey) throw new Error('There is no key for refresh tokens of applications')
  return {
    sign: (claims: RefreshTokenClaims) => signingKey.sign(claims),
    /** Signs with every key, because a token may have been signed before a newer secret was added. */
    signWithEach: (claims: RefreshTokenClaims) => tokenKeys.map(({ sign }) => sign(claims)),
    read: (text: string): RefreshTokenClaims | undefined => {
      const claims = tokenKeys.find(({ header }) => header === headerOf(text))?.verify(text)
      return claims && isClaims(claims) ? claims : undefined
    },
  }
}

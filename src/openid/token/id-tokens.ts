import { createHash } from 'node:crypto'
import type { ApplicationAlgorithm, SignToken } from '../../keys/signed-token.js'
import type { Clock } from '../../lib/clock.js'
import { minutes, seconds } from '../../lib/durations.js'
import { isUuid } from '../../lib/uuid.js'
import { authenticationMethods } from './authentication-methods.js'
import { idTokenClaimsOf, type Subject, type TokenContent } from './user-claims.js'

export type { TokenContent } from './user-claims.js'
export type IdTokens = ReturnType<typeof createIdTokens>

const lifetime = 10 * minutes

/** The first half of the hash of the access token (OpenID Connect Core 3.1.3.6). The hash is SHA-256, with which both algorithms sign. */
const accessTokenHash = (accessToken: string) =>
  createHash('sha256').update(accessToken, 'ascii').digest().subarray(0, 16).toString('base64url')

type NewIdToken = {
  application: { id: string; algorithm: ApplicationAlgorithm }
  subject: Subject
  sid: string
  content: TokenContent
  accessToken: string
}

type Dependencies = {
  applicationKeys: {
    sign: SignToken
    readSigned(token: string): Promise<Record<string, unknown> | undefined>
  }
  clock: Clock
  issuer: string
}

export const createIdTokens = ({ applicationKeys, clock, issuer }: Dependencies) => ({
  issue: async ({ application, subject, sid, content, accessToken }: NewIdToken) => {
    const { nonce, authTime, methods, secondFactor, acr = secondFactor ? '2' : '1' } = content
    if (authTime !== undefined && !(Number.isSafeInteger(authTime) && authTime > 0))
      throw new RangeError('An ID token needs the time of a proof, or none')
    const amr = authenticationMethods(methods, secondFactor)
    const iat = Math.floor(clock.now().getTime() / seconds)
    const claims = {
      iss: issuer,
      aud: application.id,
      ...idTokenClaimsOf(subject, content),
      sid,
      iat,
      exp: iat + lifetime / seconds,
      ...(authTime !== undefined && { auth_time: authTime }),
      acr,
      ...(amr.length > 0 && { amr }),
      ...(nonce !== undefined && { nonce }),
      at_hash: accessTokenHash(accessToken),
    }
    return applicationKeys.sign(application.algorithm, { typ: 'JWT', claims })
  },

  /**
   * The application, user and session that an `id_token_hint` names. The token may have expired long ago. The caller must check whose
   * session `sid` is.
   */
  readHint: async (token: string) => {
    const claims = await applicationKeys.readSigned(token)
    if (!claims || claims.iss !== issuer) return undefined
    const { aud, sub, sid } = claims
    if (typeof aud !== 'string' || typeof sub !== 'string' || !isUuid(sub)) return undefined
    return { applicationId: aud, userId: sub, ...(typeof sid === 'string' && isUuid(sid) && { sid }) }
  },
})

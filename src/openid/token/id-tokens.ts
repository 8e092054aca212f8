import { createHash, randomUUID } from 'node:crypto'
import type { AmrMethod } from '../../contract/factors.js'
import type { KeyAlgorithm } from '../../keys/key-pair.js'
import type { SignToken } from '../../keys/signed-token.js'
import type { Clock } from '../../lib/clock.js'
import { minutes, seconds } from '../../lib/durations.js'
import { isUuid } from '../../lib/uuid.js'
import { idTokenClaimsOf, type Subject, type TokenContent } from './user-claims.js'

export type { TokenContent } from './user-claims.js'

/**
 * Our proofs in the words of RFC 8176. A recovery code counts as a password that works once. We do not know where a passkey keeps its key,
 * only that its user was present. The RFC has no word for another provider or for mail.
 */
const words: Readonly<Record<AmrMethod, string | undefined>> = {
  pwd: 'pwd',
  otp: 'otp',
  rec: 'otp',
  passkey: 'user',
  provider: undefined,
  mail: undefined,
}

const wordOf = (method: string) => (Object.hasOwn(words, method) ? words[method as AmrMethod] : undefined)

/** The claim `amr`. Empty if the RFC has no word for any of the methods. */
const authenticationMethods = (methods: readonly string[], secondFactor: boolean) => {
  const knownWords = methods.map(wordOf).filter((word) => word !== undefined)
  return [...new Set([...knownWords, ...(secondFactor ? ['mfa'] : [])])]
}

export type IdTokens = ReturnType<typeof createIdTokens>

const idTokensLifetime = 10 * minutes

/** The first half of the hash of the access token (OpenID Connect Core 3.1.3.6). The hash is SHA-256, with which both algorithms sign. */
const accessTokenHash = (accessToken: string) =>
  createHash('sha256').update(accessToken, 'ascii').digest().subarray(0, 16).toString('base64url')

type NewIdToken = {
  client: { id: string; algorithm: KeyAlgorithm }
  subject: Subject
  sid: string
  content: TokenContent
  accessToken: string
}

type IdTokensDependencies = {
  applicationKeys: {
    sign: SignToken
    readSigned(token: string): Promise<Record<string, unknown> | undefined>
  }
  clock: Clock
  issuer: string
}

export const createIdTokens = ({ applicationKeys, clock, issuer }: IdTokensDependencies) => ({
  issue: async ({ client, subject, sid, content, accessToken }: NewIdToken) => {
    const { nonce, authTime, methods, secondFactor, acr = secondFactor ? '2' : '1' } = content
    if (authTime !== undefined && !(Number.isSafeInteger(authTime) && authTime > 0))
      throw new RangeError('An ID token needs the time of a proof, or none')
    const amr = authenticationMethods(methods, secondFactor)
    const iat = Math.floor(clock.now().getTime() / seconds)
    const claims = {
      iss: issuer,
      aud: client.id,
      ...idTokenClaimsOf(subject, content),
      sid,
      iat,
      exp: iat + idTokensLifetime / seconds,
      ...(authTime !== undefined && { auth_time: authTime }),
      acr,
      ...(amr.length > 0 && { amr }),
      ...(nonce !== undefined && { nonce }),
      at_hash: accessTokenHash(accessToken),
    }
    return applicationKeys.sign(client.algorithm, { typ: 'JWT', claims })
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
    return { clientId: aud, userId: sub, ...(typeof sid === 'string' && isUuid(sid) && { sid }) }
  },
})

const logoutTokensLifetime = 2 * minutes
const logoutEvent = 'http://schemas.openid.net/event/backchannel-logout'

type NewLogoutToken = { client: { id: string; algorithm: KeyAlgorithm }; sid: string; userId: string }

type LogoutTokensDependencies = { applicationKeys: { sign: SignToken }; clock: Clock; issuer: string }

/** Logout tokens (OpenID Connect Back-Channel Logout 2.4). Each attempt to tell an application has its own token, with a new `jti`. */
export const createLogoutTokens = ({ applicationKeys, clock, issuer }: LogoutTokensDependencies) => ({
  issue: ({ client, sid, userId }: NewLogoutToken) => {
    const iat = Math.floor(clock.now().getTime() / seconds)
    const claims = {
      iss: issuer,
      aud: client.id,
      sub: userId,
      sid,
      iat,
      exp: iat + logoutTokensLifetime / seconds,
      jti: randomUUID(),
      events: { [logoutEvent]: {} },
    }
    return applicationKeys.sign(client.algorithm, { typ: 'logout+jwt', claims })
  },
})

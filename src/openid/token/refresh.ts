import type { Application } from '../../applications/applications.js'
import { type Refused, refuse } from '../../contract/outcome.js'
import type { Client } from '../../http/request-origin.js'
import { createTokenKey, headerOf } from '../../keys/key-pair.js'
import { deriveKey, equalInConstantTime, fingerprint, randomToken } from '../../lib/random.js'
import { isUuid } from '../../lib/uuid.js'
import { epochSeconds, fromEpochSeconds } from '../../sessions/issue-tokens.js'
import { isMoment, lastGeneration } from '../../sessions/tokens.js'
import type { TokenExchangeParts } from './authorizations.js'
import { accessTokenLifetime, type Grant } from './grants.js'
import type { NewAccessToken } from './tokens.store.js'
import * as store from './tokens.store.js'

export type RefreshFault = 'unknown_token' | 'reused_token' | 'more_scopes' | 'ended'

type Refresh = {
  application: Application
  token: string
  /** The scopes of this access token, if fewer than those of the code are wanted. */
  scopes?: readonly string[] | undefined
  client: Client
}

/** Exchanges a refresh token for the next one and an access token. */
export const createExchangeRefreshToken = (parts: TokenExchangeParts) => {
  const { database, clock, refreshTokens, gracePeriod, moments, endReused, grantOf } = parts

  /**
   * Answers a token that was not rotated. A token that was replaced a moment ago gets its successor again. Another old token counts as
   * stolen, and the authorization ends. The newest token is refused: its authorization has ended, or the request asks for more scopes.
   */
  const answerUnrotated = async (
    { application, token, client }: Refresh,
    claims: RefreshTokenClaims,
    accessToken: string,
    newAccessToken: NewAccessToken,
  ): Promise<{ grant: Grant; refreshToken: string } | Refused<RefreshFault>> => {
    const { scopes } = newAccessToken
    const tokensKey = { id: claims.tid, applicationId: application.id, grace: gracePeriod, scopes }
    const [row] = await store.selectTokens(database, tokensKey, moments())
    // We have signed this token. If there is a row with its id, the token is another application's. If there is none, its authorization has
    // ended.
    if (!row) return refuse((await store.selectById(database, claims.tid)).length > 0 ? 'unknown_token' : 'ended')
    const presentedHash = fingerprint(token)
    // A token can be newer than its row if the database has lost a write.
    const isNewest = equalInConstantTime(row.refresh_hash, presentedHash) || claims.gen > row.generation
    const isPrevious = row.previous_hash !== null && equalInConstantTime(row.previous_hash, presentedHash)
    if (!isNewest && !(isPrevious && row.is_just_rotated)) {
      await endReused(row.authorization_id, client)
      return refuse('reused_token')
    }
    if (!row.is_authorized) return refuse('ended')
    if (!row.has_scopes) return refuse('more_scopes')
    const newest = { tid: claims.tid, gen: row.generation, iat: epochSeconds(row.issued_at) }
    const refreshToken = refreshTokens
      .signWithEach(newest)
      .find((text) => equalInConstantTime(fingerprint(text), row.refresh_hash))
    if (refreshToken === undefined) return refuse('unknown_token')
    const inserted = await store.insertAccessToken(database, claims.tid, newAccessToken, moments())
    return inserted.length > 0 ? { grant: grantOf(row, accessToken, scopes), refreshToken } : refuse('ended')
  }

  return async (refresh: Refresh): Promise<{ grant: Grant; refreshToken: string } | Refused<RefreshFault>> => {
    const claims = refreshTokens.read(refresh.token)
    if (!claims) return refuse('unknown_token')
    const accessToken = randomToken()
    const scopes = refresh.scopes ?? null
    const newAccessToken = { hash: fingerprint(accessToken), scopes, lifetime: accessTokenLifetime }
    const successor = { tid: claims.tid, gen: claims.gen + 1, iat: epochSeconds(clock.now()) }
    const refreshToken = refreshTokens.sign(successor)
    const rotation = {
      id: claims.tid,
      applicationId: refresh.application.id,
      presentedHash: fingerprint(refresh.token),
      successorHash: fingerprint(refreshToken),
      generation: successor.gen,
      accessToken: newAccessToken,
      issuedAt: fromEpochSeconds(successor.iat),
    }
    const [row] = await store.rotateTokens(database, rotation, moments())
    if (row) return { grant: grantOf(row, accessToken, scopes), refreshToken }
    return answerUnrotated(refresh, claims, accessToken, newAccessToken)
  }
}

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
 * session, or the reverse.
 */
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
    /** Signs with every key, because a token may have been signed before a newer secret was added. */
    signWithEach: (claims: RefreshTokenClaims) => tokenKeys.map(({ sign }) => sign(claims)),
    read: (text: string): RefreshTokenClaims | undefined => {
      const claims = tokenKeys.find(({ header }) => header === headerOf(text))?.verify(text)
      return claims && isClaims(claims) ? claims : undefined
    },
  }
}

import type { Application, RememberedClient } from '../../applications/applications.js'
import { type Refused, refuse } from '../../contract/outcome.js'
import type { RequestOrigin } from '../../http/request-origin.js'
import { hours } from '../../lib/durations.js'
import { equalInConstantTime, fingerprint, randomToken } from '../../lib/random.js'
import { epochSeconds, fromEpochSeconds } from '../../sessions/issue-tokens.js'
import { longestInSeconds } from '../../sessions/live-sessions.js'
import type { TokenExchange } from './authorizations.js'
import { accessTokenLifetime, type Grant, grantFrom, type RefreshFault } from './grants.js'
import type { RefreshTokenClaims } from './refresh-token-texts.js'
import * as store from './tokens.store.js'

export type Refresh = {
  client: Application
  remembered: RememberedClient | undefined
  token: string
  /** The scopes of this access token, if fewer than those of the code are wanted. */
  scopes?: readonly string[] | undefined
  /** The address of the resource that the program names, if it names one. */
  resource?: string | undefined
  origin: RequestOrigin
}
type Refreshed = { grant: Grant; refreshToken: string }

/**
 * Answers a token that was not rotated. A token that was replaced a moment ago gets its successor again. Another old token counts as
 * stolen, and the authorization ends. The newest token is refused: its authorization has ended, or the request asks for more scopes.
 */
const answerUnrotated = async (
  exchange: TokenExchange,
  { client, token, resource, origin }: Refresh,
  claims: RefreshTokenClaims,
  accessToken: string,
  newAccessToken: store.NewAccessToken,
): Promise<Refreshed | Refused<RefreshFault>> => {
  const { database, refreshTokens, gracePeriod, moments, usedApplications, profileFields } = exchange
  const { scopes } = newAccessToken
  const tokensKey = { id: claims.tid, clientId: client.id, grace: gracePeriod, scopes, resource: resource ?? null }
  const [row] = await store.selectTokens(database, tokensKey, moments())
  // We have signed this token. If there is a row with its id, the token is another client's. If there is none, its authorization has
  // ended.
  if (!row) return refuse((await store.selectById(database, claims.tid)).length > 0 ? 'unknown_token' : 'ended')
  const presentedHash = fingerprint(token)
  // A token can be newer than its row if the database has lost a write.
  const isNewest = equalInConstantTime(row.refresh_hash, presentedHash) || claims.gen > row.generation
  const isPrevious = row.previous_hash !== null && equalInConstantTime(row.previous_hash, presentedHash)
  if (!isNewest && !(isPrevious && row.is_just_rotated)) {
    await usedApplications.endReused(row.authorization_id, origin)
    return refuse('reused_token')
  }
  if (!row.is_authorized) return refuse('ended')
  if (!row.is_for_resource) return refuse('other_resource')
  if (!row.has_scopes) return refuse('more_scopes')
  const newest = { tid: claims.tid, gen: row.generation, iat: epochSeconds(row.issued_at) }
  const refreshToken = refreshTokens
    .signWithEach(newest)
    .find((text) => equalInConstantTime(fingerprint(text), row.refresh_hash))
  if (refreshToken === undefined) return refuse('unknown_token')
  // An access token for a resource is signed, and stands in no table.
  const isStored =
    row.resource !== null || (await store.insertAccessToken(database, claims.tid, newAccessToken, moments())).length > 0
  if (!isStored) return refuse('ended')
  return { grant: grantFrom(profileFields, row, accessToken, scopes), refreshToken }
}

const rotate = async (
  exchange: TokenExchange,
  refresh: Refresh,
): Promise<Refreshed | Refused<RefreshFault | 'unconfirmed'>> => {
  const { database, clock, refreshTokens, moments, profileFields } = exchange
  const claims = refreshTokens.read(refresh.token)
  if (!claims) return refuse(refresh.remembered ? 'unconfirmed' : 'unknown_token')
  const accessToken = randomToken()
  const scopes = refresh.scopes ?? null
  const newAccessToken = { hash: fingerprint(accessToken), scopes, lifetime: accessTokenLifetime }
  const successor = { tid: claims.tid, gen: claims.gen + 1, iat: epochSeconds(clock.now()) }
  const refreshToken = refreshTokens.sign(successor)
  const rotation = {
    id: claims.tid,
    clientId: refresh.client.id,
    remembered: refresh.remembered,
    presentedHash: fingerprint(refresh.token),
    successorHash: fingerprint(refreshToken),
    generation: successor.gen,
    accessToken: newAccessToken,
    issuedAt: fromEpochSeconds(successor.iat),
    resource: refresh.resource ?? null,
  }
  const [row] = await store.rotateTokens(database, rotation, moments())
  if (row) return { grant: grantFrom(profileFields, row, accessToken, scopes), refreshToken }
  // Why there is no row is for the client alone, and a reuse ends the authorization.
  if (refresh.remembered) return refuse('unconfirmed')
  return answerUnrotated(exchange, refresh, claims, accessToken, newAccessToken)
}

/** A use of a device is written at most this often. That is enough, because a session lasts for weeks without any use. */
const writeInterval = 1 * hours

/**
 * Notes that a device was used. No browser refreshes the session of a device, so the session goes on as long as the application refreshes
 * its own tokens.
 */
const noteDeviceUse = ({ database, clock, lifetimes }: TokenExchange, sid: string) =>
  store.noteDeviceUse(database, {
    sid,
    now: fromEpochSeconds(epochSeconds(clock.now())),
    writeInterval,
    longest: longestInSeconds(lifetimes),
  })

/** Exchanges a refresh token for the next one and an access token. */
export const refresh = async (exchange: TokenExchange, given: Refresh) => {
  const refreshed = await rotate(exchange, given)
  if (!('refused' in refreshed) && refreshed.grant.isDevice) await noteDeviceUse(exchange, refreshed.grant.sid)
  return refreshed
}

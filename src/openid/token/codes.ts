import { createHash } from 'node:crypto'
import { isRedirectAddress } from '../../applications/application-rules.js'
import type { Application, RememberedClient } from '../../applications/applications.js'
import { countFactors } from '../../contract/factors.js'
import { isRefused, type Refused, refuse } from '../../contract/outcome.js'
import type { RequestOrigin } from '../../http/request-origin.js'
import { seconds } from '../../lib/durations.js'
import { equalInConstantTime, fingerprint, randomToken } from '../../lib/random.js'
import { uuidv7 } from '../../lib/uuid.js'
import type { Transaction } from '../../platform/database/database.js'
import { epochSeconds, fromEpochSeconds } from '../../sessions/issue-tokens.js'
import { neverProven } from '../../sessions/session-facts.js'
import type { SessionProof } from '../../sessions/session-lookups.js'
import type { TokenHolder } from '../../sessions/sessions.js'
import { holdForApplication, type TokenExchange } from './authorizations.js'
import { accessTokenLifetime, type CodeFault, type Grant, grantFrom } from './grants.js'
import { issueInOwnSession } from './own-sessions.js'
import type { RefreshTokenClaims } from './refresh-token-texts.js'
import type { CodeRow, OwnSession } from './tokens.store.js'
import * as store from './tokens.store.js'
import { sharedScopes, type TokenContent } from './user-claims.js'

const codeLifetime = 60 * seconds

/** The request of the application. `content` leaves out how the session was proven, which the session itself says. */
export type CodeRequest = {
  client: { id: string; name: string }
  redirectUri: string
  /** The S256 challenge of PKCE. */
  codeChallenge?: string | undefined
  content: Omit<TokenContent, 'authTime' | 'methods' | 'secondFactor'>
  /** Set if a session of its own begins when the code is used. */
  ownSession?: OwnSession | undefined
  origin: RequestOrigin
}

/**
 * When the user authenticated. A sign-in by mail or with a trusted device makes nothing fresh here, so its time is 0, but the user gave a
 * proof as the session began. A provider that says no time may have asked its user nothing: then nobody knows, and the claim is left out
 * (OpenID Connect Core 1.0, 2). The clock of the instance that stored the proof may be ahead, and `auth_time` must not be in the future.
 */
export const authTimeOf = ({ provenAt, begunAt, methods }: SessionProof, now: Date) => {
  const isUnknown = provenAt <= neverProven && methods.every((method) => method === 'provider')
  const moment = provenAt > neverProven ? provenAt : begunAt
  return isUnknown ? {} : { authTime: Math.min(epochSeconds(moment), epochSeconds(now)) }
}

/** Issues a code for the session of the holder. A refusal has written nothing. */
const issueCode = async (exchange: TokenExchange, sql: Transaction, holder: TokenHolder, request: CodeRequest) => {
  const { clock, events } = exchange
  const { client, redirectUri, codeChallenge = null, ownSession, origin } = request
  const { userId, sessionId: sid } = holder
  const proof = await holdForApplication(exchange, sql, holder, client.id, ownSession?.resourceId)
  if (isRefused(proof)) return proof
  const now = clock.now()
  const scopes = ownSession ? null : sharedScopes(request.content)
  const newAuthorization = { id: uuidv7(now), sid, clientId: client.id, userId, scopes, now }
  const [authorization] = await store.upsertAuthorization(sql, newAuthorization)
  if (!authorization) throw new Error('An authorization was neither made nor found')
  if (authorization.is_first && !ownSession)
    await events.recordInside(sql, { kind: 'application_used', userId, sessionId: sid, reason: client.name }, origin)
  const code = randomToken()
  const inserted = store.insertCode(sql, {
    hash: fingerprint(code),
    authorizationId: authorization.id,
    redirectUri,
    codeChallenge,
    content: {
      ...request.content,
      ...authTimeOf(proof, now),
      methods: [...proof.methods],
      secondFactor: countFactors(proof.methods) === 2,
    },
    ownSession,
    lifetime: codeLifetime,
    clockOffset: clock.offset(),
  })
  sql.unawaited(inserted)
  return { code, sid }
}

type CodeUse = {
  redirectUri: string | undefined
  codeVerifier?: string | undefined
  /** As it is compared; undefined if the program names none. */
  resource?: string | undefined
}

/** The form of a verifier (RFC 7636, 4.1). */
const verifierShape = /^[\w.~-]{43,128}$/

/** Compares by S256 only (RFC 7636, 4.6): a challenge that was meant as `plain` never fits. */
const verifierFits = (verifier: string, challenge: string) =>
  equalInConstantTime(
    Buffer.from(createHash('sha256').update(verifier, 'ascii').digest('base64url'), 'ascii'),
    Buffer.from(challenge, 'utf8'),
  )

/** A challenge needs its verifier, and a verifier needs its challenge (RFC 9700, 2.1.1 and 4.8.2). */
const verifierFault = (
  challenge: string | null,
  verifier: string | undefined,
  pkce: boolean,
): CodeFault | undefined => {
  if (challenge === null) {
    if (verifier !== undefined) return 'unexpected_verifier'
    return pkce ? 'missing_challenge' : undefined
  }
  if (verifier === undefined) return 'missing_verifier'
  if (!verifierShape.test(verifier)) return 'malformed_verifier'
  return verifierFits(verifier, challenge) ? undefined : 'wrong_verifier'
}

/** Whether a second use is a retry. A program whose answer was lost tries again at once, and a thief does not have the verifier. */
const isRetry = ({ is_just_used, challenge }: CodeRow, verifier: string | undefined) =>
  is_just_used && challenge !== null && verifierFault(challenge, verifier, true) === undefined

/** The rules of the application as they are now: an operator may have changed them since the code was made. */
type CodeRules = { [Name in 'pkce' | 'kind' | 'redirectAddresses']: Application[Name] }

const faultOf = (row: CodeRow | undefined, use: CodeUse, rules: CodeRules): CodeFault | undefined => {
  if (!row) return 'unknown_code'
  if (row.is_used) return isRetry(row, use.codeVerifier) ? 'retried_code' : 'reused_code'
  if (row.has_expired) return 'expired_code'
  if (row.redirect_address !== use.redirectUri) return 'other_redirect'
  if (!isRedirectAddress(rules, row.redirect_address)) return 'removed_redirect'
  if (use.resource !== undefined && use.resource !== row.resource?.address) return 'other_resource'
  return verifierFault(row.challenge, use.codeVerifier, rules.pkce) ?? (row.is_authorized ? undefined : 'ended')
}

/** Returns the row of the code, or refuses with its fault. */
const judgeCode = (row: CodeRow | undefined, use: CodeUse, rules: CodeRules): CodeRow | Refused<CodeFault> => {
  const fault = faultOf(row, use, rules)
  return fault === undefined && row ? row : refuse(fault ?? 'unknown_code')
}

/** A second use with the right verifier within this time is refused as a retry. Any other second use ends the authorization. */
const retryWindow = 10 * seconds

/** The most refresh tokens of one authorization. A browser has no use for more. */
const maxTokens = 50

export type Redemption<Signed> = CodeUse & {
  client: { id: string; name: string } & CodeRules
  remembered: RememberedClient | undefined
  code: string
  origin: RequestOrigin
  /**
   * Signs the ID token of the grant before the code is used up. If signing fails, the code is still good, and the program can try again.
   */
  sign: (grant: Grant) => Promise<Signed>
}

export type RedeemedTokens<Signed> = { grant: Grant; refreshToken: string; signed: Signed }

/** OpenID Connect Core 12.2: the ID token of a refresh has no `nonce`. */
const withoutNonce = ({ nonce: _, ...content }: TokenContent): TokenContent => content

const deleteSurplus = ({ database }: TokenExchange, authorizationId: string) =>
  database.transaction(async (sql) => {
    await store.holdAuthorization(sql, authorizationId)
    await store.deleteSurplus(sql, authorizationId, maxTokens)
  })

/** False if the code was used, or the authorization has ended, since the code was read. */
const useCode = async (
  exchange: TokenExchange,
  codeHash: Uint8Array,
  { authorization_id: authorizationId, token_content: content }: CodeRow,
  accessToken: string,
  claims: RefreshTokenClaims,
) => {
  const { database, clock, refreshTokens, moments } = exchange
  const tokens = {
    id: claims.tid,
    authorizationId,
    codeHash,
    refreshHash: fingerprint(refreshTokens.sign(claims)),
    content: withoutNonce(content),
    issuedAt: fromEpochSeconds(claims.iat),
    accessToken: { hash: fingerprint(accessToken), lifetime: accessTokenLifetime },
  }
  const [redeemed] = await store.redeemCode(database, tokens, clock.now(), moments())
  if (redeemed && redeemed.earlier_tokens >= maxTokens) await deleteSurplus(exchange, authorizationId)
  return redeemed !== undefined
}

/** Reads the code and judges it. A second use that is no retry ends the authorization. */
const checkCode = async <Signed>(exchange: TokenExchange, hash: Uint8Array, redemption: Redemption<Signed>) => {
  const { database, moments, usedApplications } = exchange
  const { client, remembered, origin } = redemption
  const [row] = await store.selectCode(database, { hash, clientId: client.id, remembered, retryWindow }, moments())
  if (!row && remembered) return refuse('unconfirmed')
  const judged = judgeCode(row, redemption, client)
  if (row && isRefused(judged) && judged.refused === 'reused_code')
    await usedApplications.endReused(row.authorization_id, origin)
  return judged
}

/** Like `useCode`, for a code that begins a session of its own. */
const useCodeForOwnSession = async <Signed>(
  exchange: TokenExchange,
  codeHash: Uint8Array,
  row: CodeRow,
  grant: Grant,
  { client, origin }: Redemption<Signed>,
  claims: RefreshTokenClaims,
) => {
  const outcome = await issueInOwnSession(exchange, {
    client,
    origin,
    approvingSid: row.sid,
    grant: { ...grant, content: withoutNonce(grant.content) },
    resourceId: row.resource_id ?? undefined,
    codeHash,
    refreshHash: fingerprint(exchange.refreshTokens.sign(claims)),
    tokensId: claims.tid,
    issuedAt: fromEpochSeconds(claims.iat),
    take: async (sql) => (await store.moveCode(sql, codeHash, grant.authorizationId, exchange.moments())).length > 0,
  })
  return !isRefused(outcome)
}

/** The row as it will be in the session that begins. */
const inOwnSession = (row: CodeRow, now: Date): CodeRow => ({
  ...row,
  authorization_id: uuidv7(now),
  sid: uuidv7(now),
  is_device: true,
  oldest_generation: 0,
})

const redeem = async <Signed>(
  exchange: TokenExchange,
  redemption: Redemption<Signed>,
): Promise<RedeemedTokens<Signed> | Refused<CodeFault | 'unconfirmed'>> => {
  const { clock, refreshTokens, profileFields } = exchange
  const hash = fingerprint(redemption.code)
  const row = await checkCode(exchange, hash, redemption)
  if (isRefused(row)) return row
  const accessToken = randomToken()
  const grant = grantFrom(profileFields, row.begins_session ? inOwnSession(row, clock.now()) : row, accessToken)
  const signed = await redemption.sign(grant)
  const now = clock.now()
  const claims = { tid: uuidv7(now), gen: 0, iat: epochSeconds(now) }
  const isUsed = row.begins_session
    ? await useCodeForOwnSession(exchange, hash, row, grant, redemption, claims)
    : await useCode(exchange, hash, row, accessToken, claims)
  if (isUsed) return { grant, refreshToken: refreshTokens.sign(claims), signed }
  const judgedAgain = await checkCode(exchange, hash, redemption)
  return isRefused(judgedAgain) ? judgedAgain : refuse('ended')
}

export type Codes = ReturnType<typeof createCodes>

/** Codes of the authorization endpoint. */
export const createCodes = (exchange: TokenExchange) => ({
  /** The transaction must hold no row but the user's. */
  issue: (sql: Transaction, holder: TokenHolder, request: CodeRequest) => issueCode(exchange, sql, holder, request),
  /** Exchanges a code for tokens, once. */
  redeem: <Signed>(redemption: Redemption<Signed>) => redeem(exchange, redemption),
})

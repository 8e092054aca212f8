import { createHash } from 'node:crypto'
import { isRedirectAddress } from '../../applications/application-rules.js'
import { type Application, mayUse } from '../../applications/applications.js'
import * as authorizationsStore from '../../applications/authorizations.store.js'
import { countFactors } from '../../contract/factors.js'
import { isRefused, type Refused, refuse } from '../../contract/outcome.js'
import type { Client } from '../../http/request-origin.js'
import type { Clock } from '../../lib/clock.js'
import { seconds } from '../../lib/durations.js'
import { equalInConstantTime, fingerprint, randomToken } from '../../lib/random.js'
import { uuidv7 } from '../../lib/uuid.js'
import type { Events } from '../../messages/events.js'
import type { Transaction } from '../../platform/database/database.js'
import { epochSeconds, fromEpochSeconds } from '../../sessions/issue-tokens.js'
import { neverProven } from '../../sessions/session-facts.js'
import type { SessionProof } from '../../sessions/session-lookups.js'
import type { Sessions, TokenHolder } from '../../sessions/sessions.js'
import type { Users } from '../../users/users.js'
import type { TokenExchangeParts } from './authorizations.js'
import { accessTokenLifetime, type Grant } from './grants.js'
import type { RefreshTokenClaims } from './refresh.js'
import type { CodeRow } from './tokens.store.js'
import * as tokensStore from './tokens.store.js'
import { sharedScopes, type TokenContent } from './user-claims.js'

const codeLifetime = 60 * seconds

/** The request of the application. `content` leaves out how the session was proven, which the session itself says. */
export type CodeRequest = {
  application: Pick<Application, 'id' | 'name'>
  redirectAddress: string
  /** The S256 challenge of PKCE. */
  challenge?: string | undefined
  content: Omit<TokenContent, 'authTime' | 'methods' | 'secondFactor'>
  client: Client
}

type Dependencies = {
  clock: Clock
  users: Pick<Users, 'lockEnabled'>
  sessions: Pick<Sessions, 'lockOfHolder'>
  events: Pick<Events, 'recordInside'>
}

/**
 * When the user authenticated. A sign-in by mail or with a trusted device makes nothing fresh here, so its time is 0, but the user gave a
 * proof as the session began. A provider that says no time may have asked its user nothing: then nobody knows, and the claim is left out
 * (OpenID Connect Core 1.0, 2). The clock of the instance that stored the proof may be ahead, and `auth_time` must not be in the future.
 */
export const authTimeOf = ({ provenAt, begunAt, methods }: SessionProof, now: Date): Pick<TokenContent, 'authTime'> => {
  const isUnknown = provenAt <= neverProven && methods.every((method) => method === 'provider')
  const moment = provenAt > neverProven ? provenAt : begunAt
  return isUnknown ? {} : { authTime: Math.min(epochSeconds(moment), epochSeconds(now)) }
}

/**
 * Issues a code for the session of the holder. Rows are locked in the order in which everything that ends a session locks them (user,
 * session, application), so that a session that ends at the same moment leaves no code behind. A refusal has written nothing.
 */
export const createIssueCode =
  ({ clock, users, sessions, events }: Dependencies) =>
  async (sql: Transaction, holder: TokenHolder, request: CodeRequest) => {
    const { application, redirectAddress, challenge, client } = request
    const { userId, sessionId: sid } = holder
    const user = await users.lockEnabled(sql, userId)
    if (!user) return refuse('not_authenticated')
    const proof = await sessions.lockOfHolder(sql, holder)
    if (isRefused(proof)) return proof
    const [rules] = await authorizationsStore.holdApplication(sql, application.id)
    if (!rules || !mayUse(rules, user.groups)) return refuse('no_access')
    const now = clock.now()
    const scopes = sharedScopes(request.content)
    const applicationId = application.id
    const [authorization] = await authorizationsStore.upsertAuthorization(sql, {
      id: uuidv7(now),
      sid,
      applicationId,
      userId,
      scopes,
      now,
    })
    if (!authorization) throw new Error('An authorization was neither made nor found')
    if (authorization.is_first)
      await events.recordInside(
        sql,
        { kind: 'application_used', userId, sessionId: sid, reason: application.name },
        client,
      )
    const code = randomToken()
    await authorizationsStore.insertCode(sql, {
      hash: fingerprint(code),
      authorizationId: authorization.id,
      redirectAddress,
      challenge: challenge ?? null,
      content: {
        ...request.content,
        ...authTimeOf(proof, now),
        methods: [...proof.methods],
        secondFactor: countFactors(proof.methods) === 2,
      },
      lifetime: codeLifetime,
      clockOffset: clock.offset(),
    })
    return { code, sid }
  }

type CodeUse = { redirectAddress: string | undefined; verifier?: string | undefined }

/** Each fault that a code can have, in the order in which they are checked. */
export type CodeFault =
  | 'unknown_code'
  | 'reused_code'
  | 'retried_code'
  | 'expired_code'
  | 'other_redirect'
  | 'removed_redirect'
  | 'missing_verifier'
  | 'unexpected_verifier'
  | 'malformed_verifier'
  | 'wrong_verifier'
  | 'missing_challenge'
  | 'ended'

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
type CodeRules = Pick<Application, 'pkce' | 'kind' | 'redirectAddresses'>

const faultOf = (row: CodeRow | undefined, use: CodeUse, rules: CodeRules): CodeFault | undefined => {
  if (!row) return 'unknown_code'
  if (row.is_used) return isRetry(row, use.verifier) ? 'retried_code' : 'reused_code'
  if (row.has_expired) return 'expired_code'
  if (row.redirect_address !== use.redirectAddress) return 'other_redirect'
  if (!isRedirectAddress(rules, row.redirect_address)) return 'removed_redirect'
  return verifierFault(row.challenge, use.verifier, rules.pkce) ?? (row.is_authorized ? undefined : 'ended')
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
  application: Pick<Application, 'id'> & CodeRules
  code: string
  client: Client
  /**
   * Signs the ID token of the grant before the code is used up. If signing fails, the code is still good, and the program can try again.
   */
  sign: (grant: Grant) => Promise<Signed>
}

export type RedeemedTokens<Signed> = { grant: Grant; refreshToken: string; signed: Signed }

/** OpenID Connect Core 12.2: the ID token of a refresh has no `nonce`. */
const withoutNonce = ({ nonce: _, ...content }: TokenContent): TokenContent => content

/** Exchanges a code for tokens, once. */
export const createRedeemCode = (parts: TokenExchangeParts) => {
  const { database, clock, refreshTokens, moments, endReused, grantOf } = parts

  const deleteSurplus = (authorizationId: string) =>
    database.transaction(async (sql) => {
      await tokensStore.holdAuthorization(sql, authorizationId)
      await tokensStore.deleteSurplus(sql, authorizationId, maxTokens)
    })

  /** False if the code was used, or the authorization has ended, since the code was read. */
  const useCode = async (codeHash: Uint8Array, row: CodeRow, accessToken: string, claims: RefreshTokenClaims) => {
    const { authorization_id: authorizationId, token_content } = row
    const tokens = {
      id: claims.tid,
      authorizationId,
      codeHash,
      refreshHash: fingerprint(refreshTokens.sign(claims)),
      content: withoutNonce(token_content),
      issuedAt: fromEpochSeconds(claims.iat),
      accessToken: { hash: fingerprint(accessToken), lifetime: accessTokenLifetime },
    }
    const [redeemed] = await tokensStore.redeemCode(database, tokens, clock.now(), moments())
    if (redeemed && redeemed.earlier_tokens >= maxTokens) await deleteSurplus(authorizationId)
    return redeemed !== undefined
  }

  return async <Signed>(redemption: Redemption<Signed>): Promise<RedeemedTokens<Signed> | Refused<CodeFault>> => {
    const { application, code, client, sign } = redemption
    const hash = fingerprint(code)
    const checkCode = async () => {
      const [row] = await tokensStore.selectCode(
        database,
        { hash, applicationId: application.id, retryWindow },
        moments(),
      )
      const judged = judgeCode(row, redemption, application)
      if (row && isRefused(judged) && judged.refused === 'reused_code') await endReused(row.authorization_id, client)
      return judged
    }
    const row = await checkCode()
    if (isRefused(row)) return row
    const accessToken = randomToken()
    const grant = grantOf(row, accessToken)
    const signed = await sign(grant)
    const now = clock.now()
    const claims = { tid: uuidv7(now), gen: 0, iat: epochSeconds(now) }
    if (await useCode(hash, row, accessToken, claims))
      return { grant, refreshToken: refreshTokens.sign(claims), signed }
    const judgedAgain = await checkCode()
    return isRefused(judgedAgain) ? judgedAgain : refuse('ended')
  }
}

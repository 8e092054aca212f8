import type { Application } from '../../applications/applications.js'
import { isRefused, type Refused, refuse } from '../../contract/outcome.js'
import type { Client } from '../../http/request-origin.js'
import { seconds } from '../../lib/durations.js'
import { fingerprint, randomToken } from '../../lib/random.js'
import { uuidv7 } from '../../lib/uuid.js'
import { epochSeconds, fromEpochSeconds } from '../../sessions/issue-tokens.js'
import { accessTokenLifetime, type Grant } from './grant.js'
import { type CodeFault, type CodeRules, type CodeUse, judgeCode } from './judge-code.js'
import type { RefreshTokenClaims } from './refresh-token-texts.js'
import type { TokenExchangeParts } from './token-exchange-parts.js'
import type { CodeRow } from './tokens.store.js'
import * as store from './tokens.store.js'
import type { TokenContent } from './user-claims.js'

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
      await store.holdAuthorization(sql, authorizationId)
      await store.deleteSurplus(sql, authorizationId, maxTokens)
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
    const [redeemed] = await store.redeemCode(database, tokens, clock.now(), moments())
    if (redeemed && redeemed.earlier_tokens >= maxTokens) await deleteSurplus(authorizationId)
    return redeemed !== undefined
  }

  return async <Signed>(redemption: Redemption<Signed>): Promise<RedeemedTokens<Signed> | Refused<CodeFault>> => {
    const { application, code, client, sign } = redemption
    const hash = fingerprint(code)
    const checkCode = async () => {
      const [row] = await store.selectCode(database, { hash, applicationId: application.id, retryWindow }, moments())
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

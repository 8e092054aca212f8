import { type Refused, refuse } from '../contract/outcome.js'
import type { Client } from '../http/request-origin.js'
import type { Clock } from '../lib/clock.js'
import { equalInConstantTime, fingerprint } from '../lib/random.js'

import type { Database } from '../platform/database/database.js'
import type { Ended } from './ended-sessions.js'
import { epochSeconds, fromEpochSeconds, type IssuedTokens, type IssueTokens } from './issue-tokens.js'
import type { SessionLife } from './live-sessions.js'
import { proofOf } from './proof.js'
import * as store from './sessions.store.js'
import { standingOf } from './token-standing.js'
import type { RefreshClaims, RefreshToken, Tokens } from './tokens.js'

/** `raced`: another request had just rotated the token, and this request got the same successor. */
export type RotationOutcome =
  | { issued: IssuedTokens; raced: boolean }
  | (Refused<'ended' | 'theft' | 'replaced'> & { userId: string; sessionId: string })

/**
 * Who asked for the rotation. A browser that refreshes gets its tokens at once. Through a proxy, they travel with the answer of the
 * application.
 */
export type RotatedBy = 'browser' | 'proxy'

type Dependencies = {
  database: Database
  tokens: Tokens
  clock: Clock
  life: SessionLife
  issue: IssueTokens
  graces: store.Graces
  onEnded: (ended: Ended) => void
}

/** The claims of the newest token of a session. Signed again, they give the same bytes. */
const newestClaims = (
  claims: RefreshClaims,
  { generation, issued_at, expires_at }: { generation: number; issued_at: Date; expires_at: Date },
): RefreshClaims => ({ ...claims, gen: generation, iat: epochSeconds(issued_at), exp: epochSeconds(expires_at) })

/** Exchanges a refresh token for the next one of its session. */
export const createExchangeToken = ({ database, tokens, clock, life, issue, graces, onEnded }: Dependencies) => {
  /**
   * Answers a token that is not the newest of its session. If another request has rotated it a moment ago, it gets the same successor. The
   * session may also have ended.
   */
  const answerOldToken = async (
    presentedToken: RefreshToken,
    exchangeNewest: (newest: RefreshToken) => Promise<RotationOutcome>,
  ): Promise<RotationOutcome> => {
    const { claims } = presentedToken
    const { userId, sid: sessionId } = claims
    const owner = { userId, sessionId }
    const ended = refuse('ended', owner)
    const [row] = await store.selectRecord(database, sessionId, {
      live: life.liveNow(),
      clockOffset: clock.offset(),
      graces,
    })
    if (!row) onEnded({ sid: sessionId, minGeneration: null })
    if (!row?.usable) return ended
    const standing = standingOf(row, presentedToken)
    if (standing !== 'valid') return refuse(standing, owner)
    const successor = newestClaims(claims, row)
    const text = tokens
      .signRefreshWithEach(successor)
      .find((each) => equalInConstantTime(fingerprint(each), row.token_hash))
    if (!text) return ended
    // The groups have changed since the successor was made, so its access token would be refused. The successor is exchanged once more.
    if (row.oldest_generation > row.generation) return exchangeNewest({ text, claims: successor })
    const now = epochSeconds(clock.now())
    const issued = issue({ id: userId, ...row }, proofOf(row), successor, text, row.accepted_from, now)
    return { issued, raced: true }
  }

  const exchange = async (refreshToken: RefreshToken, client: Client, by: RotatedBy): Promise<RotationOutcome> => {
    const { text, claims } = refreshToken
    const now = clock.now()
    const iat = epochSeconds(now)
    const successor = { ...claims, gen: claims.gen + 1, iat, exp: life.expiryFor(claims.auth_time) }
    const token = tokens.signRefresh(successor)
    const [holder] = await store.rotateRecord(database, {
      id: claims.sid,
      generation: successor.gen,
      presentedHash: fingerprint(text),
      successorHash: fingerprint(token),
      issuedAt: fromEpochSeconds(iat),
      expiresAt: fromEpochSeconds(successor.exp),
      usedAt: now,
      live: life.liveNow(),
      clockOffset: clock.offset(),
      client,
      atProxy: by === 'proxy',
      graces,
    })
    if (!holder) return answerOldToken(refreshToken, (newest) => exchange(newest, client, by))
    const issued = issue({ id: claims.userId, ...holder }, proofOf(holder), successor, token, holder.accepted_from)
    return { issued, raced: false }
  }

  return exchange
}

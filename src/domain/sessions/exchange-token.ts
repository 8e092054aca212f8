import { type Refused, refuse } from '../../contract/outcome.js'
import type { Clock } from '../../lib/clock.js'
import { equalInConstantTime, fingerprint } from '../../lib/random.js'
import type { Database } from '../../platform/database/database.js'
import type { RefreshClaims, RefreshToken, Tokens } from '../tokens/tokens.js'
import type { Client } from './client.js'
import type { EndedSession } from './ended-sessions.js'
import { epochSeconds, fromEpochSeconds, type Issued, type IssueTokens } from './issue-tokens.js'
import type { SessionLife } from './live-sessions.js'
import { proofOf } from './proof.js'
import * as store from './sessions.store.js'
import { standingOf } from './token-standing.js'

/** `raced`: the token had just been rotated by another request, and this one got the same successor. */
export type Rotated =
  | { issued: Issued; raced: boolean }
  | (Refused<'ended' | 'theft' | 'replaced'> & { userId: string; sessionId: string })

/** A browser that asks for its tokens gets them at once. Through a proxy they travel with the answer of the application. */
export type RotatedBy = 'browser' | 'proxy'

type Dependencies = {
  database: Database
  tokens: Tokens
  clock: Clock
  life: SessionLife
  issue: IssueTokens
  graces: store.Graces
  onEnded: (ended: EndedSession) => void
}

/** The claims of the newest token of a session. Signed again, they give the same bytes. */
const newestClaims = (
  claims: RefreshClaims,
  { generation, issued_at, expires_at }: { generation: number; issued_at: Date; expires_at: Date },
): RefreshClaims => ({ ...claims, gen: generation, iat: epochSeconds(issued_at), exp: epochSeconds(expires_at) })

/** A refresh token is exchanged for the next one of its session. */
export const createExchangeToken = ({ database, tokens, clock, life, issue, graces, onEnded }: Dependencies) => {
  /**
   * Answers a token that is not the newest one of its session. Another request may have rotated it a moment ago: then it gets
   * the same successor. The session may have ended.
   */
  const answerOldToken = async (
    presented: RefreshToken,
    exchangeNewest: (newest: RefreshToken) => Promise<Rotated>,
  ): Promise<Rotated> => {
    const { claims } = presented
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
    const standing = standingOf(row, presented)
    if (standing !== 'valid') return refuse(standing, owner)
    const successor = newestClaims(claims, row)
    const text = tokens
      .signRefreshWithEach(successor)
      .find((each) => equalInConstantTime(fingerprint(each), row.token_hash))
    if (!text) return ended
    // The groups have changed since it was made, and its access token would be refused.
    if (row.oldest_generation > row.generation) return exchangeNewest({ text, claims: successor })
    const now = epochSeconds(clock.now())
    return { issued: issue({ id: userId, ...row }, proofOf(row), successor, text, now), raced: true }
  }

  const exchange = async (refreshToken: RefreshToken, client: Client, by: RotatedBy): Promise<Rotated> => {
    const { text, claims } = refreshToken
    const now = clock.now()
    const iat = epochSeconds(now)
    const successor = { ...claims, gen: claims.gen + 1, iat, exp: life.expiryFor(claims.auth_time) }
    const token = tokens.signRefresh(successor)
    const [holder] = await store.rotateRecord(database, {
      id: claims.sid,
      generation: successor.gen,
      presented: fingerprint(text),
      successor: fingerprint(token),
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
    return { issued: issue({ id: claims.userId, ...holder }, proofOf(holder), successor, token), raced: false }
  }

  return exchange
}

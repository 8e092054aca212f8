import { isRefused, type Refused, refuse } from '../contract/outcome.js'
import type { Client } from '../http/request-origin.js'
import { equalInConstantTime, fingerprint } from '../lib/random.js'
import type { Transaction } from '../platform/database/database.js'
import type { EndedSessions } from './ended-sessions.js'
import { epochSeconds, fromEpochSeconds, type IssuedTokens, issueTokens, type SessionTools } from './issue-tokens.js'
import { expiryFor, liveNow } from './live-sessions.js'
import type { CallerContext, SessionCaller } from './session-facts.js'
import type { ProvenKey, RecordRow } from './sessions.store.js'
import * as store from './sessions.store.js'
import type { RefreshClaims, RefreshToken } from './tokens.js'

/**
 * How a refresh token compares with the row of its session. `valid`: it is the newest token, or newer than the row, or another request has
 * rotated it a moment ago. `replaced`: a step-up or a change, such as that of the password, has just replaced it.
 */
export type TokenStanding = 'valid' | 'replaced' | 'theft'

/**
 * Compares a token with the row of its session. An old token that is neither valid nor replaced counts as stolen, and the caller ends the
 * session.
 */
export const standingOf = (row: RecordRow, { text, claims }: RefreshToken): TokenStanding => {
  const presentedHash = fingerprint(text)
  const isPresented = (hash: Uint8Array | null) => hash !== null && equalInConstantTime(hash, presentedHash)
  // A token is newer than its row if the last write was lost in a failover.
  if (isPresented(row.token_hash) || claims.gen > row.generation) return 'valid'
  if (row.just_voided && isPresented(row.voided_hash)) return 'replaced'
  // This is usually 1. After T5 → T6, a change of the groups and T6 → T7 at once, T5 is 2 rotations old, and gets T7 too.
  const ageInRotations = [row.previous_hash, ...(row.earlier_hashes ?? []).toReversed()].findIndex(isPresented) + 1
  if (!row.just_rotated || ageInRotations === 0) return 'theft'
  // If the numbers differ, a successor of the token was replaced since, and the newest token does not descend from it.
  return claims.gen + ageInRotations === row.generation ? 'valid' : 'replaced'
}

type Owner = { userId: string; sessionId: string }

/** The session is bound to a device, whose key this request has not proven. `oldestGeneration`: of its access tokens that are accepted. */
export type Unproven = Refused<'unproven'> & Owner & { oldestGeneration: number }

/** `raced`: another request had just rotated the token, and this request got the same successor. */
export type RotationOutcome =
  | { issued: IssuedTokens; raced: boolean }
  | (Refused<'ended' | 'theft' | 'replaced'> & Owner)
  | Unproven

/**
 * Who asked for the rotation. A browser that refreshes gets its tokens at once. Through a proxy, they travel with the answer of the
 * application.
 */
export type RotatedBy = 'browser' | 'proxy'

/** The claims of the newest token of a session. Signed again, they give the same bytes. */
const newestClaims = (
  claims: RefreshClaims,
  { generation, issued_at, expires_at }: { generation: number; issued_at: Date; expires_at: Date },
): RefreshClaims => ({ ...claims, gen: generation, iat: epochSeconds(issued_at), exp: epochSeconds(expires_at) })

/**
 * Answers a token that is not the newest of its session. If another request has rotated it a moment ago, it gets the same successor. The
 * session may also have ended. `exchangeInstead`: the successor is out of date, too, and has to be exchanged. The newest token comes here
 * if its session is bound to a device that was not proven: it gives nothing, and raises no alarm.
 */
const answerOldToken = async (
  tools: SessionTools,
  presentedToken: RefreshToken,
  proven: ProvenKey | undefined,
): Promise<RotationOutcome | { exchangeInstead: RefreshToken }> => {
  const { database, tokens, clock, graces, onEnded } = tools
  const { claims } = presentedToken
  const { userId, sid: sessionId } = claims
  const owner = { userId, sessionId }
  const ended = refuse('ended', owner)
  const moments = { live: liveNow(tools), clockOffset: clock.offset(), graces }
  const [row] = await store.selectRecord(database, sessionId, moments, proven)
  if (!row) onEnded({ sid: sessionId, minGeneration: null })
  if (!row?.usable) return ended
  const standing = standingOf(row, presentedToken)
  if (standing !== 'valid') return refuse(standing, owner)
  if (!row.gives_tokens) return refuse('unproven', { ...owner, oldestGeneration: row.oldest_generation })
  const successor = newestClaims(claims, row)
  const text = tokens
    .signRefreshWithEach(successor)
    .find((each) => equalInConstantTime(fingerprint(each), row.token_hash))
  if (!text) return ended
  const newest = { text, claims: successor }
  // The groups have changed since the successor was made, so its access token would be refused.
  if (row.oldest_generation > row.generation) return { exchangeInstead: newest }
  return { issued: issueTokens(tools, row, newest, epochSeconds(clock.now())), raced: true }
}

/** Who asks for the next token, and what the request has proven. */
type Asking = { client: Client; by: RotatedBy; proven: ProvenKey | undefined }

/** Writes the next token of a session. Undefined if the presented one is not the newest, or gives none without a proof. */
const writeSuccessor = async (
  tools: SessionTools,
  refreshToken: RefreshToken,
  { client, by, proven }: Asking,
): Promise<IssuedTokens | undefined> => {
  const { database, tokens, clock, graces } = tools
  const { text, claims } = refreshToken
  const now = clock.now()
  const iat = epochSeconds(now)
  const successor = {
    ...claims,
    gen: claims.gen + 1,
    iat,
    exp: expiryFor(tools, { begun: claims.auth_time, refreshed: iat }),
  }
  const token = tokens.signRefresh(successor)
  const [holder] = await store.rotateRecord(database, {
    id: claims.sid,
    generation: successor.gen,
    presentedHash: fingerprint(text),
    successorHash: fingerprint(token),
    issuedAt: fromEpochSeconds(iat),
    expiresAt: fromEpochSeconds(successor.exp),
    usedAt: now,
    live: liveNow(tools),
    clockOffset: clock.offset(),
    client,
    atProxy: by === 'proxy',
    graces,
    proven,
  })
  return holder && issueTokens(tools, holder, { text: token, claims: successor })
}

/** Exchanges a refresh token for the next one of its session. */
const exchangeToken = async (
  tools: SessionTools,
  refreshToken: RefreshToken,
  asking: Asking,
): Promise<RotationOutcome> => {
  const issued = await writeSuccessor(tools, refreshToken, asking)
  if (issued) return { issued, raced: false }
  const answer = await answerOldToken(tools, refreshToken, asking.proven)
  return 'exchangeInstead' in answer ? exchangeToken(tools, answer.exchangeInstead, asking) : answer
}

type OnRotation = (outcome: 'rotated' | 'raced' | 'replaced' | 'unproven' | 'ended' | 'theft') => void

/**
 * Ends a session of which an old token was used, as a change of the account that its owner is told of. The room that changes accounts is
 * above this one, so the composition hands this function down.
 */
export type ChangeByOldToken = (context: CallerContext, end: (sql: Transaction) => Promise<boolean>) => Promise<unknown>

type RotationSteps = {
  endSession: (sql: Transaction, because: 'refresh_theft', session: SessionCaller) => Promise<boolean>
  changeByOldToken: ChangeByOldToken
  endedSessions: EndedSessions
  onRotation: OnRotation
}

export type Rotations = ReturnType<typeof createRotations>['rotate']
export type BindSession = ReturnType<typeof createRotations>['bindSession']
/** Every exchange of a refresh token for new tokens, by a page or by the access check. It is counted, and a theft ends the session. */
export const createRotations = (
  tools: SessionTools,
  { endSession, changeByOldToken, endedSessions, onRotation }: RotationSteps,
) => {
  /** Ends a stolen session. If several old tokens are used at once, the first use ends it and tells the owner. */
  const endStolen = async ({ claims }: RefreshToken, client: Client) => {
    onRotation('theft')
    const caller = { userId: claims.userId, sessionId: claims.sid, generation: claims.gen }
    await changeByOldToken({ caller, client }, (sql) => endSession(sql, 'refresh_theft', caller))
  }

  /**
   * A session that is known to have ended is refused without a query, because behind a proxy a browser may send its token with each part of
   * a page.
   */
  const exchangeUnlessEnded = async (refreshToken: RefreshToken, asking: Asking) => {
    const { userId, sid: sessionId } = refreshToken.claims
    const owner = { userId, sessionId }
    const outcome = endedSessions.hasEnded(sessionId)
      ? refuse('ended', owner)
      : await exchangeToken(tools, refreshToken, asking)
    const hasEnded = isRefused(outcome) && outcome.refused === 'ended'
    return hasEnded && asking.by === 'browser' && (await endedSessions.wasJustReplaced(sessionId))
      ? refuse('replaced', owner)
      : outcome
  }

  return {
    endStolen,
    /** `provenKey`: the key of the device, if this request has proven it. */
    rotate: async (refreshToken: RefreshToken, client: Client, by: RotatedBy, provenKey?: Uint8Array) => {
      const proven = provenKey && { key: provenKey, binds: false }
      const outcome = await exchangeUnlessEnded(refreshToken, { client, by, proven })
      if (!isRefused(outcome)) onRotation(outcome.raced ? 'raced' : 'rotated')
      else if (outcome.refused === 'theft') await endStolen(refreshToken, client)
      else onRotation(outcome.refused)
      return outcome
    },
    /**
     * Binds a session to a key, and rotates in the same statement, so that a copy of its cookies from before is old. Only with its newest
     * token: there is no grace, and no alarm. Undefined if it is bound, or another request has rotated it a moment ago.
     */
    bindSession: (refreshToken: RefreshToken, client: Client, key: Uint8Array) =>
      writeSuccessor(tools, refreshToken, { client, by: 'browser', proven: { key, binds: true } }),
  }
}

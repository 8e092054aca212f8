import type { Client } from '../http/request-origin.js'
import type { Clock } from '../lib/clock.js'
import { fingerprint } from '../lib/random.js'

import type { Transaction } from '../platform/database/database.js'
import type { Ended } from './ended-sessions.js'
import { epochSeconds, fromEpochSeconds, type IssueTokens, type SignedInUser } from './issue-tokens.js'
import type { SessionLife } from './live-sessions.js'
import { changedProof, type ProofChange, proofOf } from './proof.js'
import type { SessionCaller } from './request-context.js'
import * as store from './sessions.store.js'
import type { Tokens } from './tokens.js'

type Dependencies = {
  tokens: Tokens
  clock: Clock
  life: SessionLife
  issue: IssueTokens
  onEnded: (ended: Ended) => void
}

/**
 * Gives new tokens to a session whose user has just proven who they are, or whose proof or user has changed. Its former tokens are refused
 * from now on. Within the grace time a former token does not end the session, because another tab may be sending it right now. Undefined if
 * the session has ended, or another request has already replaced the caller's token.
 */
export const createReplaceTokens =
  ({ tokens, clock, life, issue, onEnded }: Dependencies) =>
  async (sql: Transaction, caller: SessionCaller, user: SignedInUser, client: Client, change: ProofChange = {}) => {
    const now = clock.now()
    const { sessionId: sid } = caller
    const [record] = await store.lockRecord(sql, caller, life.liveNow())
    if (!record) return undefined
    const iat = epochSeconds(now)
    const authTime = epochSeconds(record.created_at)
    const claims = {
      userId: user.id,
      username: record.signed_in_as,
      sid,
      gen: record.generation + 1,
      auth_time: authTime,
      iat,
      exp: life.expiryFor(authTime),
    }
    const refreshToken = tokens.signRefresh(claims)
    const proof = changedProof(proofOf(record), change, now)
    await store.replaceToken(sql, {
      id: sid,
      generation: claims.gen,
      successorHash: fingerprint(refreshToken),
      issuedAt: fromEpochSeconds(iat),
      expiresAt: fromEpochSeconds(claims.exp),
      usedAt: now,
      clockOffset: clock.offset(),
      client,
      proof,
      proofAge: now.getTime() - proof.provenAt.getTime(),
    })
    sql.afterCommit(() => onEnded({ sid, minGeneration: claims.gen }))
    return issue(user, proof, claims, refreshToken, record.accepted_from)
  }

import { type Refused, refuse } from '../contract/outcome.js'
import type { Clock } from '../lib/clock.js'
import type { Transaction } from '../platform/database/database.js'
import type { SessionLife } from './live-sessions.js'
import { proofOf } from './proof.js'
import type { SessionCaller } from './request-context.js'
import type { SessionProof } from './session-lookups.js'
import * as store from './sessions.store.js'
import { standingOf } from './token-standing.js'
import type { RefreshToken } from './tokens.js'

/** A caller with the refresh token of the same session. */
export type TokenHolder = SessionCaller & { refreshToken: RefreshToken }

type Dependencies = { clock: Clock; life: SessionLife; graces: store.Graces }

/**
 * Locks the session of a caller, for something that lasts as long as the session. The refresh token must be one that a refresh would
 * accept, and the same rule decides. So no browser is signed out here that could still refresh. The session cannot end before the
 * transaction does.
 */
export const createLockOfHolder =
  ({ clock, life, graces }: Dependencies) =>
  async (
    sql: Transaction,
    { refreshToken, ...caller }: TokenHolder,
  ): Promise<SessionProof | Refused<'not_authenticated' | 'theft'>> => {
    const moments = { live: life.liveNow(), clockOffset: clock.offset(), graces }
    const [row] = await store.lockWholeRecord(sql, caller, moments)
    if (!row?.usable) return refuse('not_authenticated')
    const standing = standingOf(row, refreshToken)
    if (standing === 'valid') return { ...proofOf(row), begunAt: row.created_at }
    return refuse(standing === 'theft' ? 'theft' : 'not_authenticated')
  }

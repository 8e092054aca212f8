import type { AccountChanges } from '../account-changes/account-changes.js'
import { isRefused, refuse } from '../contract/outcome.js'
import type { Client } from '../http/request-origin.js'
import type { EndedSessions } from './ended-sessions.js'
import type { RotatedBy, Sessions } from './sessions.js'
import type { RefreshToken } from './tokens.js'

type OnRotation = (outcome: 'rotated' | 'raced' | 'replaced' | 'ended' | 'theft') => void

type TheftDependencies = {
  sessions: Pick<Sessions, 'end'>
  accountChanges: Pick<AccountChanges, 'byOldToken'>
  onRotation: OnRotation
}

export type EndStolen = ReturnType<typeof createEndStolen>

/** Ends a stolen session. If several old tokens are used at once, the first use ends it and tells the owner. */
export const createEndStolen =
  ({ sessions, accountChanges, onRotation }: TheftDependencies) =>
  async ({ claims: { userId, sid: sessionId, gen: generation } }: RefreshToken, client: Client) => {
    onRotation('theft')
    const caller = { userId, sessionId, generation }
    await accountChanges.byOldToken({ caller, client }, 'session_stolen', async (sql) =>
      (await sessions.end(sql, 'refresh_theft', caller))
        ? { changes: { session_stolen: { event: { reason: 'old_token' } } } }
        : refuse('ended'),
    )
  }

type Dependencies = {
  sessions: Pick<Sessions, 'rotate'>
  endedSessions: Pick<EndedSessions, 'hasEnded' | 'wasJustReplaced'>
  endStolen: EndStolen
  onRotation: OnRotation
}

export type Rotations = ReturnType<typeof createRotations>

/**
 * Every exchange of a refresh token for new tokens, by a page or by the access check. It is counted, and a theft ends the session. A
 * session that is known to have ended is refused without a query, because behind a proxy a browser may send its token with each part of a
 * page.
 */
export const createRotations = ({ sessions, endedSessions, endStolen, onRotation }: Dependencies) => {
  const exchange = async (refreshToken: RefreshToken, client: Client, by: RotatedBy) => {
    const { userId, sid: sessionId } = refreshToken.claims
    const owner = { userId, sessionId }
    const outcome = endedSessions.hasEnded(sessionId)
      ? refuse('ended', owner)
      : await sessions.rotate(refreshToken, client, by)
    const hasEnded = isRefused(outcome) && outcome.refused === 'ended'
    return hasEnded && by === 'browser' && (await endedSessions.wasJustReplaced(sessionId))
      ? refuse('replaced', owner)
      : outcome
  }

  return async (refreshToken: RefreshToken, client: Client, by: RotatedBy) => {
    const outcome = await exchange(refreshToken, client, by)
    if (!isRefused(outcome)) onRotation(outcome.raced ? 'raced' : 'rotated')
    else if (outcome.refused === 'theft') await endStolen(refreshToken, client)
    else onRotation(outcome.refused)
    return outcome
  }
}

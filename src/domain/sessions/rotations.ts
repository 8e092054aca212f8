import { isRefused, refuse } from '../../contract/outcome.js'
import type { AccountChanges } from '../accounts/account-changes.js'
import type { RefreshToken } from '../tokens/tokens.js'
import type { Client } from './client.js'
import type { EndedSessions } from './ended-sessions.js'
import type { RotatedBy, SessionCaller, Sessions } from './sessions.js'

type Dependencies = {
  sessions: Pick<Sessions, 'rotate' | 'end'>
  endedSessions: Pick<EndedSessions, 'hasEnded'>
  accountChanges: Pick<AccountChanges, 'byOldToken'>
  onRotation: (outcome: 'rotated' | 'raced' | 'replaced' | 'ended' | 'theft') => void
}

export type Rotations = ReturnType<typeof createRotations>

/**
 * Every exchange of a refresh token for new tokens, by a page or by the access check: it is counted, and a theft ends the session. A
 * session that is known to have ended is refused without the database: behind a proxy a browser may send its token with each
 * part of a page.
 */
export const createRotations = ({ sessions, endedSessions, accountChanges, onRotation }: Dependencies) => {
  const exchange = async (refreshToken: RefreshToken, client: Client, by: RotatedBy) => {
    const { userId, sid: sessionId } = refreshToken.claims
    return endedSessions.hasEnded(sessionId)
      ? refuse('ended', { userId, sessionId })
      : sessions.rotate(refreshToken, client, by)
  }

  /** Of several old tokens at once, the first ends the session and tells the owner. */
  const endStolen = (caller: SessionCaller, client: Client) =>
    accountChanges.byOldToken({ caller, client }, 'session_stolen', async (sql) =>
      (await sessions.end(sql, 'refresh_theft', caller))
        ? { changes: { session_stolen: { event: { reason: 'old_token' } } } }
        : refuse('ended'),
    )

  return async (refreshToken: RefreshToken, client: Client, by: RotatedBy) => {
    const rotated = await exchange(refreshToken, client, by)
    if (!isRefused(rotated)) {
      onRotation(rotated.raced ? 'raced' : 'rotated')
      return rotated
    }
    const { userId, sessionId, refused } = rotated
    onRotation(refused)
    if (refused === 'theft') await endStolen({ userId, sessionId, generation: refreshToken.claims.gen }, client)
    return rotated
  }
}

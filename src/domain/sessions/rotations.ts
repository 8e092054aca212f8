import { isRefused, refuse } from '../../contract/outcome.js'
import type { Events } from '../events/events.js'
import type { RefreshToken } from '../tokens/tokens.js'
import type { Client } from './client.js'
import type { EndedSessions } from './ended-sessions.js'
import type { RotatedBy, Sessions } from './sessions.js'

type Dependencies = {
  sessions: Pick<Sessions, 'rotate'>
  endedSessions: Pick<EndedSessions, 'isOver'>
  events: Pick<Events, 'record'>
  onRotation: (outcome: 'rotated' | 'raced' | 'replaced' | 'ended' | 'theft') => void
}

export type Rotations = ReturnType<typeof createRotations>

/**
 * Every exchange of a refresh token for new tokens, by a page or by the access check: it is counted, and a theft is recorded. A
 * session that is known to have ended is refused without the database: behind a proxy a browser may send its token with each
 * part of a page.
 */
export const createRotations = ({ sessions, endedSessions, events, onRotation }: Dependencies) => {
  const exchange = async (refreshToken: RefreshToken, client: Client, by: RotatedBy) => {
    const { userId, sid: sessionId } = refreshToken.claims
    return endedSessions.isOver(sessionId)
      ? refuse('ended', { userId, sessionId })
      : sessions.rotate(refreshToken, client, by)
  }

  return async (refreshToken: RefreshToken, client: Client, by: RotatedBy) => {
    const rotated = await exchange(refreshToken, client, by)
    if (!isRefused(rotated)) {
      onRotation(rotated.raced ? 'raced' : 'rotated')
      return rotated
    }
    const { userId, sessionId, refused } = rotated
    onRotation(refused)
    if (refused === 'theft')
      await events.record({ kind: 'refresh_theft', userId, sessionId, reason: 'old_token' }, client)
    return rotated
  }
}

import { isRefused } from '../../contract/outcome.js'
import type { Events } from '../events/events.js'
import type { RefreshToken } from '../tokens/tokens.js'
import type { Client } from './client.js'
import type { RotatedBy, Sessions } from './sessions.js'

type Dependencies = {
  sessions: Pick<Sessions, 'rotate'>
  events: Pick<Events, 'record'>
  onRotation: (outcome: 'rotated' | 'raced' | 'replaced' | 'ended' | 'theft') => void
}

export type Rotations = ReturnType<typeof createRotations>

/** Every exchange of a refresh token for new tokens, whoever asks for it: it is counted, and a theft is recorded. */
export const createRotations =
  ({ sessions, events, onRotation }: Dependencies) =>
  async (refreshToken: RefreshToken, client: Client, by: RotatedBy) => {
    const rotated = await sessions.rotate(refreshToken, client, by)
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

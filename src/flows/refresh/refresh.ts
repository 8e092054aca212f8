import { isRefused, refuse } from '../../contract/outcome.js'
import type { Events } from '../../domain/events/events.js'
import type { Client } from '../../domain/sessions/client.js'
import type { Sessions } from '../../domain/sessions/sessions.js'

type Dependencies = {
  sessions: Sessions
  events: Events
  onRefresh: (outcome: 'rotated' | 'raced' | 'replaced' | 'ended' | 'theft') => void
}

/** Trades a refresh token for new tokens. `sessionEnded` says whether the browser should forget the tokens it has. */
export const createRefresh =
  ({ sessions, events, onRefresh }: Dependencies) =>
  async (refreshToken: string, client: Client) => {
    const rotated = await sessions.rotate(refreshToken, client)
    if (!isRefused(rotated)) {
      onRefresh(rotated.raced ? 'raced' : 'rotated')
      return rotated.issued
    }
    // What is not ours is left alone; only a session that has ended takes its cookies with it.
    if (rotated.refused === 'invalid') return refuse('not_authenticated', { sessionEnded: false })
    const { userId, sessionId, refused } = rotated
    onRefresh(refused)
    if (refused === 'theft')
      await events.record({ kind: 'refresh_theft', userId, sessionId, reason: 'old_token' }, client)
    // The browser may hold the newer tokens already: an answer that lost a race leaves its cookies alone.
    return refuse('not_authenticated', { sessionEnded: refused !== 'replaced' })
  }

import { isRefused, refuse } from '../../contract/outcome.js'
import type { Events } from '../../domain/events/events.js'
import type { Client } from '../../domain/sessions/client.js'
import type { Sessions } from '../../domain/sessions/sessions.js'
import type { RefreshToken } from '../../domain/tokens/tokens.js'

type Dependencies = {
  sessions: Sessions
  events: Events
  onRefresh: (outcome: 'rotated' | 'raced' | 'replaced' | 'ended' | 'theft') => void
}

/** Exchanges a refresh token for new tokens. `sessionEnded` says whether the browser should delete its tokens. */
export const createRefresh =
  ({ sessions, events, onRefresh }: Dependencies) =>
  async (refreshToken: RefreshToken, client: Client) => {
    const rotated = await sessions.rotate(refreshToken, client)
    if (!isRefused(rotated)) {
      onRefresh(rotated.raced ? 'raced' : 'rotated')
      return rotated.issued
    }
    const { userId, sessionId, refused } = rotated
    onRefresh(refused)
    if (refused === 'theft')
      await events.record({ kind: 'refresh_theft', userId, sessionId, reason: 'old_token' }, client)
    // The browser may already have the newer tokens, so an answer that lost a race does not change the cookies.
    return refuse('not_authenticated', { sessionEnded: refused !== 'replaced' })
  }

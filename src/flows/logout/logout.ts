import { refuse } from '../../contract/outcome.js'
import type { Events } from '../../domain/events/events.js'
import type { Client } from '../../domain/sessions/client.js'
import type { SessionCaller, Sessions } from '../../domain/sessions/sessions.js'
import type { RefreshToken } from '../../domain/tokens/tokens.js'

type Owner = { userId: string; sessionId: string }
type Held = { caller: Owner | undefined; refreshToken: RefreshToken | undefined }

export const createLogout = ({ sessions, events }: { sessions: Sessions; events: Events }) => {
  /** By either cookie: a user with an expired access token must be able to sign out. */
  const endSession = async ({ caller, refreshToken }: Held) => {
    if (!caller) return refreshToken && sessions.endByRefreshToken(refreshToken)
    const { userId, sessionId } = caller
    return (await sessions.end(sessionId, userId)) ? { userId, sessionId } : undefined
  }

  return {
    here: async (held: Held, client: Client) => {
      const ended = await endSession(held)
      if (ended) await events.record({ kind: 'signed_out', ...ended }, client)
    },
    everywhere: async (caller: SessionCaller, client: Client) => {
      // The session may have ended at another instance a moment ago. Then its token must not end the sessions that are left.
      if (!(await sessions.isLive(caller))) return refuse('not_authenticated')
      const { userId, sessionId } = caller
      await sessions.endAll(userId)
      await events.record({ kind: 'signed_out_everywhere', userId, sessionId }, client)
      return undefined
    },
  }
}

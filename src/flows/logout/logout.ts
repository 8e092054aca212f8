import type { Events } from '../../domain/events/events.js'
import type { Client } from '../../domain/sessions/client.js'
import type { Sessions } from '../../domain/sessions/sessions.js'

type Owner = { userId: string; sessionId: string }
type Held = { caller: Owner | undefined; refreshToken: string | undefined }

export const createLogout = ({ sessions, events }: { sessions: Sessions; events: Events }) => {
  /** By either cookie: a user with an expired access token must be able to sign out. */
  const endSession = async ({ caller, refreshToken }: Held) => {
    if (!caller) return refreshToken === undefined ? undefined : sessions.endByRefreshToken(refreshToken)
    const { userId, sessionId } = caller
    return (await sessions.end(sessionId, userId)) ? { userId, sessionId } : undefined
  }

  return {
    here: async (held: Held, client: Client) => {
      const ended = await endSession(held)
      if (ended) await events.record({ kind: 'signed_out', ...ended }, client)
    },
    everywhere: async ({ userId, sessionId }: Owner, client: Client) => {
      await sessions.endAll(userId)
      await events.record({ kind: 'signed_out_everywhere', userId, sessionId }, client)
    },
  }
}

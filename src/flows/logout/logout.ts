import type { Events } from '../../domain/events/events.js'
import type { Client } from '../../domain/sessions/client.js'
import { createLockedAccount } from '../../domain/sessions/locked-account.js'
import type { SessionCaller, Sessions } from '../../domain/sessions/sessions.js'
import type { RefreshToken } from '../../domain/tokens/tokens.js'
import type { Users } from '../../domain/users/users.js'
import type { Database } from '../../platform/database/database.js'

type Owner = { userId: string; sessionId: string }
type Held = { caller: Owner | undefined; refreshToken: RefreshToken | undefined }

type Dependencies = { database: Database; users: Users; sessions: Sessions; events: Events }

export const createLogout = (deps: Dependencies) => {
  const { sessions, events } = deps
  const change = createLockedAccount(deps)

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
    /** A session that ended at another instance a moment ago does not end those that are left. */
    everywhere: (caller: SessionCaller, client: Client) =>
      change(caller, async (sql, { id: userId }) => {
        await sessions.endAll(userId, { sql })
        await events.recordInside(sql, { kind: 'signed_out_everywhere', userId, sessionId: caller.sessionId }, client)
        return undefined
      }),
  }
}

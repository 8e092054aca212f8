import type { Events } from '../../domain/events/events.js'
import type { Client } from '../../domain/sessions/client.js'
import { createLockedAccount } from '../../domain/sessions/locked-account.js'
import type { SessionCaller, Sessions } from '../../domain/sessions/sessions.js'
import type { Users } from '../../domain/users/users.js'
import type { Database } from '../../platform/database/database.js'

type Owner = { userId: string; sessionId: string }
/** The session of the access token, and that of the refresh token, also of an old or expired one. */
type Held = { caller: Owner | undefined; refreshed: Owner | undefined }

type Dependencies = { database: Database; users: Users; sessions: Sessions; events: Events }

export const createLogout = (deps: Dependencies) => {
  const { sessions, events } = deps
  const change = createLockedAccount(deps)

  const endOne = async ({ userId, sessionId }: Owner, client: Client) => {
    if (await sessions.end(sessionId, userId)) await events.record({ kind: 'signed_out', userId, sessionId }, client)
  }

  const endAll = (caller: SessionCaller, client: Client) =>
    change(caller, async (sql, { id: userId }) => {
      await sessions.endAll(userId, { sql })
      await events.recordInside(sql, { kind: 'signed_out_everywhere', userId, sessionId: caller.sessionId }, client)
      return undefined
    })

  return {
    /** By either cookie, as the access token expires first. If they belong to two sessions, one was planted: both end. */
    here: async ({ caller, refreshed }: Held, client: Client) => {
      if (caller) await endOne(caller, client)
      if (refreshed && refreshed.sessionId !== caller?.sessionId) await endOne(refreshed, client)
    },
    /** A session that ended at another instance a moment ago does not end those that are left. */
    everywhere: async (caller: SessionCaller, refreshed: Owner | undefined, client: Client) => {
      const ended = await endAll(caller, client)
      if (refreshed) await endOne(refreshed, client)
      return ended
    },
  }
}

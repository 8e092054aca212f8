import { isRefused, refuse } from '../../contract/outcome.js'
import type { AccountChanges } from '../../domain/accounts/account-changes.js'
import type { Events } from '../../domain/events/events.js'
import type { Client } from '../../domain/sessions/client.js'
import type { CallerContext } from '../../domain/sessions/request-context.js'
import type { SessionLookups } from '../../domain/sessions/session-lookups.js'
import type { Sessions } from '../../domain/sessions/sessions.js'

type Owner = { userId: string; sessionId: string }
/** The session of the access token, and that of the refresh token, also of an old or expired one. */
type BrowserSessions = { caller: Owner | undefined; refreshed: Owner | undefined }

type Dependencies = {
  accountChanges: AccountChanges
  sessions: Pick<Sessions, 'end'>
  sessionLookups: Pick<SessionLookups, 'isLiveForAnyToken'>
  events: Pick<Events, 'record'>
}

export const createLogout = ({ accountChanges, sessions, sessionLookups, events }: Dependencies) => {
  const endOne = async ({ userId, sessionId }: Owner, client: Client) => {
    if (await sessions.end('signed_out', { userId, sessionId }))
      await events.record({ kind: 'signed_out', userId, sessionId }, client)
  }

  return {
    /** By either cookie, as the access token expires first. If they belong to two sessions, one was planted: both end. */
    here: async ({ caller, refreshed }: BrowserSessions, client: Client) => {
      if (caller) await endOne(caller, client)
      if (refreshed && refreshed.sessionId !== caller?.sessionId) await endOne(refreshed, client)
    },
    /** A session that ended at another instance a moment ago does not end those that are left. */
    everywhere: async (context: CallerContext, refreshed: Owner | undefined) => {
      const ended = await accountChanges.byCaller(context, 'signed_out_everywhere', async () => ({
        changes: { signed_out_everywhere: {} },
      }))
      // A token that a change of the groups has replaced a moment ago: the browser renews it, and asks again.
      if (isRefused(ended) && (await sessionLookups.isLiveForAnyToken(context.caller))) return refuse('outdated')
      if (refreshed) await endOne(refreshed, context.client)
      return ended
    },
  }
}

import type { AccountChanges } from '../account-changes/account-changes.js'
import { isRefused, refuse } from '../contract/outcome.js'
import type { Client } from '../http/request-origin.js'
import type { Events } from '../messages/events.js'
import type { CallerContext } from './request-context.js'
import type { SessionLookups } from './session-lookups.js'
import type { Sessions } from './sessions.js'

type OwnedSession = { userId: string; sessionId: string }

type Dependencies = {
  accountChanges: AccountChanges
  sessions: Pick<Sessions, 'end'>
  sessionLookups: Pick<SessionLookups, 'isLiveForAnyToken'>
  events: Pick<Events, 'record'>
}

export const createLogout = ({ accountChanges, sessions, sessionLookups, events }: Dependencies) => {
  const endOne = async ({ userId, sessionId }: OwnedSession, client: Client) => {
    if (await sessions.end('signed_out', { userId, sessionId }))
      await events.record({ kind: 'signed_out', userId, sessionId }, client)
  }

  return {
    /**
     * Ends the sessions of all cookies: the access token expires first, so the refresh token counts, too. If the cookies name several
     * sessions, one was planted, and all of them end.
     */
    here: async (browserSessions: readonly OwnedSession[], client: Client) => {
      for (const session of browserSessions) await endOne(session, client)
    },
    /** Ends all sessions of the user. A caller whose session ended at another instance a moment ago is refused. */
    everywhere: async (context: CallerContext, refreshTokenSession: OwnedSession | undefined) => {
      const ended = await accountChanges.byCaller(context, 'signed_out_everywhere', async () => ({
        changes: { signed_out_everywhere: {} },
      }))
      // A change of the groups has just replaced this token. The browser renews it and asks again.
      if (isRefused(ended) && (await sessionLookups.isLiveForAnyToken(context.caller))) return refuse('outdated')
      if (refreshTokenSession) await endOne(refreshTokenSession, context.client)
      return ended
    },
  }
}

import type { AccountChanges } from '../account-changes/account-changes.js'
import { describeDevice } from '../contract/device-names.js'
import { refuse } from '../contract/outcome.js'
import type { Session } from '../contract/schemas.js'

import type { CallerContext } from './request-context.js'
import type { SessionLookups } from './session-lookups.js'
import type { SessionCaller, Sessions } from './sessions.js'

type Dependencies = {
  accountChanges: AccountChanges
  sessions: Pick<Sessions, 'end'>
  sessionLookups: Pick<SessionLookups, 'list'>
}

/** The sessions of the caller. Those of another user are not found. */
export const createOwnSessions = ({ accountChanges, sessions, sessionLookups }: Dependencies) => {
  return {
    list: async ({ userId, sessionId }: SessionCaller): Promise<Session[]> => {
      const ownSessions = await sessionLookups.list(userId)
      return ownSessions.map(
        ({ id, ip, userAgent, createdAt, lastUsedAt, methods, provider, administers, application }) => ({
          id,
          ip,
          userAgent,
          ...describeDevice(userAgent),
          createdAt: createdAt.toISOString(),
          lastUsedAt: lastUsedAt.toISOString(),
          current: id === sessionId,
          methods,
          provider,
          administers,
          application,
        }),
      )
    },
    /** Ends a session of the caller. A caller whose own session has just ended at another instance is refused. */
    end: (context: CallerContext, id: string) =>
      accountChanges.byCaller(context, 'session_ended', async (sql, user) =>
        (await sessions.end(sql, 'session_ended', { sessionId: id, userId: user.id }))
          ? { changes: { session_ended: { event: { sessionId: id } } } }
          : refuse('not_found'),
      ),
  }
}

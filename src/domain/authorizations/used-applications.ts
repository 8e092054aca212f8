import { refuse } from '../../contract/outcome.js'
import type { Clock } from '../../lib/clock.js'
import { commitUnlessRefused } from '../../platform/database/commit-unless-refused.js'
import type { Database, Sql } from '../../platform/database/database.js'
import type { Application } from '../applications/application.js'
import type { Events } from '../events/events.js'
import { createSessionLife, type SessionLimits } from '../sessions/live-sessions.js'
import type { CallerContext } from '../sessions/request-context.js'
import type { SessionLookups } from '../sessions/session-lookups.js'
import * as store from './authorizations.store.js'
import { createEndAuthorizations } from './end-authorizations.js'

/** An application that the user has used in a session that lives. */
export type UsedApplication = {
  application: Pick<Application, 'id' | 'name' | 'home'>
  since: Date
  lastUsedAt: Date
}

export type UsedApplications = ReturnType<typeof createUsedApplications>

type Options = SessionLimits & {
  database: Database
  clock: Clock
  events: Pick<Events, 'recordInside'>
  sessionLookups: Pick<SessionLookups, 'lockOfCaller'>
}

/**
 * The applications that a user has used, and how their authorizations end: by the user, or when the right to use them is lost. Accounts
 * need this part of authorizations also while the rest of the provider is not loaded.
 */
export const createUsedApplications = (options: Options) => {
  const { database, sessionLookups } = options
  const { liveNow } = createSessionLife(options)
  const { endOfUser, endWithoutRight } = createEndAuthorizations(options)

  return {
    listOfUser: async (userId: string): Promise<UsedApplication[]> =>
      (await store.selectOfUser(database, userId, liveNow())).map(({ since, last_used_at, ...application }) => ({
        application,
        since,
        lastUsedAt: last_used_at,
      })),

    /** How many users have used it in a session that lives. */
    countUsers: async (sql: Sql, applicationId: string) =>
      (await store.selectUsers(sql, applicationId, liveNow())).length,

    /** The scopes that the user has agreed to share, with the name of the application. */
    consentsOf: async (userId: string) =>
      (await store.selectConsents(database, userId)).map(({ application, scopes, given_at }) => ({
        application,
        scopes,
        givenAt: given_at,
      })),

    /** In all sessions of the caller, with what was agreed to. */
    endByCaller: ({ caller, client }: CallerContext, applicationId: string) =>
      commitUnlessRefused(database, async (sql) => {
        await store.holdUser(sql, caller.userId)
        if (!(await sessionLookups.lockOfCaller(sql, caller))) return refuse('not_authenticated')
        const withdrawn = await store.deleteConsent(sql, caller.userId, applicationId)
        const ended = await endOfUser(sql, caller.userId, applicationId, client)
        return ended + withdrawn.length > 0 ? { ended } : refuse('not_found')
      }),

    endWithoutRight,
  }
}

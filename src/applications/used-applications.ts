import { refuse } from '../contract/outcome.js'
import type { Clock } from '../lib/clock.js'
import type { Events } from '../messages/events.js'
import { commitUnlessRefused, type Database, type Sql } from '../platform/database/database.js'
import { createSessionLife, type SessionLimits } from '../sessions/live-sessions.js'
import type { CallerContext } from '../sessions/session-facts.js'
import type { SessionLookups } from '../sessions/session-lookups.js'
import type { Application } from './application.js'
import * as store from './authorizations.store.js'
import { createEndAuthorizations } from './end-authorizations.js'

/** An application that the user has used in a session that has not ended. */
export type UsedApplication = {
  application: Pick<Application, 'id' | 'name' | 'home'>
  /** It has an address for logout notices. Without one, its own session goes on after the one here has ended. */
  hearsLogouts: boolean
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
 * The applications that a user has used, and how their authorizations end: the user ends them, or the right to use them is lost. Accounts
 * also need this part of authorizations while the OpenID Connect provider is not loaded.
 */
export const createUsedApplications = (options: Options) => {
  const { database, sessionLookups } = options
  const { liveNow } = createSessionLife(options)
  const { endOfUser, endWithoutRight } = createEndAuthorizations(options)

  return {
    listOfUser: async (userId: string): Promise<UsedApplication[]> =>
      (await store.selectOfUser(database, userId, liveNow())).map(
        ({ since, last_used_at, hears_logouts: hearsLogouts, ...application }) => ({
          application,
          hearsLogouts,
          since,
          lastUsedAt: last_used_at,
        }),
      ),

    /** How many users have used the application in a session that has not ended. */
    countUsers: async (sql: Sql, applicationId: string) =>
      (await store.selectUsers(sql, applicationId, liveNow())).length,

    /** The scopes that the user has agreed to share, with the name of the application. */
    consentsOf: async (userId: string) =>
      (await store.selectConsents(database, userId)).map(({ application, scopes, given_at }) => ({
        application,
        scopes,
        givenAt: given_at,
      })),

    /** Ends the application's access in all sessions of the caller, and withdraws the consent. */
    endByCaller: ({ caller, client }: CallerContext, applicationId: string) =>
      commitUnlessRefused(database, async (sql) => {
        await store.holdUser(sql, caller.userId)
        if (!(await sessionLookups.lockOfCaller(sql, caller))) return refuse('not_authenticated')
        const deletedConsents = await store.deleteConsent(sql, caller.userId, applicationId)
        const endedCount = await endOfUser(sql, caller.userId, applicationId, client)
        return endedCount + deletedConsents.length > 0 ? { ended: endedCount } : refuse('not_found')
      }),

    endWithoutRight,
  }
}

import { refuse } from '../contract/outcome.js'
import type { RequestOrigin } from '../http/request-origin.js'
import type { Clock } from '../lib/clock.js'
import type { Events } from '../messages/events.js'
import {
  acceptTransaction,
  commitUnlessRefused,
  type Database,
  type Sql,
  type Transaction,
} from '../platform/database/database.js'
import { liveNow, type SessionLife } from '../sessions/live-sessions.js'
import type { CallerContext } from '../sessions/session-facts.js'
import type { SessionLookups } from '../sessions/session-lookups.js'
import type { Application } from './application-rules.js'
import * as store from './authorizations.store.js'

/** An application that the user has used in a session that has not ended. */
export type UsedApplication = {
  application: { [Name in 'id' | 'name' | 'home']: Application[Name] }
  /** It has an address for logout notices. Without one, its own session goes on after the one here has ended. */
  hearsLogouts: boolean
  since: Date
  lastUsedAt: Date
}

type EndKind = 'application_access_ended' | 'application_token_reused'
type EndedRows = Awaited<ReturnType<typeof store.deleteById>>

type Services = { database: Database; events: Events }

/** Authorizations that end before their session. Their codes and tokens are deleted with them, and the applications are told. */
const recordEnds = async (
  { events }: Services,
  sql: Transaction,
  kind: EndKind,
  endedRows: EndedRows,
  origin: RequestOrigin,
) => {
  for (const { sid: sessionId, user_id: userId, application_name: reason } of endedRows)
    await events.recordInside(sql, { kind, userId, sessionId, reason }, origin)
  return endedRows.length
}

const endOne = (
  services: Services,
  kind: EndKind,
  { id, user_id: userId }: { id: string; user_id: string },
  origin: RequestOrigin,
) =>
  services.database.transaction(async (sql) => {
    await store.holdUser(sql, userId)
    await recordEnds(services, sql, kind, await store.deleteById(sql, id), origin)
  })

const countsOf = (database: Database, now: () => ReturnType<typeof liveNow>) => ({
  /** By the ids of programs: how many sessions of their own they have that have not ended. */
  countSessions: async () => {
    const rows = await store.selectSessionCounts(database, now())
    return new Map(rows.map(({ application_id: id, sessions }) => [id, sessions]))
  },

  /** How many users have used the application in a session that has not ended. */
  countUsers: async (sql: Sql, applicationId: string) => (await store.selectUsers(sql, applicationId, now())).length,
})

export type UsedApplications = ReturnType<typeof createUsedApplications>

/**
 * The applications that a user has used, and how their authorizations end: the user ends them, or the right to use them is lost. Accounts
 * also need this part of authorizations while the OpenID Connect provider is not loaded.
 */
export const createUsedApplications = (
  { database, clock, lifetimes }: SessionLife & { database: Database },
  { events, sessionLookups }: { events: Events; sessionLookups: SessionLookups },
) => {
  const services = { database, events }

  /** Ends the authorization whose code or token was used again. Of several such uses at once, only the first is recorded. */
  const endReused = async (id: string, origin: RequestOrigin) => {
    const [owner] = await store.selectOwner(database, id)
    if (owner) await endOne(services, 'application_token_reused', { id, ...owner }, origin)
  }

  return {
    listOfUser: async (userId: string): Promise<UsedApplication[]> =>
      (await store.selectOfUser(database, userId, liveNow({ clock, lifetimes }))).map(
        ({ since, last_used_at, hears_logouts: hearsLogouts, ...application }) => ({
          application,
          hearsLogouts,
          since,
          lastUsedAt: last_used_at,
        }),
      ),

    ...countsOf(database, () => liveNow({ clock, lifetimes })),

    /** The scopes that the user has agreed to share, with the name of the application. */
    consentsOf: async (userId: string) =>
      (await store.selectConsents(database, userId)).map(({ application, scopes, given_at }) => ({
        application,
        scopes,
        givenAt: given_at,
      })),

    /** Ends the application's access in all sessions of the caller, and withdraws the consent. */
    endByCaller: ({ caller, client: origin }: CallerContext, applicationId: string) =>
      commitUnlessRefused(database, async (sql) => {
        await store.holdUser(sql, caller.userId)
        if (!(await sessionLookups.lockOfCaller(sql, caller))) return refuse('not_authenticated')
        const deletedConsents = await store.deleteConsent(sql, caller.userId, applicationId)
        const endedRows = await store.deleteOfUser(sql, caller.userId, applicationId)
        const endedCount = await recordEnds(services, sql, 'application_access_ended', endedRows, origin)
        return endedCount + deletedConsents.length > 0 ? { ended: endedCount } : refuse('not_found')
      }),

    /**
     * Ends authorizations that are no longer allowed, after a change of the groups of a user or of who may use an application or a resource. The caller
     * holds the row that has changed. Returns how many authorizations ended.
     */
    endWithoutRight: async (
      sql: Transaction,
      filter: { userId: string } | { applicationId: string } | { resourceId: string },
      origin: RequestOrigin,
    ) => recordEnds(services, sql, 'application_access_ended', await store.deleteWithoutRight(sql, filter), origin),

    /** Ends the use of an application by everybody. */
    endOfApplication: async (sql: Transaction, applicationId: string, origin: RequestOrigin) => {
      const endedRows = await store.deleteOfApplication(sql, applicationId)
      return recordEnds(services, sql, 'application_access_ended', endedRows, origin)
    },
    /** Ends every program's use of a resource. */
    endOfResource: async (sql: Transaction, resourceId: string, origin: RequestOrigin) =>
      recordEnds(services, sql, 'application_access_ended', await store.deleteOfResource(sql, resourceId), origin),

    /** Ends the authorization of a device that has signed out. The session of a browser is left alone. */
    endOfDevice: async (sid: string, origin: RequestOrigin) => {
      const [authorization] = await store.selectOfDevice(database, sid)
      if (authorization) await endOne(services, 'application_access_ended', authorization, origin)
    },

    endReused,

    /** The same for the authorization of a device whose code was used again. */
    endReusedDevice: async (sid: string, origin: RequestOrigin) => {
      const [authorization] = await store.selectOfDevice(database, sid)
      if (authorization) await endReused(authorization.id, origin)
    },
  }
}

export type Consents = ReturnType<typeof createConsents>

/**
 * The scopes that users have agreed to share with an application. Consent gives no access: `access` and the groups of the application do.
 */
export const createConsents = ({ database, clock }: { database: Database; clock: Clock }) => ({
  /** Undefined if the user has never agreed. */
  scopesOf: acceptTransaction(database)(
    async (sql, userId: string, applicationId: string): Promise<readonly string[] | undefined> => {
      const [row] = await store.selectScopes(sql, userId, applicationId)
      return row?.scopes
    },
  ),
  give: async (sql: Sql, userId: string, applicationId: string, scopes: readonly string[]) => {
    await store.addScopes(sql, { userId, applicationId, scopes, now: clock.now() })
  },
})

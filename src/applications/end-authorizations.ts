import type { Client } from '../http/request-origin.js'
import type { Events } from '../messages/events.js'
import type { Database, Transaction } from '../platform/database/database.js'
import * as store from './authorizations.store.js'

type EndKind = 'application_access_ended' | 'application_token_reused'
type EndedRows = Awaited<ReturnType<typeof store.deleteById>>

type Dependencies = { database: Database; events: Pick<Events, 'recordInside'> }

/** Ends authorizations before their session ends. Their codes and tokens are deleted with them, and the applications are told. */
export const createEndAuthorizations = ({ database, events }: Dependencies) => {
  const record = async (sql: Transaction, kind: EndKind, endedRows: EndedRows, client: Client) => {
    for (const { sid: sessionId, user_id: userId, application_name: reason } of endedRows)
      await events.recordInside(sql, { kind, userId, sessionId, reason }, client)
    return endedRows.length
  }

  return {
    /** Ends the application's access in all sessions of the user. Returns in how many sessions it was used. */
    endOfUser: async (sql: Transaction, userId: string, applicationId: string, client: Client) => {
      await store.holdUser(sql, userId)
      return record(sql, 'application_access_ended', await store.deleteOfUser(sql, userId, applicationId), client)
    },

    /**
     * Ends authorizations that are no longer allowed, after a change of the groups of a user or of who may use an application. The caller
     * holds the row that has changed. Returns how many authorizations ended.
     */
    endWithoutRight: async (sql: Transaction, filter: { userId: string } | { applicationId: string }, client: Client) =>
      record(sql, 'application_access_ended', await store.deleteWithoutRight(sql, filter), client),

    /** Ends the authorization of a device that has signed out. The session of a browser is left alone. */
    endOfDevice: async (sid: string, client: Client) => {
      const [authorization] = await store.selectOfDevice(database, sid)
      if (!authorization) return
      await database.transaction(async (sql) => {
        await store.holdUser(sql, authorization.user_id)
        await record(sql, 'application_access_ended', await store.deleteById(sql, authorization.id), client)
      })
    },

    /** Ends the authorization whose code or token was used again. Of several such uses at once, only the first is recorded. */
    endReused: async (authorizationId: string, client: Client) => {
      const [owner] = await store.selectOwner(database, authorizationId)
      if (!owner) return
      await database.transaction(async (sql) => {
        await store.holdUser(sql, owner.user_id)
        await record(sql, 'application_token_reused', await store.deleteById(sql, authorizationId), client)
      })
    },
  }
}

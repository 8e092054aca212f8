import type { Clock } from '../../lib/clock.js'
import type { Database, Transaction } from '../../platform/database/database.js'
import type { Application } from '../applications/application.js'
import type { Events } from '../events/events.js'
import type { Client } from '../sessions/client.js'
import { createSessionLife, type SessionLimits } from '../sessions/live-sessions.js'
import type { SessionCaller, Sessions } from '../sessions/sessions.js'
import type { Users } from '../users/users.js'
import * as store from './authorizations.store.js'
import { createIssueCode, type Requested } from './issue-code.js'

export type { Requested } from './issue-code.js'

/** An application that the user has used in a session that lives. */
export type UsedApplication = {
  application: Pick<Application, 'id' | 'name' | 'home'>
  since: Date
  lastUsedAt: Date
}

export type Authorizations = ReturnType<typeof createAuthorizations>

type Options = SessionLimits & {
  database: Database
  clock: Clock
  events: Pick<Events, 'recordInside'>
  users: Pick<Users, 'lockEnabled'>
  sessions: Pick<Sessions, 'lockOfCaller'>
}

/** Which application may act for which session, and the codes and tokens of that. To end one, its row is deleted. */
export const createAuthorizations = (options: Options) => {
  const { database, events } = options
  const issueCodeInside = createIssueCode(options)
  const { liveNow } = createSessionLife(options)

  const recordEnded = async (
    sql: Transaction,
    ended: Awaited<ReturnType<typeof store.deleteById>>,
    client: Client,
    kind: 'application_access_ended' | 'application_token_reused' = 'application_access_ended',
  ) => {
    for (const { sid: sessionId, user_id: userId, application_name: reason } of ended)
      await events.recordInside(sql, { kind, userId, sessionId, reason }, client)
    return ended.length
  }

  return {
    issueCode: (caller: SessionCaller, requested: Requested) =>
      database.transaction((sql) => issueCodeInside(sql, caller, requested)),
    /** In a transaction that holds no row but the user's. */
    issueCodeInside,

    listOfUser: async (userId: string): Promise<UsedApplication[]> =>
      (await store.selectOfUser(database, userId, liveNow())).map(({ since, last_used_at, ...application }) => ({
        application,
        since,
        lastUsedAt: last_used_at,
      })),

    /** In all sessions of the user. Returns how many had used the application. */
    endOfUser: async (sql: Transaction, userId: string, applicationId: string, client: Client) => {
      await store.holdUser(sql, userId)
      return recordEnded(sql, await store.deleteOfUser(sql, userId, applicationId), client)
    },

    /**
     * After a change of the groups of a user, whose row is held, or of who may use an application, whose row is held: ends what it no
     * longer allows. Returns how many.
     */
    endWithoutRight: async (sql: Transaction, of: { userId: string } | { applicationId: string }, client: Client) =>
      recordEnded(sql, await store.deleteWithoutRight(sql, of), client),
  }
}

import type { ProviderId } from '../contract/providers.js'
import type { Clock } from '../lib/clock.js'
import {
  acceptTransaction,
  afterCommit,
  type Database,
  type Sql,
  type Transaction,
} from '../platform/database/database.js'
import type { Ended } from './ended-sessions.js'
import { epochSeconds } from './issue-tokens.js'
import { neverProven } from './proof.js'
import type { EndReason } from './sessions.store.js'
import * as store from './sessions.store.js'

type SessionOwner = { sessionId: string; userId: string }

type Dependencies = {
  database: Database
  clock: Clock
  onEnded: (ended: Ended) => void
}

/** The most sessions of a user, and more than any user needs. A program that signs in again and again must not fill the table. */
const maxSessions = 100

/** Ends sessions, and calls `onEnded` as soon as the end is committed. */
export const createEndings = ({ database, clock, onEnded }: Dependencies) => {
  const optionalTransaction = acceptTransaction(database)

  const announce = (sql: Sql, endedRows: readonly { id: string }[]) =>
    afterCommit(sql, () => {
      for (const { id } of endedRows) onEnded({ sid: id, minGeneration: null })
    })

  return {
    end: optionalTransaction(async (sql, because: EndReason, { sessionId, userId }: SessionOwner) => {
      const ended = await store.deleteRecordOfUser(sql, because, sessionId, userId)
      announce(sql, ended)
      return ended.length > 0
    }),
    /** Ends surplus sessions after a new one has begun, in its transaction. */
    endSurplus: async (sql: Transaction, userId: string, newSessionId: string) => {
      const ended = await store.deleteSurplus(sql, 'signed_in', userId, newSessionId, maxSessions)
      announce(sql, ended)
    },
    /**
     * Ends the sessions that began with a provider, because it is being unlinked. The session of the caller stays, and is not fresh any
     * more.
     */
    endOfProvider: async (
      sql: Transaction,
      because: EndReason,
      { userId, provider, ownSessionId }: { userId: string; provider: ProviderId; ownSessionId: string | undefined },
    ) => {
      const ended = await store.deleteOfProvider(sql, because, userId, provider, ownSessionId ?? null)
      if (ownSessionId !== undefined) await store.setNeverProven(sql, ownSessionId, provider, neverProven)
      announce(sql, ended)
      return ended.length
    },
    /** Ends at most `limit` of all sessions. Returns how many have ended. */
    endSome: async (because: EndReason, limit: number) => {
      const ended = await store.deleteSome(database, because, limit)
      announce(database, ended)
      return ended.length
    },
    /** Ends all sessions of a user, also those that the database does not know since it was restored to an earlier state. */
    endAll: optionalTransaction(async (sql, because: EndReason, userId: string) => {
      const [row] = await store.deleteAllOfUser(sql, because, userId, clock.offset())
      if (!row) throw new Error('A statement that always has a row had none')
      announce(
        sql,
        row.ended.map((id) => ({ id })),
      )
      afterCommit(sql, () => onEnded({ userId, before: epochSeconds(row.accepted_from) }))
      return row.ended.length
    }),
    endOthers: optionalTransaction(async (sql, because: EndReason, userId: string, exceptSessionId: string) => {
      const ended = await store.deleteOthersOfUser(sql, because, userId, exceptSessionId)
      announce(sql, ended)
      return ended.length
    }),
  }
}

import type { ProviderId } from '../../contract/providers.js'
import type { Database, Transaction } from '../../platform/database/database.js'
import type { EndedSession } from './ended-sessions.js'
import { neverProven } from './proof.js'
import type { EndReason } from './sessions.store.js'
import * as store from './sessions.store.js'

type SessionOwner = { sessionId: string; userId: string }

type Dependencies = {
  database: Database
  onEnded: (ended: EndedSession) => void
}

/** More than any user needs. A program that signs in again and again must not fill the table. */
const mostSessions = 100

/** Ends sessions, and says so as soon as that is committed. */
export const createEndings = ({ database, onEnded }: Dependencies) => {
  const tell = (ids: string[]) => {
    for (const sid of ids) onEnded({ sid, minGeneration: null })
  }

  const tellOnceDone = (ended: { id: string }[], sql?: Transaction) => {
    const ids = ended.map(({ id }) => id)
    if (sql) sql.afterCommit(() => tell(ids))
    else tell(ids)
  }

  return {
    end: async (because: EndReason, { sessionId, userId }: SessionOwner, sql?: Transaction) => {
      const ended = await store.deleteRecordOfUser(sql ?? database, because, sessionId, userId)
      tellOnceDone(ended, sql)
      return ended.length > 0
    },
    /** After a new one has begun, in its transaction: others end. */
    endSurplus: async (sql: Transaction, userId: string, begun: string) => {
      const ended = await store.deleteSurplus(sql, 'signed_in', userId, begun, mostSessions)
      tellOnceDone(ended, sql)
    },
    /** Those that began with this provider: it is being unlinked. The one of the caller stays, and is not fresh any more. */
    endOfProvider: async (
      sql: Transaction,
      because: EndReason,
      { userId, provider, own }: { userId: string; provider: ProviderId; own: string | undefined },
    ) => {
      const ended = await store.deleteOfProvider(sql, because, userId, provider, own ?? null)
      if (own !== undefined) await store.setNeverProven(sql, own, provider, neverProven)
      tellOnceDone(ended, sql)
      return ended.length
    },
    /** A part of all sessions there are; returns how many. */
    endSome: async (because: EndReason, limit: number) => {
      const ended = await store.deleteSome(database, because, limit)
      tellOnceDone(ended)
      return ended.length
    },
    endAll: async (
      because: EndReason,
      userId: string,
      { except, sql }: { except?: string | undefined; sql?: Transaction } = {},
    ) => {
      const ended = await store.deleteAllOfUser(sql ?? database, because, userId, except ?? null)
      tellOnceDone(ended, sql)
      return ended.length
    },
  }
}

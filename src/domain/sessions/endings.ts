import type { Database, Transaction } from '../../platform/database/database.js'
import type { EndedSession } from './ended-sessions.js'
import * as store from './sessions.store.js'

type Dependencies = { database: Database; onEnded: (ended: EndedSession) => void }

/** Ends sessions, and says so as soon as that is committed. */
export const createEndings = ({ database, onEnded }: Dependencies) => {
  const tell = (ids: string[]) => {
    for (const sid of ids) onEnded({ sid, below: null })
  }

  return {
    endById: async (id: string) => {
      const [row] = await store.deleteRecord(database, id)
      if (row) tell([id])
      return row
    },
    end: async (id: string, userId: string) => {
      const ended = await store.deleteRecordOfUser(database, id, userId)
      tell(ended.map((row) => row.id))
      return ended.length > 0
    },
    endAll: async (userId: string, { except, sql }: { except?: string; sql?: Transaction } = {}) => {
      const ended = await store.deleteAllOfUser(sql ?? database, userId, except ?? null)
      const ids = ended.map(({ id }) => id)
      if (sql) sql.afterCommit(() => tell(ids))
      else tell(ids)
      return ids.length
    },
  }
}

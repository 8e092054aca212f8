import type { Database } from '../../platform/database/database.js'
import * as store from './logout-notices.store.js'

type WaitingNotice = {
  id: string
  applicationId: string
  userId: string
  createdAt: Date
  attempts: number
  /** Null when it was given up. */
  nextAttemptAt: Date | null
  failure: string | null
}

const fromRow = (row: store.WaitingRow): WaitingNotice => ({
  id: row.id,
  applicationId: row.application_id,
  userId: row.user_id,
  createdAt: row.created_at,
  attempts: row.attempts,
  nextAttemptAt: row.next_attempt_at,
  failure: row.failure,
})

export type LogoutNotices = ReturnType<typeof createLogoutNotices>

/**
 * Ended sessions that applications have still to be told of (back-channel logout). Triggers write them, with whatever ends the
 * session; `createLogoutNoticeSender` sends them.
 */
export const createLogoutNotices = ({ database }: { database: Database }) => {
  const count = async () => {
    const [row] = await store.count(database)
    return { waiting: row?.waiting ?? 0, givenUp: row?.given_up ?? 0 }
  }

  return {
    count,
    countWaiting: async () => (await count()).waiting,
    oldest: async (applicationId: string, limit: number) =>
      (await store.selectOldest(database, applicationId, limit)).map(fromRow),
  }
}

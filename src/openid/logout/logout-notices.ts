import type { Clock } from '../../lib/clock.js'
import { days } from '../../lib/durations.js'
import type { Database } from '../../platform/database/database.js'
import * as store from './logout-notices.store.js'

type WaitingNotice = {
  id: string
  applicationId: string
  userId: string
  createdAt: Date
  attempts: number
  /** Null after the notice was given up. */
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

/**
 * `oldest`: how long the oldest notice has waited, in seconds. `refused`: the application has refused a notice with status 400 in the last
 * day. `refusedWith`: it refuses those that wait, with this status.
 */
export type LogoutNoticeState = {
  name: string
  waiting: number
  oldest: number
  givenUp: number
  refused: boolean
  refusedWith: number | undefined
}

/** “Ask later”, which is about the application and not about the notice. */
const askLater = [408, 425, 429]
/** The application is there and does not take this notice: it redirects, knows no such address, or asks for a sign-in. */
export const isRefusal = (status: number) => status >= 300 && status < 500 && !askLater.includes(status)

/** The status in a stored failure, if the application refused the notice with it. */
const refusalIn = (failure: string | null) => {
  const status = Number(/^answered (\d+)$/.exec(failure ?? '')?.[1])
  return isRefusal(status) ? status : undefined
}

export type LogoutNotices = ReturnType<typeof createLogoutNotices>

/**
 * Ended sessions that applications have still to be told of (back-channel logout). Triggers write the notices when a session ends, for
 * whatever reason, and `createLogoutNoticeSender` sends them.
 */
export const createLogoutNotices = ({ database, clock }: { database: Database; clock: Clock }) => {
  const count = async () => {
    const [row] = await store.count(database)
    return { waiting: row?.waiting ?? 0, givenUp: row?.given_up ?? 0 }
  }

  return {
    count,
    countWaiting: async () => (await count()).waiting,
    oldestWaitSeconds: async () => {
      const [row] = await store.oldestWaitSeconds(database, clock.offset())
      return row?.seconds ?? 0
    },
    /** The state of each application. Applications with no notice and no refusal are left out. */
    states: async (): Promise<LogoutNoticeState[]> => {
      const rows = await store.selectStates(database, { refusedWithin: 1 * days, offset: clock.offset() })
      return rows.map(({ oldest, given_up: givenUp, failure, ...row }) => ({
        ...row,
        oldest: oldest ?? 0,
        givenUp,
        refusedWith: refusalIn(failure),
      }))
    },
    /** The applications that have not been told of an ended session of this user. */
    untoldOf: async (userId: string) =>
      (await store.selectUntold(database, userId)).map(({ name, given_up: givenUp }) => ({ name, givenUp })),
    oldest: async (applicationId: string, limit: number) =>
      (await store.selectOldest(database, applicationId, limit)).map(fromRow),
  }
}

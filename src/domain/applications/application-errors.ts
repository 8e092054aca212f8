import type { Clock } from '../../lib/clock.js'
import { minutes } from '../../lib/durations.js'
import type { Database } from '../../platform/database/database.js'
import type { Log } from '../../platform/log.js'
import * as store from './application-errors.store.js'

/** So many different ones are kept for each application. */
const keptErrors = 20
const writtenEvery = 1 * minutes
/** Requests choose parts of the sentences, so the memory for them needs a bound. */
const mostRemembered = 1_000

export type ApplicationError = { message: string; count: number; seenAt: Date }

export type ApplicationErrors = ReturnType<typeof createApplicationErrors>

type Dependencies = { database: Database; clock: Clock; log: Log }

/** Requests choose the values in sentences: a flood of different ones must not become a flood of writes. */
const createWriteLimit = () => {
  const written = new Map<string, { since: number; count: number }>()
  return (applicationId: string, now: number) => {
    const last = written.get(applicationId)
    const current = last && now - last.since < writtenEvery ? last : { since: now, count: 0 }
    written.set(applicationId, current)
    current.count += 1
    return current.count <= keptErrors
  }
}

/** What applications did wrong lately, in plain words, for the operator who asks why a sign-in does not work. */
export const createApplicationErrors = ({ database, clock, log }: Dependencies) => {
  /** When each sentence was last written, the oldest first, and how often it was noted since. */
  const remembered = new Map<string, { writtenAt: number; unwritten: number }>()
  const mayWrite = createWriteLimit()

  const write = async (applicationId: string, message: string, count: number) => {
    await store.upsertError(database, applicationId, message, count, clock.now())
    await store.deleteOldErrors(database, applicationId, keptErrors)
  }

  return {
    /**
     * Never delays or fails the caller. Each sentence is written at most once a minute, and no more of an application than are
     * kept; those in between are counted with the next write. Values in it come from `quoted`.
     */
    note: (applicationId: string, sentence: string) => {
      const key = `${applicationId} ${sentence}`
      const now = clock.now().getTime()
      const last = remembered.get(key)
      if (last && now - last.writtenAt < writtenEvery) {
        last.unwritten += 1
        return
      }
      if (!mayWrite(applicationId, now)) return
      remembered.delete(key)
      remembered.set(key, { writtenAt: now, unwritten: 0 })
      const [oldest] = remembered.keys()
      if (remembered.size > mostRemembered && oldest !== undefined) remembered.delete(oldest)
      write(applicationId, sentence, 1 + (last?.unwritten ?? 0)).catch((err: unknown) =>
        log.warn({ err }, 'an error of an application could not be written'),
      )
    },

    /** The latest first. */
    list: async (applicationId: string): Promise<ApplicationError[]> =>
      (await store.selectErrors(database, applicationId)).map(({ message, count, seen_at }) => ({
        message,
        count,
        seenAt: seen_at,
      })),
  }
}

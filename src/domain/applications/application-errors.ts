import type { Clock } from '../../lib/clock.js'
import { minutes } from '../../lib/durations.js'
import type { Database } from '../../platform/database/database.js'
import type { Log } from '../../platform/log.js'
import * as store from './application-errors.store.js'

/**
 * What an error is about, and how many different ones of it are kept for each application: 20 together. Anybody can cause those of
 * addresses, requests and clients, and must not be able to crowd out the others.
 */
const kept = {
  redirect_address: 3,
  request: 4,
  client: 3,
  grant: 5,
  logout_address: 2,
  logout_notice: 2,
  /** A notice that was answered with 400, and is not sent again. */
  logout_refused: 1,
  /** No error: a request that ended without a code, as it may. Only counted, by the word that the application was told. */
  normal_end: 8,
} as const
export type ErrorKind = keyof typeof kept
const normalEnd: ErrorKind = 'normal_end'

const writtenEvery = 1 * minutes
/** Requests choose parts of the sentences, so the memory for them needs a bound. */
const mostRemembered = 1_000

export type ApplicationErrors = ReturnType<typeof createApplicationErrors>

type Dependencies = { database: Database; clock: Clock; log: Log }

/** Requests choose the values in sentences: a flood of different ones must not become a flood of writes. */
const createWriteLimit = () => {
  const written = new Map<string, { since: number; count: number }>()
  return (applicationId: string, kind: ErrorKind, now: number) => {
    const key = `${applicationId} ${kind}`
    const last = written.get(key)
    const current = last && now - last.since < writtenEvery ? last : { since: now, count: 0 }
    written.set(key, current)
    current.count += 1
    return current.count <= kept[kind]
  }
}

/** What applications did wrong lately, in plain words, for the operator who asks why a sign-in does not work. */
export const createApplicationErrors = ({ database, clock, log }: Dependencies) => {
  /** When each sentence was last written, the oldest first, and how often it was noted since. */
  const remembered = new Map<string, { writtenAt: number; unwritten: number }>()
  const mayWrite = createWriteLimit()

  const write = async (applicationId: string, kind: ErrorKind, message: string, count: number) => {
    await store.upsertError(database, { applicationId, kind, message, count, now: clock.now() })
    await store.deleteOldErrors(database, applicationId, kind, kept[kind])
  }

  return {
    /**
     * Never delays or fails the caller. Each sentence is written at most once a minute, and no more of a kind than are
     * kept; those in between are counted with the next write. Values in it come from `quoted`.
     */
    note: (applicationId: string, kind: ErrorKind, sentence: string) => {
      const key = `${applicationId} ${sentence}`
      const now = clock.now().getTime()
      const last = remembered.get(key)
      if (last && now - last.writtenAt < writtenEvery) {
        last.unwritten += 1
        return
      }
      if (!mayWrite(applicationId, kind, now)) return
      remembered.delete(key)
      remembered.set(key, { writtenAt: now, unwritten: 0 })
      const [oldest] = remembered.keys()
      if (remembered.size > mostRemembered && oldest !== undefined) remembered.delete(oldest)
      write(applicationId, kind, sentence, 1 + (last?.unwritten ?? 0)).catch((err: unknown) =>
        log.warn({ err }, 'an error of an application could not be written'),
      )
    },

    /** The latest first: errors, and how often requests ended without a code although nothing was wrong. */
    list: async (applicationId: string) => {
      const rows = (await store.selectErrors(database, applicationId)).map(({ seen_at: seenAt, ...row }) => ({
        ...row,
        seenAt,
      }))
      return {
        errors: rows.filter(({ kind }) => kind !== normalEnd),
        normalEnds: rows.filter(({ kind }) => kind === normalEnd),
      }
    },
  }
}

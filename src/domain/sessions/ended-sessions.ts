import type { Clock } from '../../lib/clock.js'
import { seconds } from '../../lib/durations.js'
import { withTimeout } from '../../lib/with-timeout.js'
import { type Database, type Sql, StoreUnavailable } from '../../platform/database/database.js'
import { createReadingRounds } from '../../platform/reading-rounds.js'
import type { AccessClaims } from '../tokens/claims.js'
import { createEndedList, type EndedSession, retention } from './ended-list.js'
import * as store from './ended-sessions.store.js'
import { createEndedSince } from './ended-since.js'
import { cursorAfter, firstCursor, isContinuation, type Reading, type SnapshotCursor } from './snapshot-cursor.js'

export type { EndedSession } from './ended-list.js'

/** From the start of one reading to the start of the next: every end is known everywhere within two seconds. */
const interval = 1 * seconds

/** So many entries are read at once. They take some milliseconds of this process, in which it answers no request. */
const pageSize = 5_000

/** Rows are deleted by the index on their age, so that a batch may be larger than the usual one. */
const purgeBatches = 10

type Log = { warn(details: object, message: string): void; info(details: object, message: string): void }
type Dependencies = { database: Database; clock: Clock; log: Log }

/** The list and those who wait for the next entry of it. */
const createWaitableList = (clock: Clock) => {
  const list = createEndedList(() => clock.now().getTime())
  const waiting = new Set<() => void>()
  return {
    list,
    add: (ended: EndedSession) => {
      if (!list.add(ended)) return
      for (const wake of waiting) wake()
    },
    /** True as soon as an entry is added, false if there is none for so long. */
    wait: async (milliseconds: number) => {
      let tell = () => {}
      const entryAdded = new Promise<boolean>((resolve) => {
        tell = () => resolve(true)
        waiting.add(tell)
      })
      try {
        return await withTimeout(entryAdded, milliseconds, () => false)
      } finally {
        waiting.delete(tell)
      }
    },
  }
}

/** Adds all entries, and later those that are new. */
const createReader = (database: Database, add: (ended: EndedSession) => void) => {
  let last: Reading | undefined

  /** All pages from a cursor on. What commits in the meantime is not in the first snapshot, so the next reading finds it. */
  const readFrom = async (from: SnapshotCursor): Promise<Reading> => {
    let first: Reading | undefined
    for (let next = from; ; ) {
      const page = await store.selectNewEntries(database, next, pageSize)
      for (const [sid, minGeneration] of page.entries) add({ sid, minGeneration })
      first ??= page
      const previous = last ?? first
      if (!isContinuation(previous, page)) {
        last = undefined
        return readFrom(firstCursor)
      }
      if (!page.last || page.entries.length < pageSize) return first
      next = { ...next, ...page.last }
    }
  }

  return async () => {
    try {
      const { server, snapshot } = await readFrom(last ? cursorAfter(last.snapshot) : firstCursor)
      last = { server, snapshot }
    } catch (error) {
      // The server may have recovered from a crash, and use its last numbers a second time: all entries are read again.
      last = undefined
      throw error
    }
  }
}

const messages = {
  failing: 'ended sessions cannot be read: going on with those that are known',
  recovered: 'ended sessions are read again',
}

export type EndedSessions = ReturnType<typeof createEndedSessions>

/**
 * The sessions that have ended while access tokens of them may still be valid. The database has the list; each process has a
 * copy in memory, which the access check asks, and reads once a second what is new.
 */
export const createEndedSessions = ({ database, clock, log }: Dependencies) => {
  const { list, add, wait } = createWaitableList(clock)
  const readNews = createReader(database, add)
  /** When the last complete reading began. */
  let readAt: number | undefined

  const read = async () => {
    const began = performance.now()
    await readNews()
    readAt = began
    list.forgetOld()
  }

  return {
    /** Reads all entries. An instance that has not done so does not know which tokens to refuse. */
    load: read,
    ...createReadingRounds({ read, interval, messages, log }),
    /** For the access check: asks no store. */
    refusesToken: ({ sid, gen }: Pick<AccessClaims, 'sid' | 'gen'>) => {
      if (readAt === undefined) throw new StoreUnavailable('The ended sessions have not been read yet')
      return list.has(sid, gen)
    },
    /** For refresh tokens, which a browser may go on sending after its session has ended. */
    hasEnded: list.hasEnded,
    /** Refuses at once what this instance has ended itself. Only for what is committed. */
    add,
    /** For verifiers in other programs: what ended since the last answer, and a way to wait for the next end. */
    since: createEndedSince({ database, clock }),
    waitForNews: wait,
    /** How old the list is, in seconds; undefined before it was read. */
    age: () => (readAt === undefined ? undefined : (performance.now() - readAt) / seconds),
    size: list.size,
    /** The result is counted in units of the usual batch: a full one tells the caller that there is more to delete. */
    purge: async (sql: Sql, limit: number) =>
      (await store.deleteOld(sql, clock.offset(), retention, limit * purgeBatches)).length / purgeBatches,
  }
}

import type { Clock } from '../lib/clock.js'
import { seconds } from '../lib/durations.js'
import { withTimeout } from '../lib/timing.js'

import { type Database, type Sql, StoreUnavailable } from '../platform/database/database.js'
import { createReadingRounds } from '../platform/rounds.js'

import type { AccessClaims } from './claims.js'
import { asEntry, createEndedList, type Ended, endOf, everyUser, retention } from './ended-list.js'
import * as store from './ended-sessions.store.js'
import { createEndedSince } from './ended-since.js'
import { cursorAfter, firstCursor, isContinuation, type Reading, type SnapshotCursor } from './snapshot-cursor.js'

export type { Ended } from './ended-list.js'

/** The time from the start of one reading to the start of the next. So every end is known everywhere within two seconds. */
const interval = 1 * seconds

/** How long a request may be under way with the cookies from before a sign-in. */
const longestOverlap = 30 * seconds

/** How many entries are read at once. Adding them takes some milliseconds, in which this process answers no request. */
const pageSize = 5_000

/** Rows are found by the index on their age, so a batch may be this many times larger than usual. */
const purgeBatches = 10

type Log = { warn(details: object, message: string): void; info(details: object, message: string): void }
type Dependencies = { database: Database; clock: Clock; log: Log }

/** The list, and a way to wait for its next entry. */
const createWaitableList = (clock: Clock) => {
  const list = createEndedList(() => clock.now().getTime())
  const waiting = new Set<() => void>()
  return {
    list,
    add: (ended: Ended) => {
      if (!list.add(asEntry(ended))) return
      for (const wake of waiting) wake()
    },
    /** True as soon as an entry is added, false if none is added within this time. */
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

/** Adds all entries at the first reading, and later only new ones. */
const createReader = (database: Database, add: (ended: Ended) => void) => {
  let lastReading: Reading | undefined

  /** Reads all pages from a cursor on. Entries that commit meanwhile are not in the first snapshot, so the next reading finds them. */
  const readFrom = async (from: SnapshotCursor): Promise<Reading> => {
    let first: Reading | undefined
    for (let next = from; ; ) {
      const page = await store.selectNewEntries(database, next, pageSize)
      for (const entry of page.entries) add(endOf(entry))
      first ??= page
      const previous = lastReading ?? first
      if (!isContinuation(previous, page)) {
        lastReading = undefined
        return readFrom(firstCursor)
      }
      if (!page.last || page.entries.length < pageSize) return first
      next = { ...next, ...page.last }
    }
  }

  return async () => {
    try {
      const { server, snapshot } = await readFrom(lastReading ? cursorAfter(lastReading.snapshot) : firstCursor)
      lastReading = { server, snapshot }
    } catch (error) {
      // All entries are read again: the server may have recovered from a crash, and use its last numbers a second time.
      lastReading = undefined
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
 * The sessions that have ended while access tokens of them may still be valid. The list is in the database. Each process has a copy in
 * memory for the access check, and reads new entries once a second.
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
    /** Reads all entries. Before that, an instance does not know which tokens to refuse. */
    load: read,
    ...createReadingRounds({ read, interval, messages, log }),
    /** Whether the access check refuses a token. It needs no query. */
    refusesToken: ({ sid, gen, userId, iat }: Pick<AccessClaims, 'sid' | 'gen' | 'userId' | 'iat'>) => {
      if (readAt === undefined) throw new StoreUnavailable('The ended sessions have not been read yet')
      return list.has(sid, gen) || list.has(userId, iat) || list.has(everyUser, iat)
    },
    /** Whether a session has ended, for refresh tokens that a browser may go on sending. */
    hasEnded: list.hasEnded,
    /** Whether a sign-in in the same browser has just replaced the session. The browser may have the cookies of the new one already. */
    wasJustReplaced: async (sid: string) => (await store.selectEndedBySignIn(database, sid, longestOverlap)).length > 0,
    /** Adds a session that this instance has ended itself, so that it is refused at once. Only for ends that are committed. */
    add,
    /** For verifiers in other programs: the sessions that ended since the last answer, and a way to wait for the next end. */
    since: createEndedSince({ database, clock }),
    waitForNews: wait,
    /** How old the list is, in seconds. Undefined before it was read. */
    age: () => (readAt === undefined ? undefined : (performance.now() - readAt) / seconds),
    size: list.size,
    /** The result is in units of the usual batch, so that a full batch tells the caller that there is more to delete. */
    purge: async (sql: Sql, limit: number) =>
      (await store.deleteOld(sql, clock.offset(), retention, limit * purgeBatches)).length / purgeBatches,
  }
}

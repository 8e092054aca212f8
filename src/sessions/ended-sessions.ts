import type { Clock } from '../lib/clock.js'
import { minutes, seconds } from '../lib/durations.js'
import { withTimeout } from '../lib/timing.js'
import { isUuid, nilUuid } from '../lib/uuid.js'
import { type Database, type Sql, StoreUnavailable } from '../platform/database/database.js'
import { createReadingRounds } from '../platform/rounds.js'
import type { NewEntries, SnapshotCursor } from './ended-sessions.store.js'
import * as store from './ended-sessions.store.js'

/** Access tokens of the session with a lower `gen` are refused. Null refuses all of them. */
export type EndedSession = { sid: string; minGeneration: number | null }

/** Access tokens of the user that were issued before this second are refused, whatever session they are of. */
type EndedUser = { userId: string; before: number }

/** In the place of a user: the entry is about the tokens of all users. A restore writes it. */
export const everyUser = nilUuid

/** The end of a session, or of all sessions of a user. */
export type Ended = EndedSession | EndedUser

/**
 * In memory both are alike: an id, and a number. A token is refused if its `gen` is lower than the number of its session, or its `iat` lower
 * than that of its user. Both fit into 32 bits, and no session has the id of a user.
 */
export const asEntry = (ended: Ended): EndedSession =>
  'userId' in ended ? { sid: ended.userId, minGeneration: ended.before } : ended

/** An entry of the database. */
const endOf = ([id, minGeneration, before]: NewEntries['entries'][number]): Ended =>
  before === null ? { sid: id, minGeneration } : { userId: id, before }

/** A number that is higher than the generation of any token. */
const everyGeneration = 2 ** 32 - 1

/**
 * How long an entry is kept after it was added. An access token is valid for 15 minutes, and for 20 if the clock of the
 * instance that signed it is 5 minutes ahead.
 */
const retention = 20 * minutes

/** Entries are forgotten a slice at a time, so that nothing is searched or moved. */
const sliceLength = 5 * minutes

// A slot has the four words of a session id, and then `minGeneration`, which is 0 in a free slot.
const slotWords = 5
const minGenerationAt = 4
const firstSlots = 1_024
const maxFilled = 0.75
const growth = 1.5

/** The filter has a bit for each value of the first 23 bits of a word. */
const filterBytes = 2 ** 23 / 8

const digits = new Uint8Array(128)
for (const [value, digit] of [...'0123456789abcdef'].entries()) digits[digit.charCodeAt(0)] = value

/** One buffer for the keys of all ids. A key is read before the next one is written. */
const key = new Uint32Array(4)

const fourDigits = (text: string, at: number) =>
  (digitAt(text, at) << 12) | (digitAt(text, at + 1) << 8) | (digitAt(text, at + 2) << 4) | digitAt(text, at + 3)

const digitAt = (text: string, at: number) => digits[text.charCodeAt(at)] ?? 0

const lastWord = (sid: string) => (fourDigits(sid, 28) << 16) | fourDigits(sid, 32)

/** Writes the id into `key` as four numbers. A loop over its digits would take half as long again, at every access check. */
const readKey = (sid: string) => {
  key[0] = (fourDigits(sid, 0) << 16) | fourDigits(sid, 4)
  key[1] = (fourDigits(sid, 9) << 16) | fourDigits(sid, 14)
  key[2] = (fourDigits(sid, 19) << 16) | fourDigits(sid, 24)
  key[3] = lastWord(sid)
}

const copyWords = (from: Uint32Array, fromAt: number, to: Uint32Array, toAt: number) => {
  for (let word = 0; word < 4; word += 1) to[toAt + word] = from[fromAt + word] ?? 0
}

/**
 * A hash table in one block of numbers, because every access check asks it. Slices of a Map, as in `@latchkey/verify`, would be a fifth of
 * the code. Measured side by side, for 1,000, 100,000 and 1,000,000 ended sessions: a lookup takes 0.07, 0.1 and 0.6 µs instead of 0.3, 2
 * and 5. A million take 22 MB instead of 101, and a full garbage collection 8 ms instead of 139.
 */
const createTable = () => {
  let slots = firstSlots
  let words = new Uint32Array(slots * slotWords)
  let usedSlots = 0

  const isKeyAt = (place: number) =>
    words[place + 3] === key[3] && words[place + 2] === key[2] && words[place + 1] === key[1] && words[place] === key[0]

  /**
   * The place of the slot that has the key, or that is free for it. The last two words of a session id are random, so keys spread evenly.
   */
  const find = () => {
    let at = Math.floor((((key[2] ?? 0) ^ (key[3] ?? 0)) >>> 0) * (slots / 2 ** 32))
    for (;;) {
      const place = at * slotWords
      if (words[place + minGenerationAt] === 0 || isKeyAt(place)) return place
      at = at + 1 === slots ? 0 : at + 1
    }
  }

  const write = (minGeneration: number) => {
    const place = find()
    if (words[place + minGenerationAt] === 0) usedSlots += 1
    copyWords(key, 0, words, place)
    words[place + minGenerationAt] = minGeneration
  }

  const grow = () => {
    const old = words
    slots = Math.ceil(slots * growth)
    words = new Uint32Array(slots * slotWords)
    usedSlots = 0
    for (let place = 0; place < old.length; place += slotWords) {
      const minGeneration = old[place + minGenerationAt] ?? 0
      if (minGeneration === 0) continue
      copyWords(old, place, key, 0)
      write(minGeneration)
    }
  }

  return {
    /** The `minGeneration` of the key. 0 if the key is not in the table. */
    minGenerationOfKey: () => words[find() + minGenerationAt] ?? 0,
    setKey: (minGeneration: number) => {
      if (usedSlots + 1 > slots * maxFilled) {
        const newKey = key.slice()
        grow()
        key.set(newKey)
      }
      write(minGeneration)
    },
    eachLastWord: (tell: (word: number) => void) => {
      for (let place = 0; place < words.length; place += slotWords)
        if (words[place + minGenerationAt] !== 0) tell(words[place + 3] ?? 0)
    },
    size: () => ({ entries: usedSlots, bytes: words.byteLength }),
  }
}

/**
 * One bit for each last word of an id, with few collisions. Nearly all sessions have not ended, and one look at the filter says so. The
 * filter fits into the caches of a processor. A lookup in each of the tables takes ten times as long.
 */
const createFilter = () => {
  let bits = new Uint32Array(0)
  const bitOf = (word: number) => 1 << ((word >>> 9) & 31)
  return {
    mayHave: (word: number) => ((bits[word >>> 14] ?? 0) & bitOf(word)) !== 0,
    add: (word: number) => {
      if (bits.length === 0) bits = new Uint32Array(filterBytes / 4)
      bits[word >>> 14] = (bits[word >>> 14] ?? 0) | bitOf(word)
    },
    clear: () => {
      bits = new Uint32Array(0)
    },
    bytes: () => bits.byteLength,
  }
}

type Slice = { from: number; table: ReturnType<typeof createTable> }

/**
 * The sessions that ended in the last minutes, in memory. An entry takes at most 40 bytes, and the filter 1 MB. A million sessions that end
 * within 15 minutes take 41 MB at most, and 68 MB if sessions go on ending at that rate. No entry is forgotten early, however many there
 * are.
 */
export const createEndedList = (now: () => number) => {
  /** The slices of the list, the newest first. */
  let slices: Slice[] = []
  const filter = createFilter()

  const forgetOld = () => {
    const oldest = now() - sliceLength - retention
    if ((slices.at(-1)?.from ?? now()) > oldest) return
    slices = slices.filter(({ from }) => from > oldest)
    filter.clear()
    for (const { table } of slices) table.eachLastWord(filter.add)
  }

  const newest = (): Slice => {
    const [slice] = slices
    if (slice && now() < slice.from + sliceLength) return slice
    const next = { from: now(), table: createTable() }
    slices = [next, ...slices]
    return next
  }

  const minGenerationOf = (sid: string) => {
    if (!filter.mayHave(lastWord(sid))) return 0
    readKey(sid)
    let minGeneration = 0
    for (const { table } of slices) minGeneration = Math.max(minGeneration, table.minGenerationOfKey())
    return minGeneration
  }

  return {
    has: (sid: string, generation: number) => generation < minGenerationOf(sid),
    /** Whether the session has ended, and not only its earlier tokens. */
    hasEnded: (sid: string) => minGenerationOf(sid) === everyGeneration,
    /** False if the entry was known already. */
    add: ({ sid, minGeneration }: EndedSession) => {
      const least = minGeneration ?? everyGeneration
      if (minGenerationOf(sid) >= least) return false
      forgetOld()
      readKey(sid)
      newest().table.setKey(least)
      filter.add(lastWord(sid))
      return true
    },
    forgetOld,
    size: () => {
      const tables = slices.map(({ table }) => table.size())
      const sum = (values: number[]) => values.reduce((total, value) => total + value, 0)
      return {
        entries: sum(tables.map(({ entries }) => entries)),
        bytes: filter.bytes() + sum(tables.map(({ bytes }) => bytes)),
      }
    },
  }
}

const firstCursor: SnapshotCursor = { seen: null, xact: '0', sid: nilUuid }

/** The oldest transaction that was still open. New entries have its number or a higher one. */
const oldestOpen = (snapshot: string) => snapshot.slice(0, snapshot.indexOf(':'))

/** @public for bench/measures/scale */
export const cursorAfter = (snapshot: string): SnapshotCursor => ({
  seen: snapshot,
  xact: oldestOpen(snapshot),
  sid: nilUuid,
})

/** A reading of the list: which server answered, and the snapshot that it saw. */
type Reading = { server: string; snapshot: string; applicationChanges: number }

type Snapshot = Pick<Reading, 'server' | 'snapshot'>

/** False on another server, after a restart, and after the server was set back: its numbers mean other transactions. */
const isContinuation = (earlier: Snapshot, later: Snapshot) =>
  earlier.server === later.server && BigInt(oldestOpen(later.snapshot)) >= BigInt(oldestOpen(earlier.snapshot))

/** The most entries of one answer. An answer with so many is followed by another. */
const maxEntries = 10_000

/** Entries are kept for 20 minutes. The other 10 minutes are for differences between the clocks of instances. */
const cursorLifetime = 10 * minutes

/**
 * How far a program has read. The cursor has all that is needed, so that any instance can continue. While a list takes several answers,
 * `firstSnapshot` is the snapshot of the first answer: entries that commit meanwhile are given after the list. Otherwise it is null.
 */
type Cursor = { at: number; server: string; place: SnapshotCursor; firstSnapshot: string | null }

/**
 * A snapshot names every open transaction. If there are very many, a short snapshot makes the next answer repeat all entries since the
 * oldest of these transactions.
 */
const longestSnapshot = 1_000
const shortened = (snapshot: string) =>
  snapshot.length <= longestSnapshot ? snapshot : snapshot.replace(/^(\d+):.*/, '$1:$1:')

const snapshotShape = /^[1-9]\d{0,17}:[1-9]\d{0,17}:(?:\d{1,18}(?:,\d{1,18})*)?$/

/** Checks a snapshot as the database does: the numbers of the open transactions rise, and are between the other two numbers. */
const isSnapshot = (text: unknown): text is string => {
  if (typeof text !== 'string' || text.length > longestSnapshot || !snapshotShape.test(text)) return false
  const [oldest = '', next = '', open = ''] = text.split(':')
  const numbers = [oldest, ...open.split(',').filter(Boolean)].map(BigInt)
  const rises = numbers.every((number, at) => at === 0 || number >= (numbers[at - 1] ?? 0n))
  const last = numbers.at(-1) ?? 0n
  return rises && (numbers.length === 1 ? last <= BigInt(next) : last < BigInt(next))
}

const writeCursor = ({ at, server, place, firstSnapshot }: Cursor) =>
  Buffer.from(JSON.stringify([at, server, place.seen, place.xact, place.sid, firstSnapshot])).toString('base64url')

/** Reads a cursor. Undefined if this service has not written it, or too long ago. */
const readCursor = (text: string, now: Date): Cursor | undefined => {
  const [at, server, seen, xact, sid, firstSnapshot] = parse(text)
  if (typeof at !== 'number' || Math.abs(now.getTime() - at) > cursorLifetime) return undefined
  if (typeof server !== 'string' || typeof xact !== 'string' || !/^\d{1,18}$/.test(xact)) return undefined
  if (typeof sid !== 'string' || !isUuid(sid)) return undefined
  if (!(seen === null || isSnapshot(seen)) || !(firstSnapshot === null || isSnapshot(firstSnapshot))) return undefined
  return { at, server, place: { seen, xact, sid }, firstSnapshot }
}

const parse = (text: string): unknown[] => {
  try {
    const value: unknown = JSON.parse(Buffer.from(text, 'base64url').toString())
    return Array.isArray(value) ? value : []
  } catch {
    return []
  }
}

/** `complete`: the entries begin the whole list and replace what the program had. Otherwise they are added to it. */
export type EndedSince = { entries: EndedSession[]; users: EndedUser[]; cursor: string; complete: boolean }

/** Whether the numbers in a cursor still mean the same transactions. */
const continues = ({ server, place, firstSnapshot }: Cursor, page: Snapshot) => {
  const snapshot = firstSnapshot ?? place.seen
  return snapshot !== null && isContinuation({ server, snapshot }, page)
}

/** The list for other programs: all of it without a cursor. With a cursor, the entries that have become visible since. */
const createEndedSince = (database: Database, clock: Clock) => {
  const since = async (text?: string): Promise<EndedSince> => {
    const cursor = text === undefined ? undefined : readCursor(text, clock.now())
    const place = cursor?.place ?? firstCursor
    const page = await store.selectNewEntries(database, place, maxEntries)
    if (cursor && !continues(cursor, page)) return since()
    const ends = page.entries.map(endOf)
    const firstSnapshot = cursor?.firstSnapshot ?? shortened(page.snapshot)
    const isFull = page.last !== null && page.entries.length === maxEntries
    const next = isFull
      ? { place: { ...place, ...page.last }, firstSnapshot }
      : { place: cursorAfter(firstSnapshot), firstSnapshot: null }
    return {
      entries: ends.flatMap((each) => ('sid' in each ? [each] : [])),
      users: ends.flatMap((each) => ('userId' in each ? [each] : [])),
      cursor: writeCursor({ at: clock.now().getTime(), server: page.server, ...next }),
      complete: cursor === undefined,
    }
  }
  return since
}

/** The time from the start of one reading to the start of the next. So every end is known everywhere within two seconds. */
const interval = 1 * seconds

/** How long a request may be under way with the cookies from before a sign-in. */
const longestOverlap = 30 * seconds

/** How many entries are read at once. Adding them takes some milliseconds, in which this process answers no request. */
const pageSize = 5_000

/** Rows are found by the index on their age, so a batch may be this many times larger than usual. */
const purgeBatches = 10

type Log = { warn(details: object, message: string): void; info(details: object, message: string): void }

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
      const { server, snapshot, applicationChanges } = await readFrom(
        lastReading ? cursorAfter(lastReading.snapshot) : firstCursor,
      )
      lastReading = { server, snapshot, applicationChanges }
      return applicationChanges
    } catch (error) {
      // All entries are read again: the server may have recovered from a crash, and use its last numbers a second time.
      lastReading = undefined
      throw error
    }
  }
}

type JudgedToken = { sid: string; gen: number; userId: string; iat: number }

const messages = {
  failing: 'ended sessions cannot be read: going on with those that are known',
  recovered: 'ended sessions are read again',
}

/** Gets the number of changes of applications with every reading. */
export type FollowApplications = (changes: number) => Promise<void>

type Needed = { database: Database; clock: Clock; log: Log; followApplications: FollowApplications }

export type EndedSessions = ReturnType<typeof createEndedSessions>

/**
 * The sessions that have ended while access tokens of them may still be valid. The list is in the database. Each process has a copy in
 * memory for the access check, and reads new entries once a second.
 */
export const createEndedSessions = ({ database, clock, log, followApplications }: Needed) => {
  const { list, add, wait } = createWaitableList(clock)
  const readNews = createReader(database, add)
  /** When the last complete reading began. */
  let readAt: number | undefined

  const read = async () => {
    const began = performance.now()
    await followApplications(await readNews())
    readAt = began
    list.forgetOld()
  }

  return {
    /** Reads all entries. Before that, an instance does not know which tokens to refuse. */
    load: read,
    ...createReadingRounds({ read, interval, messages, log }),
    /** Whether the access check refuses a token. It needs no query. */
    refusesToken: ({ sid, gen, userId, iat }: JudgedToken) => {
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
    since: createEndedSince(database, clock),
    waitForNews: wait,
    /** How old the list is, in seconds. Undefined before it was read. */
    age: () => (readAt === undefined ? undefined : (performance.now() - readAt) / seconds),
    size: list.size,
    /** The result is in units of the usual batch, so that a full batch tells the caller that there is more to delete. */
    purge: async (sql: Sql, limit: number) =>
      (await store.deleteOld(sql, clock.offset(), retention, limit * purgeBatches)).length / purgeBatches,
  }
}

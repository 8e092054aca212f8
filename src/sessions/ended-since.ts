import type { Clock } from '../lib/clock.js'
import { minutes } from '../lib/durations.js'
import { isUuid } from '../lib/uuid.js'
import type { Database } from '../platform/database/database.js'
import { type EndedSession, type EndedUser, endOf } from './ended-list.js'
import { selectNewEntries } from './ended-sessions.store.js'
import { cursorAfter, firstCursor, isContinuation, type Reading, type SnapshotCursor } from './snapshot-cursor.js'

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
const continues = ({ server, place, firstSnapshot }: Cursor, page: Reading) => {
  const snapshot = firstSnapshot ?? place.seen
  return snapshot !== null && isContinuation({ server, snapshot }, page)
}

/** The list for other programs: all of it without a cursor. With a cursor, the entries that have become visible since. */
export const createEndedSince = ({ database, clock }: { database: Database; clock: Clock }) => {
  const since = async (text?: string): Promise<EndedSince> => {
    const cursor = text === undefined ? undefined : readCursor(text, clock.now())
    const place = cursor?.place ?? firstCursor
    const page = await selectNewEntries(database, place, maxEntries)
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

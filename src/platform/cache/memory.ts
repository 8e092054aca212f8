import type { Clock } from '../../lib/clock.js'
import { minutes } from '../../lib/durations.js'
import type { Attempt, Cache, Limit, MissedCounts, Reservation, Taken } from './cache.js'

/**
 * The counters in this process also remember the last answers of the shared store. If the store fails, they continue from there, and
 * afterwards they report to the store what they have counted.
 */
export type MemoryCache = Cache & {
  /** Remembers an answer of the shared store. False if it goes over the limit together with what this process has counted alone. */
  note(key: string, limit: Limit, reservation: Reservation): boolean
  /** A refund of an attempt that the shared store had counted. */
  noteRefund(key: string, windowId: string): void
  /** The keys of the counters whose windows are open. */
  openKeys(): string[]
  /** Whether this process has counted something under the key that the shared store does not know of. */
  hasUnreported(key: string): boolean
  /** The counts that the shared store may have missed. From now on they count as reported. */
  takeMissed(key: string): MissedCounts | undefined
  /** Takes back `takeMissed`, if the counts could not be reported after all. */
  putBack(missed: MissedCounts): void
}

/** `unreported` is how many of the used reservations the shared store does not know of. */
type Counter = { used: number; unreported: number; maximum: number; ends: number; windowId: string }

/**
 * Holds a bounded number of counters. When it is full, the oldest of the least used counters is dropped.
 * An attacker who wants to clear a counter that is at its limit must first bring every other counter to its limit, each from another
 * network, which costs more attempts than the attacker gains. Refusing new keys instead would let a flood lock out all users; dropping
 * the oldest would let an attacker clear a counter with one request from each address.
 */
const createCounterShelves = ({ clock, maximumKeys }: { clock: Clock; maximumKeys: number }) => {
  // Three maps: for counters that are used less than half, at least half, and fully. Each map is in the order of arrival. The first
  // entry of the first map that is not empty is dropped.
  const shelves = [new Map<string, Counter>(), new Map<string, Counter>(), new Map<string, Counter>()] as const
  let sweptAt = clock.now().getTime()

  const shelfOf = ({ used, maximum }: Counter) =>
    used >= maximum ? shelves[2] : used * 2 >= maximum ? shelves[1] : shelves[0]
  const size = () => shelves.reduce((total, shelf) => total + shelf.size, 0)

  const sweep = (now: number) => {
    sweptAt = now
    for (const shelf of shelves) for (const [key, { ends }] of shelf) if (ends <= now) shelf.delete(key)
  }

  return {
    find: (key: string) => shelves.find((shelf) => shelf.has(key))?.get(key),
    put: (key: string, counter: Counter) => {
      const shelf = shelfOf(counter)
      for (const other of shelves) if (other !== shelf) other.delete(key)
      shelf.set(key, counter)
    },
    /** Called before a new key is added. */
    makeRoom: (now: number) => {
      if (Math.abs(now - sweptAt) > 1 * minutes) sweep(now)
      if (size() < maximumKeys) return
      const shelf = shelves.find((each) => each.size > 0)
      const [oldest] = shelf?.keys() ?? []
      if (oldest !== undefined) shelf?.delete(oldest)
    },
    remove: (key: string) => {
      for (const shelf of shelves) shelf.delete(key)
    },
    /** The keys of the counters whose windows are open. */
    openKeys: () => {
      sweep(clock.now().getTime())
      return shelves.flatMap((shelf) => [...shelf.keys()])
    },
    clear: () => {
      for (const shelf of shelves) shelf.clear()
    },
  }
}

type CounterShelves = ReturnType<typeof createCounterShelves>

/** Notes about the shared store: its last answers, and the counts that were not reported to it. */
const createSharedNotes = (clock: Clock, { find, put, makeRoom }: CounterShelves) => ({
  // What this process has counted in the meantime is kept.
  note: (key: string, { maximum }: Limit, { remaining, resetsIn, window }: Reservation) => {
    const now = clock.now().getTime()
    const known = find(key)
    if (known === undefined) makeRoom(now)
    const unreported = known !== undefined && known.ends > now ? known.unreported : 0
    // Answers come in any order: an older one must not make the counter smaller.
    const usedBefore = known?.windowId === window.id ? known.used : 0
    const usedTogether = maximum - remaining + unreported
    put(key, {
      used: Math.min(maximum, Math.max(usedBefore, usedTogether)),
      unreported,
      maximum,
      ends: now + resetsIn,
      windowId: window.id,
    })
    return usedTogether <= maximum
  },
  hasUnreported: (key: string) => (find(key)?.unreported ?? 0) > 0,
  takeMissed: (key: string): MissedCounts | undefined => {
    const counter = find(key)
    const resetsIn = (counter?.ends ?? 0) - clock.now().getTime()
    if (!counter || resetsIn <= 0) return undefined
    const { maximum, used, unreported: counted, windowId } = counter
    put(key, { ...counter, unreported: 0 })
    return { key, maximum, used, counted, resetsIn, windowId }
  },
  putBack: ({ key, windowId, counted }: MissedCounts) => {
    const counter = find(key)
    if (counter?.windowId === windowId) put(key, { ...counter, unreported: counter.unreported + counted })
  },
})

/** Counters in this process. */
export const createMemoryCache = ({ clock, maximumKeys }: { clock: Clock; maximumKeys: number }): MemoryCache => {
  const counters = createCounterShelves({ clock, maximumKeys })
  const { find, put, makeRoom } = counters

  const reserve = (key: string, { maximum, window }: Limit): Reservation => {
    const now = clock.now().getTime()
    const known = find(key)
    const isOpen = known !== undefined && known.ends > now
    // If the clock was set back, the window must not become longer.
    const ends = isOpen ? Math.min(known.ends, now + window) : now + window
    const counter = isOpen
      ? { ...known, maximum, ends }
      : { used: 0, unreported: 0, maximum, ends, windowId: String(ends) }
    const granted = counter.used < maximum
    if (granted) {
      counter.used += 1
      counter.unreported += 1
      if (known === undefined) makeRoom(now)
      put(key, counter)
    }
    return {
      granted,
      remaining: Math.max(0, maximum - counter.used),
      resetsIn: ends - now,
      window: { id: counter.windowId, countedBy: 'local' },
    }
  }

  const giveBack = (key: string, windowId: string, unreportedCount: 0 | 1) => {
    const counter = find(key)
    if (counter?.windowId !== windowId || counter.used === 0) return
    put(key, { ...counter, used: counter.used - 1, unreported: Math.max(0, counter.unreported - unreportedCount) })
  }

  const refund = (taken: readonly Taken[]) => {
    for (const { key, window } of taken) giveBack(key, window.id, 1)
  }

  const reserveAll = (attempts: readonly Attempt[]) => {
    const reservations: Reservation[] = []
    for (const { key, limit } of attempts) {
      const reservation = reserve(key, limit)
      reservations.push(reservation)
      if (!reservation.granted) break
    }
    return reservations
  }

  return {
    reserve: async (key, limit) => reserve(key, limit),
    reserveAll: async (attempts, returned = []) => {
      refund(returned)
      return reserveAll(attempts)
    },
    refund: async (taken) => refund(taken),
    forget: async (key) => counters.remove(key),
    ...createSharedNotes(clock, counters),
    noteRefund: (key, windowId) => giveBack(key, windowId, 0),
    openKeys: counters.openKeys,
    seemsFull: (key) => {
      const counter = find(key)
      return counter !== undefined && counter.used >= counter.maximum && counter.ends > clock.now().getTime()
    },
    ping: async () => undefined,
    isFull: () => false,
    close: async () => counters.clear(),
  }
}

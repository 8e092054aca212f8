import type { Clock } from '../../lib/clock.js'
import { minutes } from '../../lib/durations.js'
import type { Cache, Limit, Reservation } from './cache.js'

/** The in-process counters can also take over what a shared store said last, and go on from there when it fails. */
export type MemoryCache = Cache & { note(key: string, limit: Limit, seen: Reservation): void }

type Counter = { used: number; maximum: number; ends: number; window: string }

/**
 * Counters in this process, bounded. At the bound the counter that has been used least goes first, and among equals the
 * oldest. So whoever wants to wipe out a counter that stands at its limit must first bring every other counter to its
 * limit too: each from a network of its own, and with more attempts than wiping it out would win. Refusing newcomers
 * instead would let a flood lock everybody out; dropping the oldest would let one request per address clear a guesser.
 */
export const createMemoryCache = ({ clock, maximumKeys }: { clock: Clock; maximumKeys: number }): MemoryCache => {
  // Three shelves of wear, each in order of arrival: what to drop is the first of the first shelf that is not empty.
  const shelves = [new Map<string, Counter>(), new Map<string, Counter>(), new Map<string, Counter>()] as const
  let sweptAt = clock.now().getTime()

  const shelfOf = ({ used, maximum }: Counter) =>
    used >= maximum ? shelves[2] : used * 2 >= maximum ? shelves[1] : shelves[0]
  const find = (key: string) => shelves.find((shelf) => shelf.has(key))?.get(key)
  const size = () => shelves.reduce((total, shelf) => total + shelf.size, 0)

  const put = (key: string, counter: Counter) => {
    const shelf = shelfOf(counter)
    for (const other of shelves) if (other !== shelf) other.delete(key)
    shelf.set(key, counter)
  }

  const sweep = (now: number) => {
    sweptAt = now
    for (const shelf of shelves) for (const [key, { ends }] of shelf) if (ends <= now) shelf.delete(key)
  }

  const makeRoom = (now: number) => {
    if (Math.abs(now - sweptAt) > 1 * minutes) sweep(now)
    if (size() < maximumKeys) return
    const shelf = shelves.find(({ size }) => size > 0)
    const [oldest] = shelf?.keys() ?? []
    if (oldest !== undefined) shelf?.delete(oldest)
  }

  const reserve = (key: string, { maximum, window }: Limit): Reservation => {
    const now = clock.now().getTime()
    const known = find(key)
    const open = known !== undefined && known.ends > now
    // A clock that was set back must not make a window longer than it is meant to be.
    const ends = open ? Math.min(known.ends, now + window) : now + window
    const counter = open ? { ...known, maximum, ends } : { used: 0, maximum, ends, window: String(ends) }
    const granted = counter.used < maximum
    if (granted) {
      counter.used += 1
      if (known === undefined) makeRoom(now)
      put(key, counter)
    }
    return { granted, remaining: Math.max(0, maximum - counter.used), resetsIn: ends - now, window: counter.window }
  }

  const refund = (key: string, window: string) => {
    const counter = find(key)
    if (counter?.window === window && counter.used > 0) put(key, { ...counter, used: counter.used - 1 })
  }

  const note = (key: string, { maximum }: Limit, { remaining, resetsIn, window }: Reservation) => {
    const now = clock.now().getTime()
    if (find(key) === undefined) makeRoom(now)
    put(key, { used: maximum - remaining, maximum, ends: now + resetsIn, window })
  }

  return {
    reserve: async (key, limit) => reserve(key, limit),
    refund: async (key, window) => refund(key, window),
    note,
    ping: async () => undefined,
    close: async () => {
      for (const shelf of shelves) shelf.clear()
    },
  }
}

/** At most `maximum` reservations in `window` milliseconds. The first reservation starts the window. */
export type Limit = { maximum: number; window: number }

/** A window of a counter, and whether the shared store or this process has counted the reservation. */
export type CounterWindow = { id: string; countedBy: 'shared' | 'local' }

export type Reservation = {
  granted: boolean
  remaining: number
  /** Milliseconds until the window ends and everything is available again. */
  resetsIn: number
  /** A refund names the window, so that nothing is given back into a later one. */
  window: CounterWindow
}

export type Attempt = { key: string; limit: Limit }

/** The limit under which a ping counts, to find out whether the store can. */
export const pingLimit: Limit = { maximum: Number.MAX_SAFE_INTEGER, window: 1_000 }

/** What an attempt has taken, and where. */
export type Taken = { key: string; window: CounterWindow }

/** A counter as this process knows it after an outage. `counted` of the `used` reservations were counted without the shared store. */
export type MissedCounts = {
  key: string
  maximum: number
  used: number
  counted: number
  resetsIn: number
  windowId: string
}

/** Counters that several instances may share. Every function rejects with `StoreUnavailable` when the store cannot be reached. */
export type Cache = {
  /** Counts and grants, or refuses and counts nothing. This is one atomic step, so parallel attempts cannot pass the limit. */
  reserve(key: string, limit: Limit): Promise<Reservation>
  /**
   * Counts the attempts one after the other, in one round trip where the store can. If one is refused, those after it are not counted,
   * and its reservation is the last. `returned` is given back in the same moment, whatever is refused.
   */
  reserveAll(attempts: readonly Attempt[], returned?: readonly Taken[]): Promise<Reservation[]>
  /** Gives reservations back whose windows are still open. No counter goes below zero, and no key is created. */
  refund(taken: readonly Taken[]): Promise<void>
  /** Removes the counter, so everything is available again at once. */
  forget(key: string): Promise<void>
  ping(): Promise<void>
  close(): Promise<void>
  /** Whether the counter is at its limit, as far as this process knows. No store is asked. */
  seemsFull(key: string): boolean
  /** True while the shared store has no room for further counters, and this process counts under new keys. */
  isFull(): boolean
}

/** `reserve` of a store that counts several attempts at once. */
export const reserveOne = async (store: { reserveAll: Cache['reserveAll'] }, key: string, limit: Limit) => {
  const [reservation] = await store.reserveAll([{ key, limit }])
  if (!reservation) throw new Error('The store has not counted')
  return reservation
}

/**
 * The counters in a store of several instances. `reserveAll` also stops before a key for which the store has no room, so its answer may
 * end with a reservation that is granted.
 */
export type SharedCache = Omit<Cache, 'reserve' | 'seemsFull'> & {
  /** Adds what this process has counted while the store could not be reached. False for a key for which the store has no room. */
  carry(missed: readonly MissedCounts[]): Promise<boolean[]>
}

/** A counter as commands see it: its key without the prefix, how many are used, and when its window ends. */
export type Counter = { key: string; used: number; ends: Date }

/** How many counters Redis is asked about at once: it answers this many within the timeout of a command. */
export const countersAtOnce = 200

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

/** A counter as this process knows it after an outage. `counted` of the `used` reservations were counted without the shared store. */
export type MissedCounts = { maximum: number; used: number; counted: number; resetsIn: number; windowId: string }

/** Counters that several instances may share. Every function rejects with `StoreUnavailable` when the store cannot be reached. */
export type Cache = {
  /** Counts and grants, or refuses and counts nothing. This is one atomic step, so parallel attempts cannot pass the limit. */
  reserve(key: string, limit: Limit): Promise<Reservation>
  /** Gives a reservation back, if its window is still open. The counter never goes below zero, and no key is created. */
  refund(key: string, window: CounterWindow): Promise<void>
  /** Removes the counter, so everything is available again at once. */
  forget(key: string): Promise<void>
  ping(): Promise<void>
  close(): Promise<void>
  /** Counters that only this process has. Those of a shared store are read by `openSharedCounters`. */
  local?: LocalCounters
}

type LocalCounters = {
  /** The counters of these keys whose windows are open. */
  read(keys: readonly string[]): { key: string; used: number; ends: Date }[]
  openKeys(): string[]
  remove(keys: readonly string[]): void
}

export type SharedCache = Cache & {
  /** Adds to the store what this process has counted while the store could not be reached. */
  carry(key: string, missed: MissedCounts): Promise<void>
}

/** At most `maximum` reservations in `window` milliseconds. The first reservation starts the window. */
export type Limit = { maximum: number; window: number }

/** A window of a counter, and whether the shared store counted it or this process. */
export type CounterWindow = { id: string; countedBy: 'shared' | 'local' }

export type Reservation = {
  granted: boolean
  remaining: number
  /** Milliseconds until the window ends and everything is available again. */
  resetsIn: number
  /** A refund names it, so that nothing is given back into a later window. */
  window: CounterWindow
}

/** A counter as this process knows it after an outage: `used` in all, `counted` of them without the shared store. */
export type Missed = { maximum: number; used: number; counted: number; resetsIn: number; windowId: string }

/** Counters that several instances may share. Every function rejects with `StoreUnavailable` when the store cannot be reached. */
export type Cache = {
  /** Counts and grants, or refuses and counts nothing, in one atomic step: parallel attempts cannot pass the limit. */
  reserve(key: string, limit: Limit): Promise<Reservation>
  /** Gives one back, only in the window it was taken from, never below zero, and never creates a key. */
  refund(key: string, window: CounterWindow): Promise<void>
  /** Everything is available again at once. */
  forget(key: string): Promise<void>
  ping(): Promise<void>
  close(): Promise<void>
  /** Counters that only this process has. Those of a shared store are read by `openSharedCounters`. */
  local?: LocalCounters
}

type LocalCounters = {
  /** Those of the keys whose window is open. */
  read(keys: readonly string[]): { key: string; used: number; ends: Date }[]
  openKeys(): string[]
  remove(keys: readonly string[]): void
}

export type SharedCache = Cache & {
  /** Adds what was counted while the store could not be reached. */
  carry(key: string, missed: Missed): Promise<void>
}

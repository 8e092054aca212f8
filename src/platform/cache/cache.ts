/** At most `maximum` in each window of `window` milliseconds. A window begins with the first reservation in it. */
export type Limit = { maximum: number; window: number }

/** Which window of a counter this is, and whether the shared store counted it or this process. */
export type CounterWindow = { id: string; countedBy: 'shared' | 'local' }

export type Reservation = {
  granted: boolean
  remaining: number
  /** Milliseconds until the window ends and everything is available again. */
  resetsIn: number
  /** A refund names it, so that nothing is given back into a later window. */
  window: CounterWindow
}

/** What a process knows of a counter that the shared store may have missed: in all, and counted without the store. */
export type Missed = { maximum: number; used: number; counted: number; resetsIn: number; windowId: string }

/** Counters that several instances may share. Every function rejects with `StoreUnavailable` when the store is out of reach. */
export type Cache = {
  /** Counts and grants, or refuses and counts nothing, in one atomic step: parallel attempts cannot slip past. */
  reserve(key: string, limit: Limit): Promise<Reservation>
  /** Gives one back, only into the window it was taken from, never below zero, and never creates a key. */
  refund(key: string, window: CounterWindow): Promise<void>
  ping(): Promise<void>
  close(): Promise<void>
}

export type SharedCache = Cache & {
  /** Adds what was counted while the store was out of reach. */
  carry(key: string, missed: Missed): Promise<void>
}

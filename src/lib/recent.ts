import type { Clock } from './clock.js'

/** A map with a bound. What was set last is the newest; the oldest entry makes room. */
export class RecentMap<Key, Value> extends Map<Key, Value> {
  readonly #most: number

  constructor(most: number) {
    super()
    this.#most = most
  }

  override set(key: Key, value: Value) {
    this.delete(key)
    super.set(key, value)
    const [oldest] = this.size > this.#most ? this.keys() : []
    if (oldest !== undefined) this.delete(oldest)
    return this
  }
}

/**
 * Says whether to report something: only the first time for a key in a window, and for at most `maxKeys` keys. Further reports would
 * say nothing new, and could fill the table of events. So when it is full, new keys are refused: the oldest would be reported again.
 */
export const createOncePerWindow = ({ maxKeys, clock }: { maxKeys: number; clock: Clock }) => {
  const reportedUntil = new Map<string, number>()
  return (key: string, window: number) => {
    const now = clock.now().getTime()
    if ((reportedUntil.get(key) ?? 0) > now) return false
    if (reportedUntil.size >= maxKeys) {
      for (const [old, until] of reportedUntil) if (until <= now) reportedUntil.delete(old)
    }
    if (reportedUntil.size >= maxKeys) return false
    reportedUntil.set(key, now + window)
    return true
  }
}

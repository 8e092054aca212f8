import type { Clock } from '../lib/clock.js'

/**
 * Says whether to report something: only the first time for a key in a window, and for at most `maxKeys` keys. Further reports would
 * say nothing new, and could fill the table of events.
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

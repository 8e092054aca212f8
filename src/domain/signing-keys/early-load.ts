import { setTimeout as wait } from 'node:timers/promises'
import { seconds } from '../../lib/durations.js'
import { withTimeout } from '../../lib/with-timeout.js'
import { headerOf } from '../tokens/token-keys.js'
import { mayBeOurs } from './key-pair.js'

/** A token of an unknown key lets the keys be read at most so often, for all clients together. */
const earlyPause = 1 * seconds
/** How long a request waits for that, how many may, and how long a key counts as unknown afterwards. */
const earlyTimeout = 3 * seconds
const mostWaiting = 1_000
const unknownFor = 30 * seconds
const mostUnknown = 256

/** Reads the keys early for a token whose key is not known: another instance may have made it a moment ago. */
export const createEarlyLoad = ({
  load,
  lastRead,
  isKnown,
}: {
  load: () => Promise<void>
  lastRead: () => number
  isKnown: (header: string) => boolean
}) => {
  const unknown = new Map<string, number>()
  let early: Promise<void> | undefined
  let waiting = 0

  const loadSoon = async () => {
    await wait(Math.max(0, lastRead() + earlyPause - performance.now()))
    await load().catch(() => undefined)
  }
  const note = (header: string) => {
    const [oldest] = unknown.keys()
    if (unknown.size >= mostUnknown && oldest !== undefined) unknown.delete(oldest)
    unknown.set(header, performance.now())
  }
  const learn = async (header: string) => {
    early ??= loadSoon().finally(() => {
      early = undefined
    })
    waiting += 1
    await withTimeout(early, earlyTimeout, () => undefined)
    waiting -= 1
    if (!isKnown(header)) note(header)
  }

  /** A promise only if it is worth waiting: never for a token of a known key, or of a secret. */
  return (token: string): Promise<void> | undefined => {
    const header = headerOf(token)
    if (isKnown(header) || !mayBeOurs(header) || waiting >= mostWaiting) return undefined
    const refusedAt = unknown.get(header)
    return refusedAt !== undefined && performance.now() - refusedAt < unknownFor ? undefined : learn(header)
  }
}

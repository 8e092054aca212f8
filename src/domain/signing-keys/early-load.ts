import { setTimeout as wait } from 'node:timers/promises'
import { seconds } from '../../lib/durations.js'
import { withTimeout } from '../../lib/with-timeout.js'
import { headerOf } from '../tokens/token-keys.js'
import { mayBeOurs } from './key-pair.js'

/** A token of an unknown key lets the keys be read at most so often, for all clients together. */
const pauseBetweenReads = 1 * seconds
/** How long a request waits for that, how many may, and how long a key counts as unknown afterwards. */
const waitTimeout = 3 * seconds
const maxWaiting = 1_000
const unknownKeyLifetime = 30 * seconds
const maxUnknown = 256

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
  let earlyLoad: Promise<void> | undefined
  let waiting = 0

  const loadSoon = async () => {
    await wait(Math.max(0, lastRead() + pauseBetweenReads - performance.now()))
    await load().catch(() => undefined)
  }
  const rememberUnknown = (header: string) => {
    const [oldest] = unknown.keys()
    if (unknown.size >= maxUnknown && oldest !== undefined) unknown.delete(oldest)
    unknown.set(header, performance.now())
  }
  const loadFor = async (header: string) => {
    earlyLoad ??= loadSoon().finally(() => {
      earlyLoad = undefined
    })
    waiting += 1
    await withTimeout(earlyLoad, waitTimeout, () => undefined)
    waiting -= 1
    if (!isKnown(header)) rememberUnknown(header)
  }

  /** A promise only if it is worth waiting: never for a token of a known key, or of a secret. */
  return (token: string): Promise<void> | undefined => {
    const header = headerOf(token)
    if (isKnown(header) || !mayBeOurs(header) || waiting >= maxWaiting) return undefined
    const refusedAt = unknown.get(header)
    return refusedAt !== undefined && performance.now() - refusedAt < unknownKeyLifetime ? undefined : loadFor(header)
  }
}

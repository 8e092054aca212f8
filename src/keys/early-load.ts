import { setTimeout as wait } from 'node:timers/promises'
import { seconds } from '../lib/durations.js'
import { withTimeout } from '../lib/timing.js'
import { mayBeOurs } from './key-pair.js'
import { headerOf } from './token-keys.js'

/** How often tokens of unknown keys may cause a reading of the keys, for all clients together. */
const pauseBetweenReads = 1 * seconds
/** How long a request waits for such a reading, how many requests may wait, and how long a key counts as unknown afterwards. */
const waitTimeout = 3 * seconds
const maxWaiting = 1_000
const unknownKeyLifetime = 30 * seconds
const maxUnknown = 256

/** Reads the keys early for a token whose key is not known, because another instance may have made the key a moment ago. */
export const createEarlyLoad = ({
  load,
  lastRead,
  isKnown,
}: {
  load: () => Promise<void>
  lastRead: () => number
  isKnown: (header: string) => boolean
}) => {
  const unknownHeaders = new Map<string, number>()
  let earlyLoad: Promise<void> | undefined
  let waitingCount = 0

  const loadSoon = async () => {
    await wait(Math.max(0, lastRead() + pauseBetweenReads - performance.now()))
    await load().catch(() => undefined)
  }
  const rememberUnknown = (header: string) => {
    const [oldest] = unknownHeaders.keys()
    if (unknownHeaders.size >= maxUnknown && oldest !== undefined) unknownHeaders.delete(oldest)
    unknownHeaders.set(header, performance.now())
  }
  const loadFor = async (header: string) => {
    earlyLoad ??= loadSoon().finally(() => {
      earlyLoad = undefined
    })
    waitingCount += 1
    await withTimeout(earlyLoad, waitTimeout, () => undefined)
    waitingCount -= 1
    if (!isKnown(header)) rememberUnknown(header)
  }

  /** Returns a promise only if it is worth waiting: never for a token of a known key, or one that a secret has signed. */
  return (token: string): Promise<void> | undefined => {
    const header = headerOf(token)
    if (isKnown(header) || !mayBeOurs(header) || waitingCount >= maxWaiting) return undefined
    const unknownAt = unknownHeaders.get(header)
    return unknownAt !== undefined && performance.now() - unknownAt < unknownKeyLifetime ? undefined : loadFor(header)
  }
}

import type { Clock } from '../lib/clock.js'
import { minutes, seconds } from '../lib/durations.js'
import { OperatorError } from '../lib/operator-error.js'

import { StoreUnavailable } from '../platform/database/database.js'
import { createDetachedContext, createReadingRounds } from '../platform/rounds.js'
import { createEarlyLoad } from './early-load.js'
import { mayBeOurs } from './key-pair.js'
import { createKeyRing, type Log, type Reading } from './key-ring.js'
import { accessTokenSchedule } from './schedule.js'
import type { KeySet, SigningKeys } from './signing-keys.js'

/** How often the keys are read. A withdrawn key is refused within this time. */
const interval = 2 * seconds
/**
 * How often the keys are read while there are none. Then there is nothing to withdraw, and a token of the first key causes an early
 * reading.
 */
const intervalWithoutKeys = 1 * minutes

export type LoadedKeys = ReturnType<typeof createLoadedKeys>

type Dependencies = {
  signingKeys: Pick<SigningKeys, 'read' | 'makeIfDue'>
  clock: Clock
  log: Log
  /** Whether this instance makes these keys and signs access tokens with them. It verifies with them in any case. */
  signsWithKeyPair: boolean
}

/** Logs keys that this instance cannot open, once until all can be opened again. */
const createReportUnopened = (log: Log) => {
  let isReported = false
  return ({ unopened }: KeySet) => {
    if (unopened.length > 0 && !isReported) log.error({ keys: unopened }, unopenedKeys)
    isReported = unopened.length > 0
  }
}

/** Returns an empty list only if the keys were read a moment ago, because caches keep that answer. */
const createPublished =
  (keyRing: ReturnType<typeof createKeyRing>, load: () => Promise<void>, sinceRead: () => number) => async () => {
    if (keyRing.isEmpty() && sinceRead() >= interval) await load().catch(() => undefined)
    return keyRing.published()
  }

/** The keys in the memory of this process, which signs and checks access tokens with them without a query. */
export const createLoadedKeys = ({ signingKeys, clock, log, signsWithKeyPair }: Dependencies) => {
  const inOwnContext = createDetachedContext('signing keys')
  const keyRing = createKeyRing({ clock, log })
  const reportUnopened = createReportUnopened(log)
  let lastRead = Number.NEGATIVE_INFINITY
  let loading: Promise<void> = Promise.resolve()

  const read = async (): Promise<Reading> => {
    lastRead = performance.now()
    const readAt = lastRead
    const offset = clock.offset()
    return { set: await signingKeys.read(), readAt, offset }
  }

  const loadNow = async () => {
    const reading = await read()
    const { keys, now, unopened } = reading.set
    if (!keyRing.isLoaded() && unopened.length > 0) throw new OperatorError(`${unopenedKeys}. ${wayOut}`)
    reportUnopened(reading.set)
    // An empty set is not used while the first key is being made, because it would be published.
    if (!signsWithKeyPair || keys.length > 0) keyRing.replace(reading)
    if (!signsWithKeyPair || !accessTokenSchedule.isNextDue(keys, now)) return
    const newKey = await signingKeys.makeIfDue()
    if (newKey) log.info({ key: newKey.id, signsFrom: newKey.signsFrom.toISOString() }, 'signing key made')
    keyRing.replace(await read())
  }

  /** Loads run one after the other, so that an older reading never replaces a newer one. Each reads after it was called. */
  const load = () => {
    loading = inOwnContext(() => loading.catch(() => undefined).then(loadNow))
    return loading
  }

  const isDue = () => signsWithKeyPair || !keyRing.isEmpty() || performance.now() - lastRead >= intervalWithoutKeys

  const isKnown = (header: string) => keyRing.find(header) !== undefined
  const loadEarly = createEarlyLoad({ load, lastRead: () => lastRead, isKnown })

  return {
    load,
    ...createReadingRounds({ read: load, interval, isDue, messages, log }),
    signer: () => {
      if (!signsWithKeyPair) return undefined
      const key = keyRing.signer()
      if (!key) throw new StoreUnavailable('There is no signing key that this instance can open')
      return key.tokenKey
    },
    find: (header: string) => {
      if (!keyRing.isLoaded() && mayBeOurs(header))
        throw new StoreUnavailable('The signing keys have not been read yet')
      return keyRing.find(header)
    },
    removals: keyRing.removals,
    /** Reads the keys early if the key of the token is not known. Before the first reading there is nothing to wait for, and `find` throws. */
    learn: (token: string) => (keyRing.isLoaded() ? loadEarly(token) : undefined),
    published: createPublished(keyRing, load, () => performance.now() - lastRead),
    /** For how long the current key has signed, in seconds. Undefined if a secret signs. */
    age: () => (signsWithKeyPair ? keyRing.signerAge() : undefined),
  }
}

const messages = {
  failing: 'signing keys cannot be read: going on with those that are known',
  recovered: 'signing keys are read again',
}
const unopenedKeys = 'a signing key cannot be opened: SEALING_KEY must be the same at every instance'
const wayOut = 'If the key that sealed it is lost, run `latchkey keys rotate --compromised --yes`.'

import { setTimeout as wait } from 'node:timers/promises'
import type { Clock } from '../lib/clock.js'
import { minutes, seconds } from '../lib/durations.js'
import { OperatorError } from '../lib/operator-error.js'
import { RecentMap } from '../lib/recent.js'
import { withTimeout } from '../lib/timing.js'
import { StoreUnavailable } from '../platform/database/database.js'
import { createDetachedContext, createReadingRounds } from '../platform/rounds.js'
import { createTokenKey, headerOf, type KeyAlgorithm, mayBeOurs, type TokenKey } from './key-pair.js'
import { signerAt } from './schedule.js'
import { isUnopened, type KeySet, type SigningKeys } from './signing-keys.js'

/** How often the keys are read: a new key is published this soon, and a withdrawn key is refused. */
export const interval = 2 * seconds

export type Log = {
  info(details: object, message: string): void
  warn(details: object, message: string): void
  error(details: object, message: string): void
}

/** Logs a fault of keys once, and again only after it was over. */
export const createFaultLog = (log: Log) => {
  const reported = new Set<string>()
  return (message: string, keys: readonly { id: string }[]) => {
    if (keys.length === 0) reported.delete(message)
    else if (!reported.has(message)) log.error({ keys: keys.map(({ id }) => id) }, message)
    if (keys.length > 0) reported.add(message)
  }
}

type TrustedKeys = ReturnType<SigningKeys['trusted']>
type MadeKey = { id: string; algorithm: KeyAlgorithm; signsFrom: Date }

type Ring = {
  name: string
  signingKeys: SigningKeys
  clock: Clock
  /** Whether this instance makes the keys that are missing. */
  makesKeys: boolean
  /** Called with what was read, before it is used. */
  check: (set: KeySet) => void
  onLoaded: (set: KeySet, trusted: TrustedKeys) => void
  onMade: (key: MadeKey) => void
}

/** The keys of one purpose in the memory of this process, as they were last read. What asks it makes no query. */
export const createKeyRing = ({ name, signingKeys, clock, makesKeys, check, onLoaded, onMade }: Ring) => {
  const inOwnContext = createDetachedContext(name)
  let loaded: { set: KeySet; trusted: TrustedKeys; readAt: number; offset: number } | undefined
  let lastRead = Number.NEGATIVE_INFINITY
  let loading: Promise<void> = Promise.resolve()

  const read = async () => {
    lastRead = performance.now()
    const readAt = lastRead
    const offset = clock.offset()
    return { set: await signingKeys.read(), readAt, offset }
  }

  const use = (reading: Awaited<ReturnType<typeof read>>) => {
    const trusted = signingKeys.trusted(reading.set)
    onLoaded(reading.set, trusted)
    loaded = { ...reading, trusted }
  }

  const loadNow = async () => {
    const reading = await read()
    check(reading.set)
    const isDue = makesKeys && signingKeys.due(reading.set).length > 0
    // An empty set is not used while the first key is being made, because it would be published.
    if (!isDue || reading.set.keys.length > 0) use(reading)
    if (!isDue) return
    for (const key of await signingKeys.makeIfDue()) onMade(key)
    use(await read())
  }

  /** The key that signs now. The time of the database is computed from the last reading. */
  const signer = (algorithm: KeyAlgorithm) => {
    if (!loaded) return undefined
    const now = loaded.set.now + (performance.now() - loaded.readAt) + (clock.offset() - loaded.offset)
    const key = signerAt(
      loaded.trusted.filter((each) => each.algorithm === algorithm),
      now,
    )
    return key && { pair: key.pair, age: (now - key.signsFrom) / seconds }
  }

  return {
    /** Loads run one after the other, so that an older reading never replaces a newer one. Each reads after it was called. */
    load: () => {
      loading = inOwnContext(() => loading.catch(() => undefined).then(loadNow))
      return loading
    },
    lastRead: () => lastRead,
    loaded: () => loaded,
    signer: (algorithm: KeyAlgorithm) => signer(algorithm)?.pair,
    /** For how long the key of each algorithm in use has signed, in seconds. Other keys are never replaced, however old. */
    ages: (): { [Algorithm in KeyAlgorithm]?: number } => {
      const ages = (loaded?.set.usedAlgorithms ?? []).map((algorithm) => [algorithm, signer(algorithm)?.age])
      return Object.fromEntries(ages.filter(([, age]) => age !== undefined))
    },
  }
}

/** How often tokens of unknown keys may cause a reading of the keys, for all clients together. */
const pauseBetweenReads = 1 * seconds
/** How long a request waits for such a reading, how many requests may wait, and how long a key counts as unknown afterwards. */
const waitTimeout = 3 * seconds
const maxWaiting = 1_000
const unknownKeyLifetime = 30 * seconds
const maxUnknown = 256

type EarlyLoad = { load: () => Promise<void>; lastRead: () => number; isKnown: (header: string) => boolean }

/** Reads the keys early for a token whose key is not known, because another instance may have made the key a moment ago. */
const createEarlyLoad = ({ load, lastRead, isKnown }: EarlyLoad) => {
  const unknownHeaders = new RecentMap<string, number>(maxUnknown)
  let earlyLoad: Promise<void> | undefined
  let waitingCount = 0

  const loadSoon = async () => {
    await wait(Math.max(0, lastRead() + pauseBetweenReads - performance.now()))
    await load().catch(() => undefined)
  }
  const rememberUnknown = (header: string) => {
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

/** The trusted keys as they sign and check access tokens, and how often keys were removed. */
const createTokenKeys = (log: Log) => {
  let byId = new Map<string, TokenKey>()
  let byHeader = new Map<string, TokenKey>()
  let removals = 0
  return {
    replace: (trusted: TrustedKeys) => {
      const earlier = byId
      // Each key is made once, because reading its text takes longer than a signature.
      byId = new Map(
        trusted.map(({ id, pair }) => [
          id,
          earlier.get(id) ?? createTokenKey('at+jwt', { algorithm: 'ES256', kid: id, pair }),
        ]),
      )
      byHeader = new Map([...byId.values()].map((key) => [key.header, key]))
      const removedIds = [...earlier.keys()].filter((id) => !byId.has(id))
      if (removedIds.length === 0) return
      removals += 1
      log.info({ keys: removedIds }, 'signing keys are no longer trusted')
    },
    ofPair: (id: string) => byId.get(id),
    find: (header: string) => byHeader.get(header),
    removals: () => removals,
  }
}

/** How often the keys are read while there are none: nothing can be withdrawn, and a token of the first key causes an early reading. */
const intervalWithoutKeys = 1 * minutes

const messages = {
  failing: 'signing keys cannot be read: going on with those that are known',
  recovered: 'signing keys are read again',
}
const unopenedKeys = 'a signing key cannot be opened: SEALING_KEY must be the same at every instance'
const wayOut = 'If the key that sealed it is lost, run `latchkey keys rotate --compromised --yes`.'

type Signing = {
  signingKeys: SigningKeys
  clock: Clock
  log: Log
  /** Whether this instance makes these keys and signs access tokens with them. It verifies with them in any case. */
  signsWithKeyPair: boolean
}

/** The keys in the memory of this process, which signs and checks access tokens with them without a query. */
export const createLoadedKeys = ({ signingKeys, clock, log, signsWithKeyPair }: Signing) => {
  const tokenKeys = createTokenKeys(log)
  const reportFault = createFaultLog(log)
  const ring = createKeyRing({
    name: 'signing keys',
    signingKeys,
    clock,
    makesKeys: signsWithKeyPair,
    check: ({ keys }) => {
      const unopened = keys.filter(isUnopened)
      if (!ring.loaded() && unopened.length > 0) throw new OperatorError(`${unopenedKeys}. ${wayOut}`)
      reportFault(unopenedKeys, unopened)
    },
    onLoaded: (_set, trusted) => tokenKeys.replace(trusted),
    onMade: ({ id, signsFrom }) => log.info({ key: id, signsFrom: signsFrom.toISOString() }, 'signing key made'),
  })
  const { load, lastRead } = ring

  const isEmpty = () => ring.loaded()?.trusted.length === 0
  const sinceRead = () => performance.now() - lastRead()
  const isDue = () => signsWithKeyPair || !isEmpty() || sinceRead() >= intervalWithoutKeys
  const loadEarly = createEarlyLoad({ load, lastRead, isKnown: (header) => tokenKeys.find(header) !== undefined })

  return {
    load,
    ...createReadingRounds({ read: load, interval, isDue, messages, log }),
    signer: () => {
      if (!signsWithKeyPair) return undefined
      const key = tokenKeys.ofPair(ring.signer('ES256')?.id ?? '')
      if (!key) throw new StoreUnavailable('There is no signing key that this instance can open')
      return key
    },
    find: (header: string) => {
      if (!ring.loaded() && mayBeOurs(header)) throw new StoreUnavailable('The signing keys have not been read yet')
      return tokenKeys.find(header)
    },
    /** How often keys were removed. Tokens that were checked before a removal are checked again. */
    removals: tokenKeys.removals,
    /** Reads the keys early if the key of the token is not known. Before the first reading there is nothing to wait for, and `find` throws. */
    learn: (token: string) => (ring.loaded() ? loadEarly(token) : undefined),
    /**
     * The public keys for other programs. Undefined before the keys were read, and if there are only keys that cannot be opened. The list
     * is empty only if the keys were read a moment ago, because caches keep that answer.
     */
    published: async () => {
      if (isEmpty() && sinceRead() >= interval) await load().catch(() => undefined)
      const { trusted, set } = ring.loaded() ?? {}
      if (trusted?.length === 0 && set?.keys.some(isUnopened)) return undefined
      return trusted?.flatMap(({ pair: { published } }) => (published.alg === 'ES256' ? [published] : []))
    },
    /** For how long the current key has signed, in seconds. Undefined if a secret signs. */
    age: () => (signsWithKeyPair ? ring.ages().ES256 : undefined),
  }
}

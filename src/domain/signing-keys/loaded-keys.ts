import { setTimeout as wait } from 'node:timers/promises'
import type { Clock } from '../../lib/clock.js'
import { minutes, seconds } from '../../lib/durations.js'
import { OperatorError } from '../../lib/operator-error.js'
import { withTimeout } from '../../lib/with-timeout.js'
import { StoreUnavailable } from '../../platform/database/database.js'
import { createDetachedContext } from '../../platform/detached-context.js'
import { createReadingRounds } from '../../platform/reading-rounds.js'
import { createTokenKey, headerOf, type TokenKey } from '../tokens/token-keys.js'
import { mayBeOurs } from './key-pair.js'
import { isNextDue, signerAt, trustedAt } from './schedule.js'
import type { KeySet, SigningKey, SigningKeys } from './signing-keys.js'

/** A key that was withdrawn is refused so soon. */
const interval = 2 * seconds
/** Without any key there is nothing to withdraw, and a token of the first one causes an early reading. */
const intervalWithoutKeys = 1 * minutes

/** A token of an unknown key lets the keys be read at most so often, for all clients together. */
const earlyPause = 1 * seconds
/** How long a request waits for that, how many may, and how long a key counts as unknown afterwards. */
const earlyTimeout = 3 * seconds
const mostWaiting = 1_000
const unknownFor = 30 * seconds
const mostUnknown = 256

type Log = {
  info(details: object, message: string): void
  warn(details: object, message: string): void
  error(details: object, message: string): void
}

type LoadedKey = SigningKey & { tokenKey: TokenKey }
type Loaded = {
  keys: readonly LoadedKey[]
  byHeader: ReadonlyMap<string, TokenKey>
  /** The time of the database, and when this process read it. */
  now: number
  readAt: number
  offset: number
}

type Reading = Pick<Loaded, 'readAt' | 'offset'> & { set: KeySet }

const createTokenKeys = () => {
  let made = new Map<string, TokenKey>()
  /** Each key is made once, because reading its text takes longer than a signature. */
  return (keys: readonly SigningKey[]) => {
    const before = made
    made = new Map(
      keys.map(({ id, pair }) => [
        id,
        before.get(id) ?? createTokenKey('at+jwt', { algorithm: 'ES256', kid: id, ...pair }),
      ]),
    )
    return keys.map((key) => ({ ...key, tokenKey: made.get(key.id) as TokenKey }))
  }
}

/** Reads the keys early for a token whose key is not known: another instance may have made it a moment ago. */
const createEarlyLoad = ({
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

export type LoadedKeys = ReturnType<typeof createLoadedKeys>

type Dependencies = {
  signingKeys: Pick<SigningKeys, 'read' | 'makeIfDue'>
  clock: Clock
  log: Log
  /** Whether this instance signs access tokens with these keys, and makes them. It verifies with them in any case. */
  signs: boolean
}

/** The keys in the memory of this process, which signs and checks access tokens with them and asks no store. */
export const createLoadedKeys = ({ signingKeys, clock, log, signs }: Dependencies) => {
  const inOwnContext = createDetachedContext('signing keys')
  const tokenKeysOf = createTokenKeys()
  let loaded: Loaded | undefined
  let removals = 0
  let startedAt = Number.NEGATIVE_INFINITY
  let isUnopened = false
  let loading: Promise<void> = Promise.resolve()

  const reportUnopened = ({ unopened }: KeySet) => {
    if (unopened.length > 0 && !isUnopened) log.error({ keys: unopened }, unopenedKeys)
    isUnopened = unopened.length > 0
  }

  const take = ({ set, readAt, offset }: Reading) => {
    const keys = tokenKeysOf(trustedAt(set.keys, set.now))
    const byHeader = new Map(keys.map(({ tokenKey }) => [tokenKey.header, tokenKey]))
    const gone = loaded?.keys.filter(({ tokenKey }) => !byHeader.has(tokenKey.header)) ?? []
    loaded = { keys, byHeader, now: set.now, readAt, offset }
    if (gone.length === 0) return
    removals += 1
    log.info({ keys: gone.map(({ id }) => id) }, 'signing keys are no longer trusted')
  }

  const read = async (): Promise<Reading> => {
    startedAt = performance.now()
    const readAt = startedAt
    const offset = clock.offset()
    return { set: await signingKeys.read(), readAt, offset }
  }

  const loadNow = async () => {
    const reading = await read()
    const { keys, now, unopened } = reading.set
    if (!loaded && unopened.length > 0) throw new OperatorError(`${unopenedKeys}. ${wayOut}`)
    reportUnopened(reading.set)
    // An empty set is not taken while the first key is being made: it would be published.
    if (!signs || keys.length > 0) take(reading)
    if (!signs || !isNextDue(keys, now)) return
    const made = await signingKeys.makeIfDue()
    if (made) log.info({ key: made.id, signsFrom: made.signsFrom.toISOString() }, 'signing key made')
    take(await read())
  }

  /** One after the other: an older reading never replaces a newer one, and each call sees what was there when it began. */
  const load = () => {
    loading = inOwnContext(() => loading.catch(() => undefined).then(loadNow))
    return loading
  }

  const isTimeToRead = () => signs || loaded?.keys.length !== 0 || performance.now() - startedAt >= intervalWithoutKeys

  /** The time of the database, without asking it. */
  const databaseTime = ({ now, readAt, offset }: Loaded) =>
    now + (performance.now() - readAt) + (clock.offset() - offset)

  const learn = createEarlyLoad({
    load,
    lastRead: () => startedAt,
    isKnown: (header) => loaded?.byHeader.has(header) ?? false,
  })

  const current = () => loaded && signerAt(loaded.keys, databaseTime(loaded))

  return {
    load,
    ...createReadingRounds({ read: load, interval, isDue: isTimeToRead, messages, log }),
    signer: () => {
      if (!signs) return undefined
      const key = current()
      if (!key) throw new StoreUnavailable('There is no signing key that this instance can open')
      return key.tokenKey
    },
    find: (header: string) => {
      if (!loaded && mayBeOurs(header)) throw new StoreUnavailable('The signing keys have not been read yet')
      return loaded?.byHeader.get(header)
    },
    removals: () => removals,
    /** Before the keys were read, there is nothing to wait for: `find` says that. */
    learn: (token: string) => (loaded ? learn(token) : undefined),
    /** For other programs; undefined before the keys were read. */
    published: () => loaded?.keys.map(({ pair }) => pair.published),
    /** For how long the current key has signed, in seconds; undefined if a secret signs. */
    age: () => {
      const key = signs ? current() : undefined
      return loaded && key && (databaseTime(loaded) - key.signsFrom) / seconds
    },
  }
}

const messages = {
  failing: 'signing keys cannot be read: going on with those that are known',
  recovered: 'signing keys are read again',
}
const unopenedKeys = 'a signing key cannot be opened: SEALING_KEY must be the same at every instance'
const wayOut = 'If the key that sealed it is lost, run `latchkey keys rotate --compromised --yes`.'

import { type KeyObject, sign } from 'node:crypto'
import type { Clock } from '../lib/clock.js'
import { seconds } from '../lib/durations.js'
import { StoreUnavailable } from '../platform/database/database.js'
import { createDetachedContext, createReadingRounds } from '../platform/rounds.js'

import type { KeyPair } from './application-key-pair.js'
import { type ApplicationKeySet, isUnopened, isUnreadable, keysFor, publishedKeys } from './application-key-records.js'
import { type ApplicationKeys, dueAlgorithms } from './application-keys.js'
import type { Log } from './key-ring.js'
import { signerAt } from './schedule.js'
import {
  type ApplicationAlgorithm,
  createRsaSignatures,
  headerFor,
  type SignToken,
  tokenParts,
  unsignedToken,
  verifiedClaims,
  withJwsEncoding,
} from './signed-token.js'

/** How often the keys are read: a new key is published this soon, and a withdrawn key is forgotten. */
const interval = 2 * seconds

type Dependencies = {
  applicationKeys: ApplicationKeys
  clock: Clock
  log: Log
}

type LoadedKeySet = { set: ApplicationKeySet; byHeader: ReadonlyMap<string, KeyObject>; readAt: number; offset: number }

/** The public keys, by the headers of ID tokens only: a logout token is not accepted as a hint. */
const publicKeysByHeader = ({ keys }: ApplicationKeySet) =>
  new Map(keys.flatMap((key) => (key.publicKey ? [[headerFor(key, 'JWT'), key.publicKey]] : [])))

/** Keeps the keys in the memory of this process, so that publishing them and verifying with them needs no query. */
const createKeyMemory = (clock: Clock) => {
  let loaded: LoadedKeySet | undefined

  /** The time of the database, computed without a query. */
  const databaseTime = ({ set, readAt, offset }: LoadedKeySet) =>
    set.now + (performance.now() - readAt) + (clock.offset() - offset)

  const signerFor = (algorithm: ApplicationAlgorithm) =>
    loaded && signerAt(keysFor(loaded.set.keys, algorithm), databaseTime(loaded))

  return {
    replace: (reading: Omit<LoadedKeySet, 'byHeader'>) => {
      loaded = { ...reading, byHeader: publicKeysByHeader(reading.set) }
    },
    current: () => loaded,
    signer: (algorithm: ApplicationAlgorithm) => signerFor(algorithm)?.pair,
    /**
     * For how long the current key of each algorithm in use has signed, in seconds. Other keys are left out: they are never replaced,
     * however old.
     */
    ages: () => {
      const current = loaded
      if (!current) return {}
      const keys = current.set.usedAlgorithms.flatMap((algorithm) => signerFor(algorithm) ?? [])
      return Object.fromEntries(
        keys.map(({ algorithm, signsFrom }) => [algorithm, (databaseTime(current) - signsFrom) / seconds]),
      )
    },
  }
}

/** Reads the keys, and makes those that are missing. */
const createLoading = (
  { applicationKeys, clock, log }: Dependencies,
  replace: ReturnType<typeof createKeyMemory>['replace'],
) => {
  const inOwnContext = createDetachedContext('application keys')
  let loading: Promise<void> = Promise.resolve()
  const reportedFaults = { unopened: false, unreadable: false }

  const read = async () => {
    const readAt = performance.now()
    const offset = clock.offset()
    return { set: await applicationKeys.read(), readAt, offset }
  }

  /** Logs a fault once, and again only after it was over. */
  const report = (fault: keyof typeof reportedFaults, keys: readonly { id: string }[]) => {
    if (keys.length > 0 && !reportedFaults[fault]) log.error({ keys: keys.map(({ id }) => id) }, messages[fault])
    reportedFaults[fault] = keys.length > 0
  }

  const loadNow = async () => {
    let reading = await read()
    report('unopened', reading.set.keys.filter(isUnopened))
    report('unreadable', reading.set.keys.filter(isUnreadable))
    if (dueAlgorithms(reading.set).length > 0) {
      for (const { id, algorithm, signsFrom } of await applicationKeys.makeIfDue())
        log.info({ key: id, algorithm, signsFrom: signsFrom.toISOString() }, 'key of ID tokens made')
      reading = await read()
    }
    replace(reading)
  }

  /**
   * Loads run one after the other. So an older reading never replaces a newer one, and a load reads the database after it was called for.
   */
  return () => {
    loading = inOwnContext(() => loading.catch(() => undefined).then(loadNow))
    return loading
  }
}

/** Signs ID tokens and logout tokens, publishes their keys, and reads tokens that come back. */
export const createLoadedApplicationKeys = (deps: Dependencies) => {
  const { clock, log } = deps
  const signWithRsa = createRsaSignatures()
  const memory = createKeyMemory(clock)
  const load = createLoading(deps, memory.replace)

  const loadedKeys = async () => {
    if (!memory.current()) await load()
    return memory.current() as LoadedKeySet
  }

  /** An application may have been added a moment ago. Then the first key of its algorithm is made for its first token. */
  const signerOf = async (algorithm: ApplicationAlgorithm) => {
    const knownPair = memory.signer(algorithm)
    if (knownPair) return knownPair
    await load()
    const pair = memory.signer(algorithm)
    if (!pair) throw new StoreUnavailable(`There is no key for ${algorithm} that this instance can open`)
    return pair
  }

  const signatureOf = async ({ algorithm, signingKey }: KeyPair, text: string) =>
    algorithm === 'RS256'
      ? signWithRsa(signingKey, text)
      : sign('sha256', Buffer.from(text), withJwsEncoding(signingKey)).toString('base64url')

  const signToken: SignToken = async (algorithm, { typ, claims }) => {
    const pair = await signerOf(algorithm)
    const text = unsignedToken(headerFor(pair, typ), claims)
    return `${text}.${await signatureOf(pair, text)}`
  }

  const rounds = createReadingRounds({ read: load, interval, messages, log })

  return {
    load,
    start: rounds.start,
    stop: rounds.stop,
    sign: signToken,
    /** The key set (RFC 7517, 5). */
    published: async () => {
      const { set } = await loadedKeys()
      return { keys: publishedKeys(set).map(({ pair }) => pair.published) }
    },
    /** The claims of an ID token that one of our keys has signed, even a retired key. Whether the token has expired is not checked. */
    readSigned: async (token: string) => {
      const parts = tokenParts(token)
      if (!parts) return undefined
      const key = (await loadedKeys()).byHeader.get(parts.header)
      return key && verifiedClaims(parts, key)
    },
    ages: memory.ages,
  }
}

const messages = {
  failing: 'the keys of ID tokens cannot be read: going on with those that are known',
  recovered: 'the keys of ID tokens are read again',
  unopened: 'a key of ID tokens cannot be opened: SEALING_KEY must be the same at every instance',
  unreadable: 'a retired key of ID tokens is ignored: it was not sealed with this SEALING_KEY, or was changed since',
}

import type { Clock } from '../lib/clock.js'
import { acceptTransaction, type Database, type Sql, type Transaction } from '../platform/database/database.js'
import {
  type KeyAlgorithm,
  type KeyPair,
  keyAlgorithms,
  newKeyPair,
  publicPem,
  readKeyPair,
  readPublicKey,
} from './key-pair.js'
import { accessTokenSchedule, hintKeyLifetime, idTokenSchedule, type KeyState, type Schedule } from './schedule.js'
import {
  applicationKeyColumn,
  applicationPublicKeyColumn,
  type SealedColumn,
  signingKeyColumn,
} from './sealed-columns.js'
import type { SealedValues } from './sealed-values.js'
import * as store from './signing-keys.store.js'

/** What keys are for: their table, and their schedule. */
type KeyPurpose = {
  schedule: Schedule
  advisoryLock: number
  privateKeys: SealedColumn
  select: typeof store.selectIdTokenKeys
  insert: typeof store.insertIdTokenKey
  deleteAll: typeof store.deleteAllIdTokenKeys
  deleteKeys: typeof store.deleteIdTokenKeys
  /** The public halves that are kept after the private ones, for tokens that come back as hints. */
  hints: { publicKeys: SealedColumn; retire: typeof store.retireIdTokenKeys } | undefined
}

/** Access tokens of sessions, with ACCESS_TOKEN_ALGORITHM=ES256. */
export const accessTokenKeys: KeyPurpose = {
  schedule: accessTokenSchedule,
  advisoryLock: 7_210_452,
  privateKeys: signingKeyColumn,
  select: store.selectAccessTokenKeys,
  insert: store.insertAccessTokenKey,
  deleteAll: store.deleteAllAccessTokenKeys,
  deleteKeys: store.deleteAccessTokenKeys,
  hints: undefined,
}

/** ID tokens and logout tokens for applications, for each algorithm that one of these uses. */
export const idTokenKeys: KeyPurpose = {
  schedule: idTokenSchedule,
  advisoryLock: 7_210_453,
  privateKeys: applicationKeyColumn,
  select: store.selectIdTokenKeys,
  insert: store.insertIdTokenKey,
  deleteAll: store.deleteAllIdTokenKeys,
  deleteKeys: store.deleteIdTokenKeys,
  hints: { publicKeys: applicationPublicKeyColumn, retire: store.retireIdTokenKeys },
}

/**
 * Without `pair`, the key is retired, or sealed with a SEALING_KEY that this process does not have. Without `publicKey`, it verifies
 * nothing.
 */
export type SigningKey = {
  id: string
  algorithm: KeyAlgorithm
  createdAt: Date
  signsFrom: number
  isRetired: boolean
  pair?: KeyPair
  publicKey?: KeyPair['publicKey']
}
type OpenedKey = SigningKey & { pair: KeyPair }

/** `now` and the times of keys are by the clock of the database. `usedAlgorithms`: those that need a key. */
export type KeySet = { now: number; keys: SigningKey[]; usedAlgorithms: KeyAlgorithm[] }

/** Whether the private key was sealed with a SEALING_KEY that this process does not have. */
export const isUnopened = ({ isRetired, pair }: SigningKey) => !isRetired && !pair

/**
 * Whether the key is retired, and its public key was not sealed by this service, or not for this row. Tokens that it has signed are not
 * accepted as hints.
 */
export const isUnreadable = ({ isRetired, publicKey }: SigningKey) => isRetired && !publicKey

/** The keys of one algorithm that this process can sign with. Keys that it cannot open do not change when these sign. */
const openedKeys = ({ keys }: KeySet, algorithm: KeyAlgorithm) =>
  keys.filter((key): key is OpenedKey => key.algorithm === algorithm && key.pair !== undefined)

const hasUnopened = ({ keys }: KeySet, algorithm: KeyAlgorithm) =>
  keys.some((key) => key.algorithm === algorithm && isUnopened(key))

type ReadKeys = (sql?: Sql) => Promise<KeySet>
type Given = { database: Database; clock: Clock; sealedValues: SealedValues }

/** Reads and opens the keys of the database. */
const createReadKeys = (purpose: KeyPurpose, { database, clock, sealedValues }: Given) => {
  const privateKeys = sealedValues.of(purpose.privateKeys)
  const publicKeys = purpose.hints && sealedValues.of(purpose.hints.publicKeys)
  /**
   * The keys that were opened before. The id belongs to the key, so a sealed text need not be opened again. An instance whose SEALING_KEY
   * is outdated goes on with these keys.
   */
  let known = new Map<string, SigningKey>()

  const openPublicKey = ({ id, algorithm, public_key: text }: store.KeyRow) => {
    const knownKey = known.get(id)?.publicKey
    const pem = knownKey || text === null ? undefined : publicKeys?.open(id, text)
    const publicKey = knownKey ?? (pem === undefined ? undefined : readPublicKey(pem, { id, algorithm }))
    return publicKey ? { publicKey } : {}
  }

  const openPair = ({ id, algorithm }: store.KeyRow, text: string) => {
    const knownPair = known.get(id)?.pair
    if (knownPair) return knownPair
    const privateKey = privateKeys.open(id, text)
    const pair = privateKey === undefined ? undefined : readKeyPair(privateKey)
    return pair?.id === id && pair.algorithm === algorithm ? pair : undefined
  }

  const openKey = (row: store.KeyRow) => {
    if (row.private_key === null) return openPublicKey(row)
    const pair = openPair(row, row.private_key)
    return pair ? { pair, publicKey: pair.publicKey } : {}
  }

  return acceptTransaction(database)(async (sql): Promise<KeySet> => {
    const { now, algorithms: usedAlgorithms, keys: rows } = await purpose.select(sql, clock.offset())
    const keys = rows.map((row) => ({
      id: row.id,
      algorithm: row.algorithm,
      createdAt: row.created_at,
      signsFrom: row.signs_from.getTime(),
      isRetired: row.private_key === null,
      ...openKey(row),
    }))
    known = new Map(keys.map((key) => [key.id, key]))
    return { now: now.getTime(), keys, usedAlgorithms }
  })
}

export type ListedKey = {
  id: string
  algorithm: KeyAlgorithm
  /** `hints`: only its public half is left, for ID tokens that come back as a hint. */
  state: KeyState | 'hints' | 'unopened' | 'unreadable'
  createdAt: Date
  signsFrom: Date
  trustedUntil?: Date
}

const stateOf = (key: SigningKey, trusted: { state: KeyState } | undefined) => {
  if (isUnopened(key)) return 'unopened'
  if (trusted) return trusted.state
  return isUnreadable(key) ? 'unreadable' : 'hints'
}

/** The keys that are trusted and published, each with its state. */
const trustedKeys = ({ schedule }: KeyPurpose, keySet: KeySet) =>
  keyAlgorithms.flatMap((algorithm) => schedule.trustedAt(openedKeys(keySet, algorithm), keySet.now))

/** The algorithms whose next key is due. Keys that cannot be opened belong to instances with another SEALING_KEY, which a new key would not help. */
const dueAlgorithms = ({ schedule }: KeyPurpose, keySet: KeySet) =>
  keySet.usedAlgorithms.filter(
    (algorithm) => schedule.isNextDue(openedKeys(keySet, algorithm), keySet.now) && !hasUnopened(keySet, algorithm),
  )

/** Lists the keys for operators. */
const listKeys = (purpose: KeyPurpose, keySet: KeySet): ListedKey[] => {
  const trustedById = new Map(trustedKeys(purpose, keySet).map((key) => [key.id, key]))
  const isListed = (key: SigningKey) => purpose.hints !== undefined || isUnopened(key) || trustedById.has(key.id)
  return keySet.keys.filter(isListed).map((key) => {
    const { id, algorithm, createdAt, signsFrom } = key
    const trustedUntil = trustedById.get(id)?.trustedUntil
    return {
      id,
      algorithm,
      state: stateOf(key, trustedById.get(id)),
      createdAt,
      signsFrom: new Date(signsFrom),
      ...(trustedUntil !== undefined && { trustedUntil: new Date(trustedUntil) }),
    }
  })
}

/**
 * Deletes the keys whose last token has expired. If tokens may come back as hints, only the private half goes first, and the whole key
 * later. A key that cannot be read is left alone: it may belong to instances with another SEALING_KEY, and no one has checked the public
 * half that would be left to verify hints.
 */
const purgeKeys = async (sql: Sql, purpose: KeyPurpose, keySet: KeySet) => {
  const { hints, deleteKeys } = purpose
  const trustedIds = new Set(trustedKeys(purpose, keySet).map(({ id }) => id))
  const readableKeys = keySet.keys.filter((key) => !isUnopened(key) && !isUnreadable(key))
  const oldKeys = readableKeys.filter(({ id }) => !trustedIds.has(id))
  const isPastHintLifetime = ({ algorithm, signsFrom }: SigningKey) => {
    const next = readableKeys.find((key) => key.algorithm === algorithm && key.signsFrom > signsFrom)
    return next !== undefined && next.signsFrom + hintKeyLifetime <= keySet.now
  }
  if (oldKeys.length === 0) return 0
  const idsOf = (keys: readonly SigningKey[]) => keys.map(({ id }) => id)
  if (!hints) return (await deleteKeys(sql, idsOf(oldKeys))).length
  const retired = await hints.retire(sql, idsOf(oldKeys.filter(({ isRetired }) => !isRetired)))
  const deleted = await deleteKeys(sql, idsOf(oldKeys.filter((key) => key.isRetired && isPastHintLifetime(key))))
  return retired.length + deleted.length
}

/** Makes and removes keys. A pair is made before its transaction, which awaits statements only. */
const createKeyMaking = (purpose: KeyPurpose, { database, clock, sealedValues }: Given, read: ReadKeys) => {
  const { schedule } = purpose

  /** Runs `work` in one process at a time, with the keys as they are then. So two processes that start at once make one key. */
  const withLock = <Result>(work: (sql: Transaction, keySet: KeySet) => Promise<Result>) =>
    database.transaction(async (sql) => {
      await store.lock(sql, purpose.advisoryLock)
      return work(sql, await read(sql))
    })

  /** Seals a key and stores it. The key signs after `delay` milliseconds. Until then it is only published. */
  const add = async (sql: Sql, pair: KeyPair, delay: number) => {
    const { id, algorithm } = pair
    const privateKey = sealedValues.of(purpose.privateKeys).seal(id, pair.privateKey)
    const publicKey = purpose.hints ? sealedValues.of(purpose.hints.publicKeys).seal(id, publicPem(pair)) : null
    const times = { delay, offset: clock.offset() }
    const [row] = await purpose.insert(sql, { id, algorithm, privateKey, publicKey }, times)
    if (!row) throw new Error('The database gave no row for a key that was stored')
    return { id, algorithm, signsFrom: row.signs_from }
  }

  const delayIn = (keySet: KeySet, algorithm: KeyAlgorithm) => schedule.delayAfter(openedKeys(keySet, algorithm))

  const makeNext = async (algorithm: KeyAlgorithm) => {
    const pair = await newKeyPair(algorithm)
    return withLock(async (sql, keySet) =>
      dueAlgorithms(purpose, keySet).includes(algorithm) ? add(sql, pair, delayIn(keySet, algorithm)) : undefined,
    )
  }

  const waitingKeyOf = (keySet: KeySet, algorithm: KeyAlgorithm) => {
    const key = schedule.waitingAt(openedKeys(keySet, algorithm), keySet.now)
    return key && { id: key.id, algorithm, signsFrom: new Date(key.signsFrom), isNew: false, now: new Date(keySet.now) }
  }

  const rotate = async (algorithm: KeyAlgorithm) => {
    const waitingKey = waitingKeyOf(await read(), algorithm)
    if (waitingKey) return waitingKey
    const pair = await newKeyPair(algorithm)
    return withLock(async (sql, keySet) => {
      if (hasUnopened(keySet, algorithm)) return undefined
      const waitingKeyNow = waitingKeyOf(keySet, algorithm)
      if (waitingKeyNow) return waitingKeyNow
      const addedKey = await add(sql, pair, delayIn(keySet, algorithm))
      return { ...addedKey, isNew: true, now: new Date(keySet.now) }
    })
  }

  return { withLock, add, makeNext, rotate }
}

const idsIn = (rows: readonly { id: string }[]) => rows.map(({ id }) => id)

export type SigningKeys = ReturnType<typeof createSigningKeys>

/** The key pairs of one purpose in the database: reading, making and removing them. */
export const createSigningKeys = (purpose: KeyPurpose, given: Given) => {
  const read = createReadKeys(purpose, given)
  const { withLock, add, makeNext, rotate } = createKeyMaking(purpose, given, read)

  return {
    read,
    trusted: (keySet: KeySet) => trustedKeys(purpose, keySet),
    due: (keySet: KeySet) => dueAlgorithms(purpose, keySet),
    list: async () => listKeys(purpose, await read()),

    /** Makes the next key of each algorithm in use if it is due, and the first key of an algorithm that has none. */
    makeIfDue: async () => {
      const newKeys = []
      for (const algorithm of dueAlgorithms(purpose, await read())) newKeys.push(await makeNext(algorithm))
      return newKeys.filter((key) => key !== undefined)
    },

    /** Makes the next key of each algorithm in use before it is due, unless one is waiting already. Undefined if a key cannot be opened. */
    rotate: async () => {
      const { keys, usedAlgorithms } = await read()
      if (keys.some(isUnopened)) return undefined
      const nextKeys = []
      for (const algorithm of usedAlgorithms) nextKeys.push(await rotate(algorithm))
      return nextKeys.filter((key) => key !== undefined)
    },

    /** Removes every key, even those that cannot be opened or only verify hints. Returns their ids. */
    withdrawAll: () => withLock(async (sql) => idsIn(await purpose.deleteAll(sql))),

    /** Removes every key, and makes one for each algorithm in use. The new keys sign at once. */
    replaceAll: async () => {
      const { usedAlgorithms } = await read()
      const pairs = await Promise.all(usedAlgorithms.map(newKeyPair))
      return withLock(async (sql) => {
        const removed = idsIn(await purpose.deleteAll(sql))
        const made = []
        for (const pair of pairs) made.push(await add(sql, pair, 0))
        return { made, removed }
      })
    },

    purge: async (sql: Sql) => purgeKeys(sql, purpose, await read(sql)),
  }
}

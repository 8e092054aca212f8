import type { Clock } from '../lib/clock.js'
import type { Database, Transaction } from '../platform/database/database.js'
import { newKeyPair } from './application-key-pair.js'
import {
  type ApplicationKeySet,
  applicationKeySchedule,
  createAddKey,
  createReadKeys,
  hasUnopened,
  isUnopened,
  keysFor,
  type ReadKeys,
} from './application-key-records.js'
import * as store from './application-keys.store.js'
import { createListKeys } from './list-keys.js'
import { createPurgeKeys } from './purge-keys.js'
import type { SealedValues } from './sealed-values.js'
import type { ApplicationAlgorithm } from './signed-token.js'

export type ApplicationKeys = ReturnType<typeof createApplicationKeys>

type Dependencies = {
  database: Database
  clock: Clock
  sealedValues: SealedValues
}

const { delayAfter, isNextDue, waitingAt } = applicationKeySchedule

/**
 * The algorithms whose next key is due. An algorithm with keys that cannot be opened is left to the instances with the other SEALING_KEY.
 */
export const dueAlgorithms = ({ now, keys, usedAlgorithms }: ApplicationKeySet) =>
  usedAlgorithms.filter((algorithm) => isNextDue(keysFor(keys, algorithm), now) && !hasUnopened(keys, algorithm))

/** Makes a key, and stores it unless another process was first. The pair is made before the transaction, which awaits statements only. */
const createKeyMaking = (deps: Dependencies, read: ReadKeys) => {
  const { database } = deps
  const add = createAddKey(deps)

  /** Runs `work` in one process at a time, with the keys as they are then. So two processes that start at once make one key. */
  const withLock = <Result>(work: (sql: Transaction, keySet: ApplicationKeySet) => Promise<Result>) =>
    database.transaction(async (sql) => {
      await store.lock(sql)
      return work(sql, await read(sql))
    })

  const makeNext = async (algorithm: ApplicationAlgorithm) => {
    const pair = await newKeyPair(algorithm)
    return withLock(async (sql, keySet) =>
      dueAlgorithms(keySet).includes(algorithm)
        ? add(sql, pair, delayAfter(keysFor(keySet.keys, algorithm)))
        : undefined,
    )
  }

  const waitingKeyOf = ({ now, keys }: ApplicationKeySet, algorithm: ApplicationAlgorithm) => {
    const key = waitingAt(keysFor(keys, algorithm), now)
    return key && { id: key.id, algorithm, signsFrom: new Date(key.signsFrom), isNew: false, now: new Date(now) }
  }

  const rotateAlgorithm = async (algorithm: ApplicationAlgorithm) => {
    const waitingKey = waitingKeyOf(await read(), algorithm)
    if (waitingKey) return waitingKey
    const pair = await newKeyPair(algorithm)
    return withLock(async (sql, keySet) => {
      if (hasUnopened(keySet.keys, algorithm)) return undefined
      const waitingKeyNow = waitingKeyOf(keySet, algorithm)
      if (waitingKeyNow) return waitingKeyNow
      const addedKey = await add(sql, pair, delayAfter(keysFor(keySet.keys, algorithm)))
      return { ...addedKey, isNew: true, now: new Date(keySet.now) }
    })
  }

  return { withLock, add, makeNext, rotateAlgorithm }
}

/** The key pairs of ID tokens and logout tokens in the database: reading, making and removing them. */
export const createApplicationKeys = (deps: Dependencies) => {
  const read = createReadKeys(deps)
  const { withLock, add, makeNext, rotateAlgorithm } = createKeyMaking(deps, read)

  return {
    read,

    /** Makes the next key of each algorithm in use if it is due, and the first key of an algorithm that has none. */
    makeIfDue: async () => {
      const newKeys = []
      for (const algorithm of dueAlgorithms(await read())) newKeys.push(await makeNext(algorithm))
      return newKeys.filter((key) => key !== undefined)
    },

    /** Makes the next key of each algorithm in use before it is due, unless one is waiting already. Undefined if a key cannot be opened. */
    rotate: async () => {
      const { keys, usedAlgorithms } = await read()
      if (keys.some(isUnopened)) return undefined
      const nextKeys = []
      for (const algorithm of usedAlgorithms) nextKeys.push(await rotateAlgorithm(algorithm))
      return nextKeys.filter((key) => key !== undefined)
    },

    /** Removes every key, also those that only verify hints, and makes one for each algorithm in use. The new keys sign at once. */
    replaceAll: async () => {
      const { usedAlgorithms } = await read()
      const pairs = await Promise.all(usedAlgorithms.map((algorithm) => newKeyPair(algorithm)))
      return withLock(async (sql) => {
        const removed = await store.deleteAll(sql)
        const made = []
        for (const pair of pairs) made.push(await add(sql, pair, 0))
        return { made, removed: removed.map(({ id }) => id) }
      })
    },

    list: createListKeys(read),
    purge: createPurgeKeys(read),
  }
}

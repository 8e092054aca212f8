import type { Clock } from '../../lib/clock.js'
import type { Database, Transaction } from '../../platform/database/database.js'
import type { SealedValues } from '../sealed-values/sealed-values.js'
import * as store from './application-keys.store.js'
import { newKeyPair } from './key-pair.js'
import {
  type ApplicationKeySet,
  applicationKeySchedule,
  createAddKey,
  createReadKeys,
  hasUnopened,
  isUnopened,
  keysFor,
  type ReadKeys,
} from './key-records.js'
import { createListKeys } from './list-keys.js'
import { createPurgeKeys } from './purge-keys.js'
import type { ApplicationAlgorithm } from './signed-token.js'

export type ApplicationKeys = ReturnType<typeof createApplicationKeys>

type Dependencies = {
  database: Database
  clock: Clock
  sealedValues: Pick<SealedValues, 'of'>
}

const { delayAfter, isNextDue, waitingAt } = applicationKeySchedule

/** The algorithms whose next key it is time to make. Keys that cannot be opened belong to instances with another SEALING_KEY. */
export const dueAlgorithms = ({ now, keys, inUse }: ApplicationKeySet) =>
  inUse.filter((algorithm) => isNextDue(keysFor(keys, algorithm), now) && !hasUnopened(keys, algorithm))

/** Makes a key, and stores it unless another process was first. The key is made before the transaction: it awaits statements only. */
const createKeyMaking = (deps: Dependencies, read: ReadKeys) => {
  const { database } = deps
  const add = createAddKey(deps)

  /** One process at a time, and with the keys as they are then: two that start at once make one key. */
  const withLock = <Result>(work: (sql: Transaction, found: ApplicationKeySet) => Promise<Result>) =>
    database.transaction(async (sql) => {
      await store.lock(sql)
      return work(sql, await read(sql))
    })

  const makeNext = async (algorithm: ApplicationAlgorithm) => {
    const pair = await newKeyPair(algorithm)
    return withLock(async (sql, found) =>
      dueAlgorithms(found).includes(algorithm) ? add(sql, pair, delayAfter(keysFor(found.keys, algorithm))) : undefined,
    )
  }

  const waitingOf = ({ now, keys }: ApplicationKeySet, algorithm: ApplicationAlgorithm) => {
    const key = waitingAt(keysFor(keys, algorithm), now)
    return key && { id: key.id, algorithm, signsFrom: new Date(key.signsFrom), isNew: false, now: new Date(now) }
  }

  const rotateOne = async (algorithm: ApplicationAlgorithm) => {
    const waiting = waitingOf(await read(), algorithm)
    if (waiting) return waiting
    const pair = await newKeyPair(algorithm)
    return withLock(async (sql, found) => {
      if (hasUnopened(found.keys, algorithm)) return undefined
      const delay = delayAfter(keysFor(found.keys, algorithm))
      return waitingOf(found, algorithm) ?? { ...(await add(sql, pair, delay)), isNew: true, now: new Date(found.now) }
    })
  }

  return { withLock, add, makeNext, rotateOne }
}

/** The key pairs of ID tokens and logout tokens in the database: reading, making and removing them. */
export const createApplicationKeys = (deps: Dependencies) => {
  const read = createReadKeys(deps)
  const { withLock, add, makeNext, rotateOne } = createKeyMaking(deps, read)

  return {
    read,

    /** The next key of each algorithm in use, if it is time for it; the first one if there is none. */
    makeIfDue: async () => {
      const made = []
      for (const algorithm of dueAlgorithms(await read())) made.push(await makeNext(algorithm))
      return made.filter((key) => key !== undefined)
    },

    /** Makes the next key of each algorithm in use now, unless one is waiting already. Undefined if the keys cannot be opened. */
    rotate: async () => {
      const { keys, inUse } = await read()
      if (keys.some(isUnopened)) return undefined
      const rotated = []
      for (const algorithm of inUse) rotated.push(await rotateOne(algorithm))
      return rotated.filter((key) => key !== undefined)
    },

    /** Removes every key, also those for hints, and makes one for each algorithm in use that signs at once. */
    replaceAll: async () => {
      const { inUse } = await read()
      const pairs = await Promise.all(inUse.map((algorithm) => newKeyPair(algorithm)))
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

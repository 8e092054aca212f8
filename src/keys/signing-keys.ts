import type { Clock } from '../lib/clock.js'
import type { Database, Sql, Transaction } from '../platform/database/database.js'
import { newKeyPair } from './key-pair.js'
import { createAddKey, createListKeys, createReadKeys, type KeySet } from './key-records.js'
import { accessTokenSchedule } from './schedule.js'
import type { SealedValues } from './sealed-values.js'
import * as store from './signing-keys.store.js'

export type { KeySet, ListedKey } from './key-records.js'

const { delayAfter, isNextDue, trustedAt, waitingAt } = accessTokenSchedule

export type SigningKeys = ReturnType<typeof createSigningKeys>

type Dependencies = { database: Database; clock: Clock; sealedValues: SealedValues }

/** Removes all keys, even those that cannot be opened. Returns their ids. */
const removeAll = async (sql: Transaction, { keys, unopened }: KeySet) => {
  const removed = await store.deleteKeys(sql, [...keys.map(({ id }) => id), ...unopened])
  return removed.map(({ id }) => id)
}

/** The key pairs of ES256 in the database: reading, making and removing them. */
export const createSigningKeys = (deps: Dependencies) => {
  const { database } = deps
  const read = createReadKeys(deps)
  const add = createAddKey(deps)

  /** Runs `work` in one process at a time, with the keys as they are then. So two processes that start at once make one key. */
  const withLock = <Result>(work: (sql: Transaction, keySet: KeySet) => Promise<Result>) =>
    database.transaction(async (sql) => {
      await store.lock(sql)
      return work(sql, await read(sql))
    })

  return {
    read,

    /** Makes the next key if it is due, and the first key if there is none. */
    makeIfDue: async () => {
      const pair = newKeyPair()
      return withLock(async (sql, { now, keys, unopened }) =>
        // Keys that cannot be opened belong to instances with another SEALING_KEY, and a new key would not help these.
        isNextDue(keys, now) && unopened.length === 0 ? add(sql, pair, delayAfter(keys)) : undefined,
      )
    },

    /** Makes the next key now, unless one is waiting already. Undefined if the keys cannot be opened. */
    rotate: async () => {
      const pair = newKeyPair()
      return withLock(async (sql, { now, keys, unopened }) => {
        if (unopened.length > 0) return undefined
        const waitingKey = waitingAt(keys, now)
        if (waitingKey)
          return { id: waitingKey.id, signsFrom: new Date(waitingKey.signsFrom), isNew: false, now: new Date(now) }
        return { ...(await add(sql, pair, delayAfter(keys))), isNew: true, now: new Date(now) }
      })
    },

    /** Removes all keys, and returns their ids. */
    withdrawAll: () => withLock(removeAll),

    /** Removes all keys, and makes one that signs at once. */
    replaceAll: async () => {
      const pair = newKeyPair()
      return withLock(async (sql, keySet) => {
        const removed = await removeAll(sql, keySet)
        return { ...(await add(sql, pair, 0)), removed }
      })
    },

    list: createListKeys(deps, read),

    /** Deletes the keys whose last token has expired. */
    purge: async (sql: Sql) => {
      const { now, keys } = await read(sql)
      const trustedIds = new Set(trustedAt(keys, now).map(({ id }) => id))
      const oldIds = keys.map(({ id }) => id).filter((id) => !trustedIds.has(id))
      return oldIds.length === 0 ? 0 : (await store.deleteKeys(sql, oldIds)).length
    },
  }
}

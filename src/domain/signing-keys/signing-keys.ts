import type { Clock } from '../../lib/clock.js'
import type { Database, Sql, Transaction } from '../../platform/database/database.js'
import type { SealedValues } from '../sealed-values/sealed-values.js'
import { accessTokenSchedule } from './access-token-schedule.js'
import { newKeyPair } from './key-pair.js'
import { createAddKey, createListKeys, createReadKeys, type KeySet } from './key-records.js'
import * as store from './signing-keys.store.js'

export type { KeySet, ListedKey } from './key-records.js'

const { delayAfter, isNextDue, trustedAt, waitingAt } = accessTokenSchedule

export type SigningKeys = ReturnType<typeof createSigningKeys>

type Dependencies = { database: Database; clock: Clock; sealedValues: Pick<SealedValues, 'of'> }

/** Keys that cannot be opened are removed as well. */
const removeAll = async (sql: Transaction, { keys, unopened }: KeySet) => {
  const removed = await store.deleteKeys(sql, [...keys.map(({ id }) => id), ...unopened])
  return removed.map(({ id }) => id)
}

/** The key pairs of ES256 in the database: reading, making and removing them. */
export const createSigningKeys = (deps: Dependencies) => {
  const { database } = deps
  const read = createReadKeys(deps)
  const add = createAddKey(deps)

  /** One process at a time, and with the keys as they are then: two that start at once make one key. */
  const withLock = <Result>(work: (sql: Transaction, found: KeySet) => Promise<Result>) =>
    database.transaction(async (sql) => {
      await store.lock(sql)
      return work(sql, await read(sql))
    })

  return {
    read,

    /** The next key if it is time for it, and the first one if there is none. */
    makeIfDue: async () => {
      const pair = newKeyPair()
      return withLock(async (sql, { now, keys, unopened }) =>
        // Keys that cannot be opened belong to instances with another SEALING_KEY, and a new one would not help them.
        isNextDue(keys, now) && unopened.length === 0 ? add(sql, pair, delayAfter(keys)) : undefined,
      )
    },

    /** Makes the next key now, unless one is waiting already. Undefined if the keys cannot be opened. */
    rotate: async () => {
      const pair = newKeyPair()
      return withLock(async (sql, { now, keys, unopened }) => {
        if (unopened.length > 0) return undefined
        const waiting = waitingAt(keys, now)
        if (waiting) return { id: waiting.id, signsFrom: new Date(waiting.signsFrom), isNew: false, now: new Date(now) }
        return { ...(await add(sql, pair, delayAfter(keys))), isNew: true, now: new Date(now) }
      })
    },

    /** Returns the ids of all keys, which it removed. */
    withdrawAll: () => withLock(removeAll),

    /** The same, and makes a key that signs at once. */
    replaceAll: async () => {
      const pair = newKeyPair()
      return withLock(async (sql, found) => {
        const removed = await removeAll(sql, found)
        return { ...(await add(sql, pair, 0)), removed }
      })
    },

    list: createListKeys(deps, read),

    /** Deletes the keys whose last token has expired. */
    purge: async (sql: Sql) => {
      const { now, keys } = await read(sql)
      const trusted = new Set(trustedAt(keys, now).map(({ id }) => id))
      const old = keys.map(({ id }) => id).filter((id) => !trusted.has(id))
      return old.length === 0 ? 0 : (await store.deleteKeys(sql, old)).length
    },
  }
}

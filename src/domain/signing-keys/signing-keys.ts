import type { Clock } from '../../lib/clock.js'
import type { Database, Sql, Transaction } from '../../platform/database/database.js'
import { signingKeyColumn } from '../sealed-values/sealed-columns.js'
import type { SealedValues } from '../sealed-values/sealed-values.js'
import { type KeyPair, newKeyPair, readKeyPair } from './key-pair.js'
import { announcedFor, isNextDue, type KeyState, signerAt, trustedAt } from './schedule.js'
import * as store from './signing-keys.store.js'

export type SigningKey = { id: string; createdAt: Date; signsFrom: number; pair: KeyPair }

/** Times are those of the database. `unopened` are keys that were sealed with a key that this process does not have. */
export type KeySet = { now: number; keys: SigningKey[]; unopened: string[] }

export type ListedKey = {
  id: string
  state: KeyState | 'unopened'
  createdAt: Date
  signsFrom: Date
  trustedUntil?: Date
}

export type SigningKeys = ReturnType<typeof createSigningKeys>

type Dependencies = { database: Database; clock: Clock; sealedValues: Pick<SealedValues, 'of'> }

/** The key pairs of ES256 in the database: reading, making and removing them. */
export const createSigningKeys = ({ database, clock, sealedValues }: Dependencies) => {
  const sealed = sealedValues.of(signingKeyColumn)
  /**
   * Opened before. The id belongs to the key, so the sealed text need not be opened again: an instance whose SEALING_KEY is a
   * step behind goes on with what it has.
   */
  let opened = new Map<string, KeyPair>()

  const openKey = ({ id, private_key: text }: store.KeyRow) => {
    const known = opened.get(id)
    if (known) return known
    const privateKey = sealed.open(id, text)
    return privateKey === undefined ? undefined : readKeyPair(privateKey)
  }

  const read = async (sql: Sql = database): Promise<KeySet> => {
    const { now, keys: rows } = await store.selectAll(sql, clock.offset())
    const found = rows.map((row) => ({ row, pair: openKey(row) }))
    const keys = found.flatMap(({ row: { id, created_at: createdAt, signs_from }, pair }) =>
      pair ? [{ id, createdAt, signsFrom: signs_from.getTime(), pair }] : [],
    )
    opened = new Map(found.flatMap(({ row, pair }) => (pair ? [[row.id, pair]] : [])))
    const unopened = found.flatMap(({ row, pair }) => (pair ? [] : [row.id]))
    return { now: now.getTime(), keys, unopened }
  }

  /** The first key signs at once. Later ones are published first. */
  const add = async (sql: Sql, pair: KeyPair, delay: number) => {
    const privateKey = sealed.seal(pair.id, pair.privateKey)
    const [row] = await store.insert(sql, { id: pair.id, privateKey }, { delay, offset: clock.offset() })
    if (!row) throw new Error('The database gave no row for a key that was stored')
    return { id: pair.id, signsFrom: row.signs_from }
  }

  /** One process at a time, and with the keys as they are then: two that start at once make one key. */
  const alone = <Result>(work: (sql: Transaction, found: KeySet) => Promise<Result>) =>
    database.transaction(async (sql) => {
      await store.lock(sql)
      return work(sql, await read(sql))
    })

  const delayAfter = (keys: readonly SigningKey[]) => (keys.length === 0 ? 0 : announcedFor)

  return {
    read,

    /** The next key if it is time for it, and the first one if there is none. */
    makeIfDue: async () => {
      const pair = newKeyPair()
      return alone(async (sql, { now, keys, unopened }) =>
        // Keys that cannot be opened belong to instances with another SEALING_KEY, and a new one would not help them.
        isNextDue(keys, now) && unopened.length === 0 ? add(sql, pair, delayAfter(keys)) : undefined,
      )
    },

    /** Makes the next key now, unless one is waiting already. Undefined if the keys cannot be opened. */
    rotate: async () => {
      const pair = newKeyPair()
      return alone(async (sql, { now, keys, unopened }) => {
        if (unopened.length > 0) return undefined
        const waiting = keys.find((key) => key.signsFrom > now && key !== signerAt(keys, now))
        if (waiting) return { id: waiting.id, signsFrom: new Date(waiting.signsFrom), isNew: false, now: new Date(now) }
        return { ...(await add(sql, pair, delayAfter(keys))), isNew: true, now: new Date(now) }
      })
    },

    /** Removes every key and makes one that signs at once. Keys that cannot be opened are removed as well. */
    replaceAll: async () => {
      const pair = newKeyPair()
      return alone(async (sql, { keys, unopened }) => {
        const removed = await store.deleteKeys(sql, [...keys.map(({ id }) => id), ...unopened])
        return { ...(await add(sql, pair, 0)), removed: removed.map(({ id }) => id) }
      })
    },

    list: async (): Promise<ListedKey[]> => {
      const { now, keys, unopened } = await read()
      const listed = trustedAt(keys, now).map(({ id, state, createdAt, signsFrom, trustedUntil: end }) => ({
        id,
        state,
        createdAt,
        signsFrom: new Date(signsFrom),
        ...(end !== undefined && { trustedUntil: new Date(end) }),
      }))
      const { keys: rows } = await store.selectAll(database, clock.offset())
      const others = rows.filter(({ id }) => unopened.includes(id))
      return [
        ...listed,
        ...others.map(({ id, created_at: createdAt, signs_from: signsFrom }) => {
          return { id, state: 'unopened' as const, createdAt, signsFrom }
        }),
      ]
    },

    /** Deletes the keys whose last token has expired. */
    purge: async (sql: Sql) => {
      const { now, keys } = await read(sql)
      const trusted = new Set(trustedAt(keys, now).map(({ id }) => id))
      const old = keys.map(({ id }) => id).filter((id) => !trusted.has(id))
      return old.length === 0 ? 0 : (await store.deleteKeys(sql, old)).length
    },
  }
}

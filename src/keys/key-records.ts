import type { Clock } from '../lib/clock.js'
import { acceptTransaction, type Database, type Sql } from '../platform/database/database.js'
import { type KeyPair, readKeyPair } from './key-pair.js'
import { accessTokenSchedule, type KeyState } from './schedule.js'

import { signingKeyColumn } from './sealed-columns.js'
import type { SealedValues } from './sealed-values.js'
import * as store from './signing-keys.store.js'

export type SigningKey = { id: string; createdAt: Date; signsFrom: number; pair: KeyPair }

/**
 * `now` and the times of keys are by the clock of the database. `unopened`: the ids of keys that were sealed with a SEALING_KEY that this
 * process does not have.
 */
export type KeySet = { now: number; keys: SigningKey[]; unopened: string[] }

export type ListedKey = {
  id: string
  state: KeyState | 'unopened'
  createdAt: Date
  signsFrom: Date
  trustedUntil?: Date
}

type Dependencies = { database: Database; clock: Clock; sealedValues: SealedValues }

/** Reads and opens the keys of the database. */
export const createReadKeys = ({ database, clock, sealedValues }: Dependencies) => {
  const privateKeySealing = sealedValues.of(signingKeyColumn)
  /**
   * The keys that were opened before. The id belongs to the key, so a sealed text need not be opened again. An instance whose SEALING_KEY
   * is outdated goes on with these keys.
   */
  let openedPairs = new Map<string, KeyPair>()

  const openKey = ({ id, private_key: text }: store.KeyRow) => {
    const knownPair = openedPairs.get(id)
    if (knownPair) return knownPair
    const privateKey = privateKeySealing.open(id, text)
    return privateKey === undefined ? undefined : readKeyPair(privateKey)
  }

  return acceptTransaction(database)(async (sql): Promise<KeySet> => {
    const { now, keys: rows } = await store.selectAll(sql, clock.offset())
    const openedRows = rows.map((row) => ({ row, pair: openKey(row) }))
    const keys = openedRows.flatMap(({ row: { id, created_at: createdAt, signs_from }, pair }) =>
      pair ? [{ id, createdAt, signsFrom: signs_from.getTime(), pair }] : [],
    )
    openedPairs = new Map(openedRows.flatMap(({ row, pair }) => (pair ? [[row.id, pair]] : [])))
    const unopened = openedRows.flatMap(({ row, pair }) => (pair ? [] : [row.id]))
    return { now: now.getTime(), keys, unopened }
  })
}

/** Seals a key and stores it. The key signs after `delay` milliseconds. Until then it is only published. */
export const createAddKey =
  ({ clock, sealedValues }: Dependencies) =>
  async (sql: Sql, pair: KeyPair, delay: number) => {
    const privateKey = sealedValues.of(signingKeyColumn).seal(pair.id, pair.privateKey)
    const [row] = await store.insert(sql, { id: pair.id, privateKey }, { delay, offset: clock.offset() })
    if (!row) throw new Error('The database gave no row for a key that was stored')
    return { id: pair.id, signsFrom: row.signs_from }
  }

type ReadKeys = ReturnType<typeof createReadKeys>

/** Lists the keys that are still trusted, and those that cannot be opened, for operators. */
export const createListKeys =
  ({ database, clock }: Dependencies, read: ReadKeys) =>
  async (): Promise<ListedKey[]> => {
    const { now, keys, unopened } = await read()
    const trustedKeys = accessTokenSchedule
      .trustedAt(keys, now)
      .map(({ id, state, createdAt, signsFrom, trustedUntil: end }) => ({
        id,
        state,
        createdAt,
        signsFrom: new Date(signsFrom),
        ...(end !== undefined && { trustedUntil: new Date(end) }),
      }))
    const { keys: rows } = await store.selectAll(database, clock.offset())
    const unopenedRows = rows.filter(({ id }) => unopened.includes(id))
    return [
      ...trustedKeys,
      ...unopenedRows.map(({ id, created_at: createdAt, signs_from: signsFrom }) => {
        return { id, state: 'unopened' as const, createdAt, signsFrom }
      }),
    ]
  }

import type { Clock } from '../lib/clock.js'
import { days, hours, minutes } from '../lib/durations.js'
import { acceptTransaction, type Database, type Sql } from '../platform/database/database.js'
import { type KeyPair, readKeyPair, readPublicKey } from './application-key-pair.js'
import * as store from './application-keys.store.js'
import { createSchedule } from './schedule.js'
import { applicationKeyColumn, applicationPublicKeyColumn } from './sealed-columns.js'
import type { SealedValues } from './sealed-values.js'
import { type ApplicationAlgorithm, applicationAlgorithms } from './signed-token.js'

/** More than the longest lifetime of a token (ID tokens: 10 minutes) plus the difference between the clocks of two instances. */
const tokenMargin = 15 * minutes

/** Applications cache the key set for hours, some for a day. */
export const applicationKeySchedule = createSchedule({
  announcedFor: 24 * hours,
  trustedAfterwards: 24 * hours + tokenMargin,
})

/**
 * How long a public key is kept after the next key signs, for ID tokens that come back as a hint (`id_token_hint`): as long as a session
 * lasts by default (SESSION_MAX_AGE). The ID token of a longer session is not accepted as a hint any more, so logout asks the user first.
 */
export const hintKeyLifetime = 365 * days

/**
 * Without `pair`, the key is retired, or sealed with a SEALING_KEY that this process does not have. Without `publicKey`, it verifies
 * nothing.
 */
export type ApplicationKey = {
  id: string
  algorithm: ApplicationAlgorithm
  createdAt: Date
  signsFrom: number
  isRetired: boolean
  pair?: KeyPair
  publicKey?: KeyPair['publicKey']
}

/** `now` and the times of keys are by the clock of the database. `usedAlgorithms`: those that applications use. */
export type ApplicationKeySet = { now: number; keys: ApplicationKey[]; usedAlgorithms: ApplicationAlgorithm[] }

/** Whether the private key was sealed with a SEALING_KEY that this process does not have. */
export const isUnopened = ({ isRetired, pair }: ApplicationKey) => !isRetired && !pair

/**
 * Whether the key is retired, and its public key was not sealed by this service, or not for this row. Tokens that it has signed are not
 * accepted as hints.
 */
export const isUnreadable = ({ isRetired, publicKey }: ApplicationKey) => isRetired && !publicKey

type OpenedKey = ApplicationKey & { pair: KeyPair }

/** The keys of one algorithm that this process can sign with. Keys that it cannot open do not change when these sign. */
export const keysFor = (keys: readonly ApplicationKey[], algorithm: ApplicationAlgorithm) =>
  keys.filter((key): key is OpenedKey => key.algorithm === algorithm && key.pair !== undefined)

export const hasUnopened = (keys: readonly ApplicationKey[], algorithm: ApplicationAlgorithm) =>
  keys.some((key) => key.algorithm === algorithm && isUnopened(key))

/** The keys that are published, each with its state. */
export const publishedKeys = ({ keys, now }: ApplicationKeySet) =>
  applicationAlgorithms.flatMap((algorithm) => applicationKeySchedule.trustedAt(keysFor(keys, algorithm), now))

type OpenedParts = Pick<ApplicationKey, 'pair' | 'publicKey'>

type Dependencies = { database: Database; clock: Clock; sealedValues: SealedValues }

/** Reads and opens the keys of the database. */
export const createReadKeys = ({ database, clock, sealedValues }: Dependencies) => {
  const privateKeySealing = sealedValues.of(applicationKeyColumn)
  const publicKeySealing = sealedValues.of(applicationPublicKeyColumn)
  /** The keys that were opened before. An instance whose SEALING_KEY is outdated goes on with them. */
  let openedKeys = new Map<string, OpenedParts>()

  const openPublicKey = ({ id, algorithm, public_key: text }: store.KeyRow): OpenedParts => {
    const known = openedKeys.get(id)?.publicKey
    const pem = known ? undefined : publicKeySealing.open(id, text)
    const publicKey = known ?? (pem === undefined ? undefined : readPublicKey(pem, { id, algorithm }))
    return publicKey ? { publicKey } : {}
  }

  const openKey = (row: store.KeyRow): OpenedParts => {
    const { id, algorithm, private_key: text } = row
    if (text === null) return openPublicKey(row)
    const known = openedKeys.get(id)
    if (known?.pair) return known
    const privateKey = privateKeySealing.open(id, text)
    if (privateKey === undefined) return {}
    const pair = readKeyPair(privateKey)
    return pair.id === id && pair.algorithm === algorithm ? { pair, publicKey: pair.publicKey } : {}
  }

  return acceptTransaction(database)(async (sql): Promise<ApplicationKeySet> => {
    const { now, algorithms: usedAlgorithms } = await store.selectTimeAndAlgorithms(sql, clock.offset())
    const rows = await store.selectAll(sql)
    const keys = rows.map((row) => ({
      id: row.id,
      algorithm: row.algorithm,
      createdAt: row.created_at,
      signsFrom: row.signs_from.getTime(),
      isRetired: row.private_key === null,
      ...openKey(row),
    }))
    openedKeys = new Map(keys.map((key) => [key.id, key]))
    return { now: now.getTime(), keys, usedAlgorithms }
  })
}

export type ReadKeys = ReturnType<typeof createReadKeys>

/** Seals a key and stores it. The key signs after `delay` milliseconds. */
export const createAddKey =
  ({ clock, sealedValues }: Dependencies) =>
  async (sql: Sql, pair: KeyPair, delay: number) => {
    const { id, algorithm } = pair
    const privateKey = sealedValues.of(applicationKeyColumn).seal(id, pair.privateKey)
    const pem = pair.publicKey.export({ type: 'spki', format: 'pem' }).toString()
    const publicKey = sealedValues.of(applicationPublicKeyColumn).seal(id, pem)
    const [row] = await store.insert(sql, { id, algorithm, privateKey, publicKey }, { delay, offset: clock.offset() })
    if (!row) throw new Error('The database gave no row for a key that was stored')
    return { id, algorithm, signsFrom: row.signs_from }
  }

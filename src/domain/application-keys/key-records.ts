import type { Clock } from '../../lib/clock.js'
import { days, hours, minutes } from '../../lib/durations.js'
import type { Database, Sql } from '../../platform/database/database.js'
import { createOptionalTransaction } from '../../platform/database/optional-transaction.js'
import { applicationKeyColumn } from '../sealed-values/sealed-columns.js'
import type { SealedValues } from '../sealed-values/sealed-values.js'
import { createSchedule } from '../signing-keys/schedule.js'
import * as store from './application-keys.store.js'
import { type KeyPair, readKeyPair } from './key-pair.js'
import { type ApplicationAlgorithm, applicationAlgorithms } from './signed-token.js'

/** Longer than the longest token (ID tokens: 10 minutes) and the clocks of two instances apart. */
const tokenMargin = 15 * minutes

/** Applications keep a key set for hours, some for a day. */
export const applicationKeySchedule = createSchedule({
  announcedFor: 24 * hours,
  trustedAfterwards: 24 * hours + tokenMargin,
})

/**
 * How long a public key is kept after the next key signs, for ID tokens that come back as a hint: as long as a session lasts by default
 * (SESSION_MAX_AGE). With a longer session, logout asks the user first.
 */
export const keptForHints = 365 * days

/** Without `pair`: retired, or sealed with a key that this process does not have. */
export type ApplicationKey = {
  id: string
  algorithm: ApplicationAlgorithm
  createdAt: Date
  signsFrom: number
  publicKey: string
  isRetired: boolean
  pair?: KeyPair
}

/** Times are those of the database. `inUse` are the algorithms of the applications. */
export type ApplicationKeySet = { now: number; keys: ApplicationKey[]; inUse: ApplicationAlgorithm[] }

export const isUnopened = ({ isRetired, pair }: ApplicationKey) => !isRetired && !pair

type OpenedKey = ApplicationKey & { pair: KeyPair }

/** The keys of one algorithm that this process can sign with. Those that it cannot open change nothing about when these sign. */
export const keysFor = (keys: readonly ApplicationKey[], algorithm: ApplicationAlgorithm) =>
  keys.filter((key): key is OpenedKey => key.algorithm === algorithm && key.pair !== undefined)

export const hasUnopened = (keys: readonly ApplicationKey[], algorithm: ApplicationAlgorithm) =>
  keys.some((key) => key.algorithm === algorithm && isUnopened(key))

/** Those that are published, each with its state. */
export const publishedAt = ({ keys, now }: Pick<ApplicationKeySet, 'keys' | 'now'>) =>
  applicationAlgorithms.flatMap((algorithm) => applicationKeySchedule.trustedAt(keysFor(keys, algorithm), now))

type Dependencies = { database: Database; clock: Clock; sealedValues: Pick<SealedValues, 'of'> }

/** Reads and opens the keys of the database. */
export const createReadKeys = ({ database, clock, sealedValues }: Dependencies) => {
  const sealed = sealedValues.of(applicationKeyColumn)
  /** Opened before: an instance whose SEALING_KEY is a step behind goes on with what it has. */
  let opened = new Map<string, KeyPair>()

  const openKey = ({ id, algorithm, private_key: text }: store.KeyRow) => {
    if (text === null) return undefined
    const known = opened.get(id)
    if (known) return known
    const privateKey = sealed.open(id, text)
    if (privateKey === undefined) return undefined
    const pair = readKeyPair(privateKey)
    return pair.id === id && pair.algorithm === algorithm ? pair : undefined
  }

  return createOptionalTransaction(database)(async (sql): Promise<ApplicationKeySet> => {
    const { now, algorithms: inUse } = await store.selectNeeds(sql, clock.offset())
    const rows = await store.selectAll(sql)
    const keys = rows.map((row) => {
      const pair = openKey(row)
      return {
        id: row.id,
        algorithm: row.algorithm,
        createdAt: row.created_at,
        signsFrom: row.signs_from.getTime(),
        publicKey: row.public_key,
        isRetired: row.private_key === null,
        ...(pair && { pair }),
      }
    })
    opened = new Map(keys.flatMap(({ id, pair }) => (pair ? [[id, pair]] : [])))
    return { now: now.getTime(), keys, inUse }
  })
}

export type ReadKeys = ReturnType<typeof createReadKeys>

export const createAddKey =
  ({ clock, sealedValues }: Dependencies) =>
  async (sql: Sql, pair: KeyPair, delay: number) => {
    const { id, algorithm } = pair
    const privateKey = sealedValues.of(applicationKeyColumn).seal(id, pair.privateKey)
    const publicKey = pair.publicKey.export({ type: 'spki', format: 'pem' }).toString()
    const [row] = await store.insert(sql, { id, algorithm, privateKey, publicKey }, { delay, offset: clock.offset() })
    if (!row) throw new Error('The database gave no row for a key that was stored')
    return { id, algorithm, signsFrom: row.signs_from }
  }

import { OperatorError } from '../lib/operator-error.js'
import { deriveKey, keyId } from '../lib/random.js'
import { createSeal } from '../lib/seal.js'
import type { Database, Sql, Transaction } from '../platform/database/database.js'
import type { SealedColumn } from './sealed-columns.js'
import * as store from './sealed-values.store.js'

/** Thrown if values cannot be opened with the configured keys. */
class SealedWithMissingKey extends OperatorError {
  override name = 'SealedWithMissingKey'
}

const batchSize = 500

/** The first characters of a sealed value. They say which key has sealed it, and nothing about the key. */
export const sealingKeyId = (secret: string) => keyId(secret, 'sealing key id')

const keyIdIn = (sealed: string) => sealed.split('.', 1)[0] ?? ''

const bindingOf = ({ table, column }: SealedColumn, id: string) => `${table}.${column} ${id}`

const wayOutSentence = ({ wayOut }: SealedColumn) => (wayOut === undefined ? '' : ` ${wayOut}`)

export const howToAddKey =
  'Add it to the end of SEALING_KEY again; if SEALING_KEY was not set then, it is the JWT_SECRET of that time'

const missingKeyError = (values: number, column: SealedColumn) =>
  new SealedWithMissingKey(
    `SEALING_KEY: ${values} of the ${column.what} in the database cannot be opened: the key that sealed them is missing. ${howToAddKey}. Nothing was changed.${wayOutSentence(column)}`,
  )

const damagedValueError = (id: string, column: SealedColumn) =>
  new SealedWithMissingKey(
    `SEALING_KEY: one of the ${column.what} in the database cannot be opened, although its key is known: the value was changed or moved (${column.table}, ${id}). Restore the row, or delete it.${wayOutSentence(column)}`,
  )

const countByKeys = async (sql: Sql, columns: readonly SealedColumn[], [first, ...others]: readonly string[]) => {
  const counts = []
  for (const column of columns) {
    const rows = await store.countByKey(sql, column)
    const sum = (matches: (key: string) => boolean) =>
      rows.filter(({ key }) => matches(key)).reduce((total, { values }) => total + values, 0)
    const byFirst = sum((key) => key === first)
    const byOthers = sum((key) => others.includes(key) && key !== first)
    counts.push({ column, byFirst, byOthers, byMissing: sum(() => true) - byFirst - byOthers })
  }
  return counts
}

/** The ids of the keys without which the service cannot start on this database. */
export const keysInUse = async (sql: Sql, columns: readonly SealedColumn[]) => {
  const keys = new Set<string>()
  for (const column of columns.filter(({ canDoWithout }) => !canDoWithout))
    for (const { key } of await store.countByKey(sql, column)) keys.add(key)
  return [...keys].sort()
}

const usersWithoutKey = async (sql: Sql, columns: readonly SealedColumn[], keys: readonly string[]) => {
  const users = new Set<string>()
  for (const column of columns) for (const { id } of await store.selectUsersOfMissing(sql, column, keys)) users.add(id)
  return [...users]
}

export type SealedValues = ReturnType<typeof createSealedValues>

/**
 * Seals secrets that are stored for longer than a mail or a cookie lasts. The first secret of the list seals, and all of them open. The
 * list is SEALING_KEY or, without it, JWT_SECRET.
 */
export const createSealedValues = (secrets: readonly string[], columns: readonly SealedColumn[]) => {
  const keys = secrets.map((secret) => ({
    id: sealingKeyId(secret),
    seal: createSeal([deriveKey(secret, 'sealed value')]),
  }))

  const keyIds = keys.map(({ id }) => id)

  /** The first key. Commands may run without a key, and then neither seal nor open. */
  const firstKey = () => {
    const [key] = keys
    if (!key) throw new SealedWithMissingKey('There is no key to seal with: set SEALING_KEY or JWT_SECRET.')
    return key
  }

  /** Seals and opens the values of one column, for the room that has it. */
  const of = (column: SealedColumn) => ({
    seal: (id: string, text: string) => `${firstKey().id}.${firstKey().seal.seal(text, bindingOf(column, id))}`,
    /** Undefined if the value was changed or copied from another row, or if its key is not configured. */
    open: (id: string, sealed: string) => {
      const key = keyIdIn(sealed)
      return keys.find((each) => each.id === key)?.seal.open(sealed.slice(key.length + 1), bindingOf(column, id))
    },
  })

  /** How many values of each column were sealed by the first key, by another key of the list, or by a missing key. */
  const count = (sql: Sql) => countByKeys(sql, columns, keyIds)

  /** Seals some values of a column again. Returns the id of the last one that it looked at. Undefined if there are no more. */
  const resealSome = async (sql: Transaction, column: SealedColumn, after: string | null) => {
    const rows = await store.lockSealedByOthers(sql, column, { key: firstKey().id, after, limit: batchSize })
    const { seal, open } = of(column)
    const resealedRows = rows.flatMap(({ id, sealed }) => {
      const text = open(id, sealed)
      if (text === undefined && !column.canDoWithout) throw damagedValueError(id, column)
      return text === undefined ? [] : [{ id, sealed: seal(id, text) }]
    })
    if (resealedRows.length > 0) await store.replace(sql, column, resealedRows)
    return rows.at(-1)?.id
  }

  /**
   * Seals every value with the first key, in small transactions: if a start is killed, the next start goes on. Rejects before it changes
   * anything if the key of a value is missing. Returns how many values were sealed again.
   */
  const reseal = async (database: Database) => {
    const counts = await count(database)
    for (const { column, byMissing } of counts)
      if (byMissing > 0 && !column.canDoWithout) throw missingKeyError(byMissing, column)
    for (const { column, byOthers } of counts) {
      if (byOthers === 0) continue
      for (let last: string | null | undefined = null; last !== undefined; )
        last = await database.transaction((sql) => resealSome(sql, column, last ?? null))
    }
    return counts.reduce((total, { byOthers }) => total + byOthers, 0)
  }

  /** The users with values in these columns that cannot be opened, because their key is missing. */
  const usersOfMissing = (sql: Sql, userColumns: readonly SealedColumn[]) => usersWithoutKey(sql, userColumns, keyIds)

  return { of, count, reseal, usersOfMissing }
}

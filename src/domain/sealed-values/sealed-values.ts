import { deriveKey } from '../../lib/keys.js'
import { OperatorError } from '../../lib/operator-error.js'
import { createSeal } from '../../lib/seal.js'
import type { Database, Sql, Transaction } from '../../platform/database/database.js'
import type { SealedColumn } from './sealed-columns.js'
import * as store from './sealed-values.store.js'

/** Values cannot be opened with the keys that are configured. */
class SealedWithMissingKey extends OperatorError {
  override name = 'SealedWithMissingKey'
}

const batchSize = 500

/** The first characters of a sealed value. They say which key sealed it, and nothing about the key. */
const keyIdOf = (secret: string) => deriveKey(secret, 'sealing key id').toString('base64url').slice(0, 8)

const keyIdIn = (sealed: string) => sealed.split('.', 1)[0] ?? ''

const bindingOf = ({ table, column }: SealedColumn, id: string) => `${table}.${column} ${id}`

const wayOutSentence = ({ wayOut }: SealedColumn) => (wayOut === undefined ? '' : ` ${wayOut}`)

const missingKeyError = (values: number, column: SealedColumn) =>
  new SealedWithMissingKey(
    `SEALING_KEY: ${values} of the ${column.what} in the database cannot be opened: the key that sealed them is missing. Add it to the end of SEALING_KEY again; if SEALING_KEY was not set then, it is the JWT_SECRET of that time. Nothing was changed.${wayOutSentence(column)}`,
  )

const damagedValueError = (id: string, column: SealedColumn) =>
  new SealedWithMissingKey(
    `SEALING_KEY: one of the ${column.what} in the database cannot be opened, although its key is known: the value was changed or moved (${column.table}, ${id}). Restore the row, or delete it.${wayOutSentence(column)}`,
  )

const countByKeys = async (sql: Sql, columns: readonly SealedColumn[], [first, ...others]: readonly string[]) => {
  const counted = []
  for (const column of columns) {
    const rows = await store.countByKey(sql, column)
    const sum = (matches: (key: string) => boolean) =>
      rows.filter(({ key }) => matches(key)).reduce((total, { values }) => total + values, 0)
    const byFirst = sum((key) => key === first)
    const byOthers = sum((key) => others.includes(key) && key !== first)
    counted.push({ column, byFirst, byOthers, byMissing: sum(() => true) - byFirst - byOthers })
  }
  return counted
}

const usersWithoutKey = async (sql: Sql, columns: readonly SealedColumn[], keys: readonly string[]) => {
  const users = new Set<string>()
  for (const column of columns) for (const { id } of await store.selectUsersOfMissing(sql, column, keys)) users.add(id)
  return [...users]
}

export type SealedValues = ReturnType<typeof createSealedValues>

/**
 * Seals secrets that are stored for longer than a mail or a cookie lives. The first secret of the list seals, all of them
 * open. They are those of SEALING_KEY or, without it, of JWT_SECRET.
 */
export const createSealedValues = (secrets: readonly string[], columns: readonly SealedColumn[]) => {
  const keys = secrets.map((secret) => ({ id: keyIdOf(secret), seal: createSeal([deriveKey(secret, 'sealed value')]) }))

  const keyIds = keys.map(({ id }) => id)

  /** The first key. Commands may run without any, and then seal and open nothing. */
  const newest = () => {
    const [first] = keys
    if (!first) throw new SealedWithMissingKey('There is no key to seal with: set SEALING_KEY or JWT_SECRET.')
    return first
  }

  /** For the noun that has the column. */
  const of = (column: SealedColumn) => ({
    seal: (id: string, text: string) => `${newest().id}.${newest().seal.seal(text, bindingOf(column, id))}`,
    /** Undefined if the value was changed or moved from another row, or its key is not configured. */
    open: (id: string, sealed: string) => {
      const key = keyIdIn(sealed)
      return keys.find((each) => each.id === key)?.seal.open(sealed.slice(key.length + 1), bindingOf(column, id))
    },
  })

  /** How the values of each column are sealed: by the first key, by another one of the list, or by one that is missing. */
  const count = (sql: Sql) => countByKeys(sql, columns, keyIds)

  /** Seals some values of a column anew, and returns the id of the last one that it looked at; undefined if there are no more. */
  const resealSome = async (sql: Transaction, column: SealedColumn, after: string | null) => {
    const rows = await store.lockSealedByOthers(sql, column, { key: newest().id, after, limit: batchSize })
    const { seal, open } = of(column)
    const fresh = rows.flatMap(({ id, sealed }) => {
      const text = open(id, sealed)
      if (text === undefined && !column.canDoWithout) throw damagedValueError(id, column)
      return text === undefined ? [] : [{ id, sealed: seal(id, text) }]
    })
    if (fresh.length > 0) await store.replace(sql, column, fresh)
    return rows.at(-1)?.id
  }

  /**
   * Brings every value under the first key, in small transactions: a start that is killed goes on at the next one. Rejects
   * before it changes anything if the key of a value is missing. Returns how many values are sealed anew.
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

  /** The users who have values in these columns that cannot be opened, as their key is missing. */
  const usersOfMissing = (sql: Sql, userColumns: readonly SealedColumn[]) => usersWithoutKey(sql, userColumns, keyIds)

  return { of, count, reseal, usersOfMissing }
}

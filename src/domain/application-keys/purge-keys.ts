import type { Sql } from '../../platform/database/database.js'
import * as store from './application-keys.store.js'
import {
  type ApplicationKey,
  hintKeyLifetime,
  isUnopened,
  isUnreadable,
  publishedAt,
  type ReadKeys,
} from './key-records.js'

/**
 * Forgets the private half of keys that are no longer published, and later the whole key. A key that cannot be read is left alone: it
 * may belong to instances with another SEALING_KEY, and without its private half its public one would count for hints.
 */
export const createPurgeKeys = (read: ReadKeys) => async (sql: Sql) => {
  const set = await read(sql)
  const published = new Set(publishedAt(set).map(({ id }) => id))
  const known = set.keys.filter((key) => !isUnopened(key) && !isUnreadable(key))
  const old = known.filter(({ id }) => !published.has(id))
  const isOver = ({ algorithm, signsFrom }: ApplicationKey) => {
    const next = known.find((key) => key.algorithm === algorithm && key.signsFrom > signsFrom)
    return next !== undefined && next.signsFrom + hintKeyLifetime <= set.now
  }
  const idsOf = (keys: typeof old) => keys.map(({ id }) => id)
  const retired = await store.retire(sql, idsOf(old.filter(({ isRetired }) => !isRetired)))
  const deleted = await store.deleteKeys(sql, idsOf(old.filter((key) => key.isRetired && isOver(key))))
  return retired.length + deleted.length
}

import type { Sql } from '../../platform/database/database.js'
import * as store from './application-keys.store.js'
import {
  type ApplicationKey,
  hintKeyLifetime,
  isUnopened,
  isUnreadable,
  publishedKeys,
  type ReadKeys,
} from './key-records.js'

/**
 * Deletes the private half of keys that are no longer published, and later the whole key. A key that cannot be read is left alone: it
 * may belong to instances with another SEALING_KEY, and without its private half its public one would verify hints.
 */
export const createPurgeKeys = (read: ReadKeys) => async (sql: Sql) => {
  const set = await read(sql)
  const published = new Set(publishedKeys(set).map(({ id }) => id))
  const readable = set.keys.filter((key) => !isUnopened(key) && !isUnreadable(key))
  const unpublished = readable.filter(({ id }) => !published.has(id))
  const isPastHintLifetime = ({ algorithm, signsFrom }: ApplicationKey) => {
    const next = readable.find((key) => key.algorithm === algorithm && key.signsFrom > signsFrom)
    return next !== undefined && next.signsFrom + hintKeyLifetime <= set.now
  }
  const idsOf = (keys: typeof unpublished) => keys.map(({ id }) => id)
  const retired = await store.retire(sql, idsOf(unpublished.filter(({ isRetired }) => !isRetired)))
  const deleted = await store.deleteKeys(
    sql,
    idsOf(unpublished.filter((key) => key.isRetired && isPastHintLifetime(key))),
  )
  return retired.length + deleted.length
}

import type { Sql } from '../platform/database/database.js'
import {
  type ApplicationKey,
  hintKeyLifetime,
  isUnopened,
  isUnreadable,
  publishedKeys,
  type ReadKeys,
} from './application-key-records.js'
import * as store from './application-keys.store.js'

/**
 * Deletes the private half of keys that are no longer published, and later the whole key. A key that cannot be read is left alone: it may
 * belong to instances with another SEALING_KEY, and no one has checked the public half that would be left to verify hints.
 */
export const createPurgeKeys = (read: ReadKeys) => async (sql: Sql) => {
  const keySet = await read(sql)
  const published = new Set(publishedKeys(keySet).map(({ id }) => id))
  const readableKeys = keySet.keys.filter((key) => !isUnopened(key) && !isUnreadable(key))
  const unpublishedKeys = readableKeys.filter(({ id }) => !published.has(id))
  const isPastHintLifetime = ({ algorithm, signsFrom }: ApplicationKey) => {
    const next = readableKeys.find((key) => key.algorithm === algorithm && key.signsFrom > signsFrom)
    return next !== undefined && next.signsFrom + hintKeyLifetime <= keySet.now
  }
  const idsOf = (keys: typeof unpublishedKeys) => keys.map(({ id }) => id)
  const retired = await store.retire(sql, idsOf(unpublishedKeys.filter(({ isRetired }) => !isRetired)))
  const deleted = await store.deleteKeys(
    sql,
    idsOf(unpublishedKeys.filter((key) => key.isRetired && isPastHintLifetime(key))),
  )
  return retired.length + deleted.length
}

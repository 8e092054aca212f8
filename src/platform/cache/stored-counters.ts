import type { Clock } from '../../lib/clock.js'
import type { Sql } from '../database/database.js'
import * as store from './counters.store.js'
import type { Counter } from './shared-counters.js'

/** So few that their locks fit into the memory that the database has for locks. */
const batchSize = 200

const readCounter = ({ key, used, ends }: { key: string; used: number; ends: number }): Counter => ({
  key,
  used,
  ends: new Date(ends),
})

/** The shared counters in PostgreSQL, for commands and administrators. Requests use `createPostgresCache`. */
export const createStoredCounters = (sql: Sql, clock: Clock) => ({
  read: async (keys: readonly string[]) => (await store.select(sql, keys, clock.offset())).map(readCounter),
  /** Removes the counters of these keys, and returns those that existed. */
  remove: async (keys: readonly string[]) => {
    const removed: Counter[] = []
    for (let at = 0; at < keys.length; at += batchSize)
      removed.push(...(await store.forget(sql, keys.slice(at, at + batchSize), clock.offset())).map(readCounter))
    return removed
  },
  keys: async (beginning = '') => (await store.selectKeys(sql, beginning, clock.offset())).map(({ key }) => key),
  close: async () => undefined,
})

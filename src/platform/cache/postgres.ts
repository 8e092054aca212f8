import type { Clock } from '../../lib/clock.js'
import { minutes, seconds } from '../../lib/durations.js'
import { withTimeout } from '../../lib/timing.js'
import { type Database, type Sql, StoreUnavailable, undefinedIfUnavailable } from '../database/database.js'
import { createPostgres } from '../database/open.js'
import type { Log } from '../log.js'
import { type Counter, countersAtOnce, pingLimit, type SharedCache } from './cache.js'
import * as store from './counters.store.js'

export type PostgresCounters = {
  url: string
  /** The database of the service, for the clean-up: its statements may take longer than a request waits for a counter. */
  database: Database
}

type Dependencies = PostgresCounters & {
  clock: Clock
  log: Log
  commandTimeout: number
  /** The most rows: a network with very many addresses must not fill the disk. */
  maximumRows?: number
  cleanUpEvery?: number
}

/** Of each process. */
const poolSize = 4

const deletedAtOnce = 2_000

type RoomDependencies = Dependencies & { maximumRows: number; cleanUpEvery: number }

/** Deletes counters whose windows have ended, again and again, and knows whether the table has room for further ones. */
const createRoom = ({ database, clock, log, maximumRows, cleanUpEvery }: RoomDependencies) => {
  /** As the last clean-up has counted them, and those that this process has most likely made since. */
  let [counted, made] = [0, 0]
  let isClosed = false
  let cleaning: Promise<void> | undefined

  const cleanUp = async () => {
    let from = 0
    for (let isFullBatch = true; isFullBatch && !isClosed; ) {
      const deleted = await store.deleteEnded(database, from, deletedAtOnce, clock.offset())
      from = deleted.reduce((latest, { ends }) => Math.max(latest, ends), from)
      isFullBatch = deleted.length === deletedAtOnce
    }
    const madeBefore = made
    const [row] = await store.countRows(database, maximumRows)
    counted = row?.rows ?? counted
    made -= madeBefore
  }

  const timer = setInterval(() => {
    cleaning ??= cleanUp()
      .catch(undefinedIfUnavailable)
      .catch((err: unknown) => log.warn({ err }, 'the ended counters could not be deleted'))
      .finally(() => {
        cleaning = undefined
      })
  }, cleanUpEvery)
  timer.unref()

  return {
    isLeft: () => counted + made < maximumRows,
    noteMade: (count: number) => {
      made += count
    },
    close: async () => {
      isClosed = true
      clearInterval(timer)
      await cleaning
    },
  }
}

/** Counters in PostgreSQL, on a pool of their own, so that slow statements of the service do not hold them up, nor they those. */
export const createPostgresCache = async (deps: Dependencies): Promise<SharedCache & { connect(): Promise<void> }> => {
  const { url, clock, commandTimeout, maximumRows = 1_000_000, cleanUpEvery = 1 * minutes } = deps
  const pool = createPostgres({
    url,
    applicationName: 'latchkey counters',
    poolSize,
    connectTimeoutMs: Math.max(1 * seconds, commandTimeout),
    statementTimeoutMs: commandTimeout,
  })
  const room = createRoom({ ...deps, maximumRows, cleanUpEvery })

  /** How long a request waits for a connection and for the answer together. */
  const withinDeadline = <Result>(answer: Promise<Result>) =>
    withTimeout(answer, commandTimeout, () => {
      throw new StoreUnavailable(`PostgreSQL did not count within ${commandTimeout} ms`)
    })

  const reserveAll: SharedCache['reserveAll'] = async (attempts, returned = []) => {
    const counted =
      returned.length === 0
        ? store.count(pool, attempts, room.isLeft(), clock.offset())
        : store.countAndGiveBack(pool, attempts, returned, room.isLeft(), clock.offset())
    const rows = await withinDeadline(counted)
    const begun = rows.filter((row, place) => row.granted && row.remaining + 1 === attempts[place]?.limit.maximum)
    room.noteMade(begun.length)
    return rows.map(({ granted, remaining, resetsIn, ends }) => ({
      granted,
      remaining,
      resetsIn,
      window: { id: String(ends), countedBy: 'shared' },
    }))
  }

  return {
    reserveAll,
    refund: async (taken) => {
      await withinDeadline(store.giveBack(pool, taken))
    },
    forget: async (key) => {
      await withinDeadline(store.forget(pool, [key], clock.offset()))
    },
    carry: async (missed) => {
      const rows = await withinDeadline(store.carry(pool, missed, room.isLeft(), clock.offset()))
      return rows.map(({ carried }) => carried)
    },
    // A standby, a full disk and a database without the table would answer a statement that does not count.
    ping: async () => {
      await reserveAll([{ key: 'ping', limit: pingLimit }])
    },
    /** Opens every connection of the pool, and counts once on each. */
    connect: async () => {
      const countPing = () => store.count(pool, [{ key: 'ping', limit: pingLimit }], room.isLeft(), clock.offset())
      await Promise.all(Array.from({ length: poolSize }, countPing))
    },
    isFull: () => !room.isLeft(),
    close: async () => {
      await room.close()
      await pool.close()
    },
  }
}

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
    for (let at = 0; at < keys.length; at += countersAtOnce)
      removed.push(...(await store.forget(sql, keys.slice(at, at + countersAtOnce), clock.offset())).map(readCounter))
    return removed
  },
  keys: async (beginning = '') => (await store.selectKeys(sql, beginning, clock.offset())).map(({ key }) => key),
  close: async () => undefined,
})

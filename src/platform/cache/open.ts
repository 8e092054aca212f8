import { setTimeout as wait } from 'node:timers/promises'
import type { Clock } from '../../lib/clock.js'
import { seconds } from '../../lib/durations.js'
import { OperatorError } from '../../lib/operator-error.js'
import { withTimeout } from '../../lib/timing.js'
import { validAddress } from '../invalid-address.js'
import type { Log } from '../log.js'
import type { Cache } from './cache.js'
import { createMemoryCache, type MemoryCache } from './memory.js'
import type { PostgresCounters } from './postgres.js'
import { isMissingDatabase, readRedisAddress } from './redis-address.js'
import { createResilientCache } from './resilient.js'

/** How long a request waits for the shared counters before it goes on without them, in milliseconds. */
export const usualCommandTimeout = 250

/** How long a start waits for the shared counters before it continues without them. */
const startTimeout = 2 * seconds

/**
 * The server does not have the database that REDIS_URL names. Only another number helps, so a start ends with this error instead of
 * continuing without the shared counters.
 */
class DatabaseMissing extends OperatorError {
  override name = 'DatabaseMissing'
}

const pingUntil = async (cache: { ping(): Promise<void> }, end: number): Promise<void> => {
  try {
    await cache.ping()
  } catch (error) {
    if (error instanceof Error && isMissingDatabase(error.cause))
      throw new DatabaseMissing('REDIS_URL names a database that the server does not have: write a lower number.')
    if (Date.now() >= end) return
    await wait(25)
    await pingUntil(cache, end)
  }
}

/**
 * `start` settles when the shared counters answer, or after `startTimeout`, so that the first requests need not wait for new connections
 * and be counted in this process. It rejects only if the start must end. In PostgreSQL the table is there when the
 * migrations are applied; `migrated` is false if the start ends before.
 */
export type OpenedCache = { cache: Cache; start(migrated: Promise<boolean>): Promise<void> }

/** If the program starts without its shared counters, this logs it. */
const pingOrLog = (cache: Cache) => cache.ping().catch(() => undefined)

export const openCache = async ({
  url,
  postgres,
  clock,
  log,
  prefix = 'latchkey:',
  commandTimeout = usualCommandTimeout,
  maximumKeys = 100_000,
}: Dependencies): Promise<OpenedCache> => {
  const local = createMemoryCache({ clock, maximumKeys })
  if (url !== undefined) return openRedisCache({ url, clock, log, prefix, commandTimeout, local })
  if (!postgres) return { cache: local, start: async () => undefined }
  const { createPostgresCache } = await import('./postgres.js')
  const shared = await createPostgresCache({ ...postgres, clock, log, commandTimeout })
  const cache = createResilientCache({ shared, local, log })
  const start = async (migrated: Promise<boolean>) => {
    if (!(await migrated)) return
    await withTimeout(shared.connect(), startTimeout, () => undefined).catch(() => undefined)
    await pingOrLog(cache)
  }
  return { cache, start }
}

type RedisDependencies = Required<Pick<Dependencies, 'clock' | 'log' | 'prefix' | 'commandTimeout'>> & {
  url: string
  local: MemoryCache
}

const openRedisCache = async ({ url, local, log, ...dependencies }: RedisDependencies): Promise<OpenedCache> => {
  const address = validAddress('REDIS_URL', readRedisAddress(url))
  const { createRedisCache } = await import('./redis.js')
  const shared = createRedisCache({ ...dependencies, address, log })
  const cache = createResilientCache({ shared, local, log })
  const start = async () => {
    await pingUntil(shared, Date.now() + startTimeout)
    await pingOrLog(cache)
  }
  return { cache, start }
}

export type Dependencies = {
  /** The address of Redis. Without it the counters are in PostgreSQL, and without `postgres` in this process. */
  url?: string | undefined
  postgres?: PostgresCounters | undefined
  clock: Clock
  log: Log
  prefix?: string
  commandTimeout?: number
  /** The most counters in the memory of this process. Each needs about 200 bytes. */
  maximumKeys?: number
}

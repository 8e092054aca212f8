import { setTimeout as wait } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { seconds } from '../lib/durations.js'
import { home } from '../lib/home.js'
import { type Database, StoreUnavailable } from '../platform/database/database.js'
import { migrate, schemaStatus } from '../platform/database/migrate.js'
import { migrateAsOwner } from '../platform/database/open.js'
import type { Log } from '../platform/log.js'

import type { Config } from '../settings/config.js'
import { grantsFor } from './tables.js'

export const migrationsDirectory = fileURLToPath(new URL('migrations', home))

const firstPause = 0.5 * seconds
const longestPause = 5 * seconds

/**
 * The messages of an error and its causes in one line, each once. A database that is down for an hour must not fill the log with
 * stacks.
 */
const reasonOf = (error: unknown): string => {
  if (!(error instanceof Error)) return 'unknown'
  if (error.cause === undefined) return error.message
  const cause = reasonOf(error.cause)
  return error.message.includes(cause) ? error.message : `${error.message}: ${cause}`
}

export const migrateDatabase = ({ databaseUrl, databaseOwnerUrl }: Config, database: Database) =>
  databaseUrl !== undefined && databaseOwnerUrl !== undefined
    ? migrateAsOwner({ url: databaseUrl, ownerUrl: databaseOwnerUrl, directory: migrationsDirectory, grantsFor })
    : migrate({ database, directory: migrationsDirectory })

type Preparation = { config: Config; database: Database; log: Log; signal: AbortSignal; load: () => Promise<void> }

/**
 * Migrates the database and calls `load`. While the database cannot be used, it logs that and tries again. Other failures are thrown.
 * False if the signal was aborted before it was done.
 */
export const prepareDatabase = async ({ config, database, log, signal, load }: Preparation) => {
  for (let pause = firstPause; !signal.aborted; pause = Math.min(2 * pause, longestPause)) {
    try {
      const applied = await migrateDatabase(config, database)
      if (applied.length > 0) log.info({ migrations: applied }, 'migrations applied')
      const { newer } = await schemaStatus({ database, directory: migrationsDirectory })
      if (newer.length > 0)
        log.warn({ migrations: newer }, 'the database schema is newer than this program, and compatible with it')
      await load()
      return true
    } catch (error) {
      if (!(error instanceof StoreUnavailable)) throw error
      // The service is shutting down and has closed the database, so the failure means nothing.
      if (signal.aborted) return false
      log.warn({ reason: reasonOf(error) }, 'The database cannot be used yet; trying again')
      await wait(pause, undefined, { signal }).catch(() => undefined)
    }
  }
  return false
}

/** The same database, but it refuses statements until `isReady`, because its tables may not exist yet. */
export const refuseUntilReady = (database: Database, isReady: () => boolean): Database => {
  const refuse = () => Promise.reject(new StoreUnavailable('The database is being prepared'))
  return {
    query: (text, parameters) => (isReady() ? database.query(text, parameters) : refuse()),
    transaction: (work) => (isReady() ? database.transaction(work) : refuse()),
    ping: () => (isReady() ? database.ping() : refuse()),
    ...(database.stats && { stats: database.stats }),
    close: () => database.close(),
  }
}

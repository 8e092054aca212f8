import type { Clock } from '../lib/clock.js'
import type { Cache } from './cache/cache.js'
import type { Database } from './database/database.js'
import type { Log } from './log.js'
import type { Metrics } from './metrics/metrics.js'

/** What every room gets. The service opens all of it (`service/open-platform`), and commands open less (`commands/open-for-commands`). */
export type Platform = {
  clock: Clock
  log: Log
  database: Database
  /** The same database. It takes statements at any time; `database` refuses them until the migrations are applied. */
  ungatedDatabase: Database
  cache: Cache
  metrics: Metrics | undefined
}

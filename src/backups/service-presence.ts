import { seconds } from '../lib/durations.js'
import type { Sql } from '../platform/database/database.js'
import { createReadingRounds } from '../platform/rounds.js'

import * as store from './backups.store.js'

/** A restore waits three times as long. */
const interval = 1 * seconds

/** Whoever reads from the database reports that it cannot be used. */
const silent = { log: { warn: () => undefined, info: () => undefined }, messages: { failing: '', recovered: '' } }

/** A start waits for the end of a restore, which fills the tables that it would read. */
export const waitForRestore = store.showPresence

/**
 * Shows to a restore that a service uses the database: it takes a lock for a moment, again and again. A restore holds the lock alone, and
 * sees who waits for it. So this needs no connection of its own, leaves nothing behind when the process is killed, and a pooler that gives
 * every statement another connection makes no difference.
 */
export const createServicePresence = (database: Sql) =>
  createReadingRounds({ read: async () => void (await store.showPresence(database)), interval, ...silent })

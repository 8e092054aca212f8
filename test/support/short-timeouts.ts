import type { Database } from '../../src/platform/database/database.js'
import { testPostgres } from './databases.js'
import { startStopwatch } from './stopwatch.js'
import { until } from './until.js'

const shortTimeouts = { connectTimeoutMs: 1_000, statementTimeoutMs: 500 }
const opened: Database[] = []
/** Gives up within a second or so. `closeAll` closes what was opened. */
export const openWithShortTimeouts = (url: string, options = {}) => {
  const database = testPostgres(url, { ...shortTimeouts, ...options })
  opened.push(database)
  return database
}

export const closeAll = async () => {
  await Promise.all(opened.splice(0).map((database) => database.close()))
}

export const timed = async (work: Promise<unknown>) => {
  const time = startStopwatch()
  const error: unknown = await work.then(
    () => undefined,
    (thrown: unknown) => thrown,
  )
  return { error, ms: time() }
}

export const untilItAnswers = (database: Database) =>
  until('the database answers again', () =>
    database.ping().then(
      () => true,
      () => false,
    ),
  )

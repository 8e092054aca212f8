import { setTimeout as wait } from 'node:timers/promises'
import type { Database } from '../../src/platform/database/database.js'
import { testPostgres } from './databases.js'

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
  const start = performance.now()
  const error: unknown = await work.then(
    () => undefined,
    (thrown: unknown) => thrown,
  )
  return { error, ms: performance.now() - start }
}

export const untilItAnswers = async (database: Database) => {
  const deadline = Date.now() + 10_000
  while (Date.now() < deadline) {
    if (
      await database.ping().then(
        () => true,
        () => false,
      )
    )
      return
    await wait(50)
  }
  throw new Error('The database did not come back')
}

import type { Clock } from '../../lib/clock.js'
import { minutes, seconds } from '../../lib/durations.js'
import type { Sql } from './database.js'

type Log = { warn(details: object, message: string): void; info(details: object, message: string): void }
type Dependencies = { database: Sql; clock: Clock; log: Log }

const interval = 1 * minutes

/** A larger offset is reported, because the tokens of this instance then expire noticeably too early or too late. */
const toleratedOffset = 60 * seconds

/** How far this machine's clock is ahead of the database's, in milliseconds, and by how much that may be wrong. */
const measure = async ({ database, clock }: Dependencies) => {
  // The clock of the machine, also if a test has moved that of the service.
  const askedAt = clock.now().getTime() - clock.offset()
  const startedAt = performance.now()
  const [row] = await database.query<{ now: Date }>('select clock_timestamp() as now')
  const halfRoundTrip = (performance.now() - startedAt) / 2
  return { ahead: askedAt + halfRoundTrip - (row?.now.getTime() ?? Number.NaN), error: halfRoundTrip }
}

/**
 * Compares this machine's clock with the database's once a minute. An instance with a wrong clock seems to work, but the tokens that it
 * signs expire too early or too late, also for the other instances.
 */
export const createClockWatch = (dependencies: Dependencies) => {
  const { log } = dependencies
  let offset: number | undefined
  let isClockWrong = false
  let timer: NodeJS.Timeout | undefined
  let measurement: Promise<void> | undefined

  const report = (ahead: number) => {
    const details = { offsetSeconds: Math.round(ahead / seconds) }
    if (isClockWrong)
      log.warn(details, "this machine's clock is off from the database's by more than a minute: run NTP on both")
    else log.info(details, "this machine's clock agrees with the database's again")
  }

  const measureOffset = async () => {
    try {
      const { ahead, error } = await measure(dependencies)
      offset = ahead
      const leastOffset = Math.abs(ahead) - error
      const greatestOffset = Math.abs(ahead) + error
      // A slow answer may leave open whether the clock is wrong.
      if (isClockWrong ? greatestOffset > toleratedOffset : leastOffset <= toleratedOffset) return
      isClockWrong = !isClockWrong
      report(ahead)
    } catch {
      // A database that cannot be used is reported elsewhere.
      offset = undefined
    }
  }

  const schedule = (delay: number) => {
    timer = setTimeout(() => {
      measurement = measureOffset().then(() => {
        if (timer) schedule(interval)
      })
    }, delay)
    timer.unref()
  }

  return {
    /** How many seconds this machine's clock is ahead of the database's; undefined while the database cannot be asked. */
    offset: () => (offset === undefined ? undefined : offset / seconds),
    measureOffset,
    start: () => schedule(0),
    stop: async () => {
      clearTimeout(timer)
      timer = undefined
      await measurement
    },
  }
}

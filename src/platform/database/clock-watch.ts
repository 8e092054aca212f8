import type { Clock } from '../../lib/clock.js'
import { minutes, seconds } from '../../lib/durations.js'
import type { Sql } from './database.js'

type Log = { warn(details: object, message: string): void; info(details: object, message: string): void }
type Dependencies = { database: Sql; clock: Clock; log: Log }

const interval = 1 * minutes

/** A larger offset is reported: tokens of this instance then expire noticeably too early or too late. */
const toleratedOffset = 60 * seconds

/** How far this machine's clock is ahead of the database's, in milliseconds, and by how much that may be wrong. */
const measure = async ({ database, clock }: Dependencies) => {
  const askedAt = clock.now().getTime() - clock.offset()
  const began = performance.now()
  const [row] = await database.query<{ now: Date }>('select clock_timestamp() as now')
  const halfRoundTrip = (performance.now() - began) / 2
  return { ahead: askedAt + halfRoundTrip - (row?.now.getTime() ?? Number.NaN), error: halfRoundTrip }
}

/**
 * Compares this machine's clock with the database's once a minute. An instance whose clock is wrong works, and so no operator would
 * notice: the tokens that it signs expire too early or too late, also for the other instances.
 */
export const createClockWatch = (dependencies: Dependencies) => {
  const { log } = dependencies
  let offset: number | undefined
  let isOff = false
  let timer: NodeJS.Timeout | undefined
  let underWay: Promise<void> | undefined

  const report = (ahead: number) => {
    const details = { offsetSeconds: Math.round(ahead / seconds) }
    if (isOff)
      log.warn(details, "this machine's clock is off from the database's by more than a minute: run NTP on both")
    else log.info(details, "this machine's clock agrees with the database's again")
  }

  const measureOffset = async () => {
    try {
      const { ahead, error } = await measure(dependencies)
      offset = ahead
      // A slow answer tells nothing, neither that the clock is wrong nor that it is right.
      const least = Math.abs(ahead) - error
      const most = Math.abs(ahead) + error
      if (isOff ? most > toleratedOffset : least <= toleratedOffset) return
      isOff = !isOff
      report(ahead)
    } catch {
      // Others report a database that cannot be used.
      offset = undefined
    }
  }

  const schedule = (delay: number) => {
    timer = setTimeout(() => {
      underWay = measureOffset().then(() => {
        if (timer) schedule(interval)
      })
    }, delay)
    timer.unref()
  }

  return {
    /** How many seconds this machine's clock is ahead of the database's; unknown while the database cannot be asked. */
    offset: () => (offset === undefined ? undefined : offset / seconds),
    measureOffset,
    start: () => schedule(0),
    stop: async () => {
      clearTimeout(timer)
      timer = undefined
      await underWay
    },
  }
}

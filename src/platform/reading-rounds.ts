type Log = { warn(details: object, message: string): void; info(details: object, message: string): void }

type Options = {
  read: () => Promise<void>
  /** The time from the start of one reading to the start of the next. */
  interval: number
  /** The messages for the log, when readings begin to fail and when they succeed again. */
  messages: { failing: string; recovered: string }
  /** Called in each round. If it returns false, the round reads nothing. */
  isDue?: () => boolean
  log: Log
}

/**
 * Calls `read` again and again, to keep a copy of what the database has. During an outage the copy stays in use, and the failure is
 * logged once.
 */
export const createReadingRounds = ({ read, interval, messages, isDue = () => true, log }: Options) => {
  let isFailing = false
  let isRunning = false
  let timer: NodeJS.Timeout | undefined
  let round: Promise<void> | undefined

  const readAndReport = async () => {
    try {
      await read()
      if (isFailing) log.info({}, messages.recovered)
      isFailing = false
    } catch (error) {
      const reason = error instanceof Error ? error.message : 'unknown'
      if (!isFailing) log.warn({ reason }, messages.failing)
      isFailing = true
    }
  }

  const schedule = (delay: number) => {
    timer = setTimeout(() => {
      const startedAt = performance.now()
      round = (isDue() ? readAndReport() : Promise.resolve()).finally(() => {
        if (isRunning) schedule(Math.max(0, interval - (performance.now() - startedAt)))
      })
    }, delay)
    timer.unref()
  }

  return {
    start: () => {
      isRunning = true
      schedule(interval)
    },
    stop: async () => {
      isRunning = false
      clearTimeout(timer)
      await round
    },
  }
}

type Log = { warn(details: object, message: string): void; info(details: object, message: string): void }

type Options = {
  read: () => Promise<void>
  /** From the start of one reading to the start of the next. */
  interval: number
  /** For the log. */
  messages: { failing: string; recovered: string }
  /** Whether this round reads. */
  isDue?: () => boolean
  log: Log
}

/**
 * Keeps a copy of what the database has: reads it again and again. A failure is logged once, until a reading succeeds: what is known
 * stays in use.
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
      const began = performance.now()
      round = (isDue() ? readAndReport() : Promise.resolve()).finally(() => {
        if (isRunning) schedule(Math.max(0, interval - (performance.now() - began)))
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

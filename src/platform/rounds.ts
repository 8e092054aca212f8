import { AsyncResource } from 'node:async_hooks'
import { setTimeout as wait } from 'node:timers/promises'
import { reasonOf } from '../lib/caught.js'
import { seconds } from '../lib/durations.js'
import { withTimeout } from '../lib/timing.js'

/**
 * Runs a background job that is woken by requests. A timer or a promise belongs to the context in which it is made, so a job that is woken
 * inside of a transaction would seem to be part of it, and the database would refuse its statements. Here the job runs in the context in
 * which it was created instead.
 */
export const createDetachedContext = (name: string) => {
  const resource = new AsyncResource(name)
  return <Result>(work: () => Result) => resource.runInAsyncScope(work)
}

/** Longer than any delivery may take, so that no two attempts at one item overlap. */
export const lease = 60 * seconds
const maxLanes = 4
const pollInterval = 5 * seconds
const stopTimeout = 5 * seconds
/** How many milliseconds pass between `wake` and the round. A change that queues items is usually committed by then. */
const usualCommitTime = 50

/**
 * Changes a pause by up to a fifth, so that items that wait for the same server are not all tried at once. `chance` is a random number
 * from 0 to 1.
 */
export const scatterPause = (pause: number, chance: number) => pause * (0.8 + 0.4 * chance)

/** Records a delivery. A failed write is repeated until the lease ends, because an item without a record is delivered again. */
export const recordDelivery = async <Result>(write: () => Promise<Result>) => {
  for (let pause = 500; ; pause *= 2) {
    try {
      return await write()
    } catch (error) {
      if (pause > lease / 4) throw error
      await wait(pause)
    }
  }
}

type Deliveries<Item> = {
  claim: () => Promise<Item | undefined>
  /** Resolves to true if the next item may be delivered, too. */
  deliver: (item: Item) => Promise<boolean>
  /** Called when the database cannot be used. */
  onFailure: (reason: string) => void
}

/** Delivers all waiting items, a few at a time. Most often there is only one, so a lane opens the next lane only when it has an item. */
export const deliverInLanes = async <Item>({ claim, deliver }: Pick<Deliveries<Item>, 'claim' | 'deliver'>) => {
  const drain = async (claimed: Item) => {
    let item: Item | undefined = claimed
    while (item && (await deliver(item))) item = await claim()
  }
  const openLanes = async (lanesLeft: number): Promise<void> => {
    const first = await claim()
    if (first) await Promise.all([drain(first), lanesLeft > 1 && openLanes(lanesLeft - 1)])
  }
  return openLanes(maxLanes)
}

/** A timer that rings at the earliest of the times that it was set to. */
const createAlarm = (ring: () => void) => {
  let timer: NodeJS.Timeout | undefined
  let ringsAt = Number.POSITIVE_INFINITY

  const clear = () => {
    clearTimeout(timer)
    ringsAt = Number.POSITIVE_INFINITY
  }

  return {
    clear,
    set: (delay: number) => {
      const at = performance.now() + delay
      if (at >= ringsAt) return
      clearTimeout(timer)
      ringsAt = at
      timer = setTimeout(() => {
        clear()
        ring()
      }, delay)
      timer.unref()
    },
  }
}

/** Calls `run` again and again, outside of requests, and earlier when it is woken. It continues after a failure. */
export const createRounds = (options: {
  run: () => Promise<void>
  interval: number
  /** Called when the database cannot be used. */
  onFailure: (reason: string) => void
}) => {
  const { run, interval, onFailure } = options
  const inOwnContext = createDetachedContext('deliveries')
  let isRunning = false
  let round: Promise<void> | undefined
  let mustRunAgain = false

  const runUntilQuiet = async () => {
    do {
      mustRunAgain = false
      await run()
    } while (mustRunAgain && isRunning)
  }

  /** Runs now instead of at the next round. */
  const nudge = () => {
    if (!isRunning) return
    if (round) {
      mustRunAgain = true
      return
    }
    round = runUntilQuiet()
      .catch((error: unknown) => onFailure(reasonOf(error)))
      .finally(() => {
        round = undefined
        wake(interval)
      })
  }

  const alarm = createAlarm(nudge)

  /** Runs after this delay, or earlier if that is already planned. */
  const wake = (delay: number) => {
    if (isRunning) alarm.set(delay)
  }

  return {
    isRunning: () => isRunning,
    start: () => {
      isRunning = true
      inOwnContext(nudge)
    },
    /** Lets current deliveries finish. A delivery that is cut off after the other server has taken it would be repeated. */
    stop: async (deliveries: readonly Promise<unknown>[] = []) => {
      isRunning = false
      alarm.clear()
      await withTimeout(Promise.all([round, ...deliveries]), stopTimeout, () => undefined)
    },
    nudge: () => inOwnContext(nudge),
    wake: () => inOwnContext(() => wake(usualCommitTime)),
  }
}

/**
 * Delivers what waits in a table to another server, a few items at a time. Several instances may do this at the same time: `claim`
 * gives each item to one of them. `deliver` resolves to false if the other server cannot be reached; then the lane ends.
 */
export const createDeliveryRounds = <Item>({ claim, deliver, onFailure }: Deliveries<Item>) => {
  const claimWhileRunning = async () => (rounds.isRunning() ? claim() : undefined)
  const run = () => deliverInLanes({ claim: claimWhileRunning, deliver })
  const rounds = createRounds({ run, interval: pollInterval, onFailure })
  return rounds
}

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
      const reason = reasonOf(error)
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

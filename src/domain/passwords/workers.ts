import { availableParallelism, platform } from 'node:os'
import { seconds } from '../../lib/durations.js'
import { builtFile } from '../../lib/home.js'
import { type BoundedQueue, type Busy, busy, createBoundedQueue } from '../../platform/bounded-queue.js'
import { createThreads } from '../../platform/workers/threads.js'
import type { Estimate } from './estimator.js'

export type { Busy } from '../../platform/bounded-queue.js'

export type Workers = {
  hash(password: string, cost: number): Promise<string | Busy>
  /** A failed comparison does the work of `cost`, even if the stored hash has a lower one. */
  compare(password: string, hash: string, cost: number): Promise<boolean | Busy>
  /** The same with a hash of another system (imported-hashes.ts), for a password that is not condensed. */
  compareImported(password: string, hash: string, cost: number): Promise<boolean | Busy>
  estimate(password: string, inputs: string[]): Promise<Estimate | Busy>
  /** How many tasks wait. */
  queueLength(): number
  close(): Promise<void>
}

type Dependencies = {
  /** Threads that hash. */
  threads?: number | undefined
  /** How many processes of the service share the cores. */
  processes?: number
  /** How many tasks of one kind may wait. */
  queueLimit?: number
  /** How long a task may wait, and an estimate may run, in milliseconds. */
  deadline?: number
}

/**
 * As many as there are cores where threads can have a lower priority (see priority.ts). Elsewhere one core is left to the
 * event loop, so that other requests are not delayed.
 */
const standardThreads = (processes: number) => {
  const cores = platform() === 'linux' ? availableParallelism() : availableParallelism() - 1
  return Math.max(1, Math.floor(cores / processes))
}

/** Each of these comparisons may need 128 MiB, however many cores there are. */
const importedAtOnce = 2

/**
 * Threads of our own for what takes long: in libuv's pool hashes would delay DNS and files. Hashes and estimates have a
 * queue each, so that neither waits behind the other: a hash takes a third of a second, an estimate a few milliseconds.
 * A task that has started is not stopped when its time is over: its work would be lost just when there is most to do.
 */
export const createWorkers = (options: Dependencies = {}): Workers => {
  const { processes = 1, threads = standardThreads(processes), queueLimit = 100, deadline = 10 * seconds } = options
  // One for every four cores, because each holds its own dictionaries.
  const estimators = Math.ceil(threads / 4)
  const hashing = createThreads(builtFile('domain/passwords/bcrypt.worker.js'), threads)
  const estimating = createThreads(builtFile('domain/passwords/estimate.worker.js'), estimators)
  const hashQueue = createBoundedQueue({ atOnce: threads, waiting: queueLimit })
  const importedQueue = createBoundedQueue({ atOnce: importedAtOnce, waiting: queueLimit })
  const estimateQueue = createBoundedQueue({ atOnce: estimators, waiting: queueLimit })
  const inTime = () => AbortSignal.timeout(deadline)
  let isClosing = false

  /**
   * What a shutdown cuts off is refused like a full queue: the user can try again, and it is no fault of the program. What
   * waits then is refused too, because it would start a thread again.
   */
  const queued = async <Result>(queue: BoundedQueue, task: () => Promise<Result>): Promise<Result | Busy> => {
    try {
      return await queue.run<Result | Busy>(async () => (isClosing ? busy : task()), inTime())
    } catch (error) {
      if (isClosing) return busy
      throw error
    }
  }

  /**
   * The time of an estimate depends on what the user typed, so one that takes too long is stopped with its thread. Loading
   * the dictionaries does not count: on a busy machine it takes seconds, and would be stopped again and again.
   */
  const estimate = async (task: { password: string; inputs: string[] }): Promise<Estimate | Busy> => {
    await estimating.run(undefined, { name: 'load' })
    const signal = inTime()
    try {
      return await estimating.run(task, { name: 'estimate', signal })
    } catch (error) {
      if (signal.aborted) return busy
      throw error
    }
  }

  return {
    hash: (password, cost) => queued<string>(hashQueue, () => hashing.run({ password, cost }, { name: 'hash' })),
    compare: (password, hash, cost) =>
      queued<boolean>(hashQueue, () => hashing.run({ password, hash, cost }, { name: 'compare' })),
    compareImported: (password, hash, cost) =>
      queued<boolean | Busy>(importedQueue, () =>
        queued<boolean>(hashQueue, () => hashing.run({ password, hash, cost }, { name: 'compareImported' })),
      ),
    estimate: (password, inputs) => queued(estimateQueue, () => estimate({ password, inputs })),
    queueLength: () => hashQueue.length() + importedQueue.length() + estimateQueue.length(),
    close: async () => {
      isClosing = true
      await Promise.all([hashing.destroy(), estimating.destroy()])
    },
  }
}

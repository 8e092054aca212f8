import { existsSync } from 'node:fs'
import { createRequire } from 'node:module'
import { availableParallelism, platform } from 'node:os'
import { dirname } from 'node:path'
import { isRefused } from '../contract/outcome.js'
import { seconds } from '../lib/durations.js'
import { builtFile } from '../lib/home.js'
import { customerNetworkOf, siteNetworkOf } from '../lib/networks.js'
import { OperatorError } from '../lib/operator-error.js'
import {
  type BoundedQueue,
  type Busy,
  busy,
  createBoundedQueue,
  type JointWork,
  type Place,
} from '../platform/queues.js'
import { createThreads } from '../platform/threads.js'
import type { AskedComparison } from './bcrypt.worker.js'
import type { Estimate } from './estimator.js'
import { comparedTogether, condensed, createDecoy, isForTogether } from './hashes.js'

export type { Busy } from '../platform/queues.js'

/**
 * The client for which the work is done. The clients of one customer network share their turns, and so do the networks of one site. A
 * client with a known browser or session is served first.
 */
export type Asker = { ip: string; isKnown?: boolean }

/** The program itself: a command, or a test. */
const ownProgram: Asker = { ip: '' }

/** The order in which tasks are served: known clients, then sign-ins, then everything else, such as registrations. */
const ranks = { known: 0, comparison: 1, other: 2 } as const

const placeOf = ({ ip, isKnown }: Asker, kind: 'comparison' | 'other'): Place => ({
  group: siteNetworkOf(ip),
  share: customerNetworkOf(ip),
  rank: isKnown ? ranks.known : ranks[kind],
})

export type Workers = {
  hash(password: string, cost: number, asker?: Asker): Promise<string | Busy>
  /** A failed comparison does the work of `cost`, even if the stored hash is cheaper. */
  compare(password: string, hash: string, cost: number, asker?: Asker): Promise<boolean | Busy>
  /** Like `compare`, with a hash of another system. The password must not be condensed. */
  compareImported(password: string, hash: string, cost: number, asker?: Asker): Promise<boolean | Busy>
  estimate(password: string, inputs: string[], asker?: Asker): Promise<Estimate | Busy>
  /** How many tasks wait. */
  queueLength(): number
  close(): Promise<void>
}

type Dependencies = {
  /** The number of threads that hash. */
  threads?: number | undefined
  /** How many processes of the service share the cores. */
  processes?: number
  /** How many tasks of one kind may wait. */
  queueLimit?: number
  /** How long a task may wait, and how long an estimate may run, in milliseconds. */
  deadline?: number
}

/**
 * One thread for each core where threads can have a lower priority (`yieldToOthers`). On other platforms one core is left to the event
 * loop, so that other requests are not delayed.
 */
const standardThreads = (processes: number) => {
  const cores = platform() === 'linux' ? availableParallelism() : availableParallelism() - 1
  return Math.max(1, Math.floor(cores / processes))
}

/** Each comparison with an imported hash may need 128 MiB, however many cores there are. */
const maxImportedAtOnce = 2

/** How long an estimate may wait while the dictionaries are loaded. */
const loadingDeadline = 60 * seconds

type Threads = ReturnType<typeof createThreads>

/**
 * The time of an estimate depends on what the user typed, so an estimate that takes too long is stopped with its thread. The time to load
 * the dictionaries does not count, even for those who wait behind the first: on a busy machine it takes many seconds.
 */
const createEstimates = (estimateThreads: Threads, deadlineSignal: () => AbortSignal) => {
  let isLoaded = false
  return {
    /** How long an estimate may wait. */
    waitSignal: () => (isLoaded ? deadlineSignal() : AbortSignal.timeout(loadingDeadline)),
    run: async (task: { password: string; inputs: string[] }): Promise<Estimate | Busy> => {
      await estimateThreads.run(undefined, { name: 'load' })
      isLoaded = true
      const signal = deadlineSignal()
      try {
        return await estimateThreads.run(task, { name: 'estimate', signal })
      } catch (error) {
        if (signal.aborted) return busy
        throw error
      }
    },
  }
}

/**
 * Work that a shutdown cuts off is refused like work for a full queue: the user can try again, and it is no fault of the program. Tasks
 * that wait then are refused too, because they would start a thread again.
 */
const createUnlessClosing =
  (isClosing: () => boolean) =>
  async <Result>(work: () => Promise<Result>): Promise<Result | Busy> => {
    if (isClosing()) return busy
    try {
      return await work()
    } catch (error) {
      if (isClosing()) return busy
      throw error
    }
  }

const compareAlone = ({ run }: Threads, { bcrypt, imported }: AskedComparison, cost: number): Promise<boolean> =>
  imported ? run({ ...imported, cost }, { name: 'compareImported' }) : run({ ...bcrypt, cost }, { name: 'compare' })

/** The work of comparisons that can be done together, by its cost: all of them take as long. */
const createJointComparisons = (hashThreads: Threads, unlessClosing: ReturnType<typeof createUnlessClosing>) => {
  const worksByCost = new Map<number, JointWork<AskedComparison, boolean | Busy>>()
  return (cost: number) => {
    const run = async (comparisons: readonly AskedComparison[]): Promise<readonly (boolean | Busy)[]> => {
      const [first, second] = comparisons
      const matches = await unlessClosing<boolean[]>(async () =>
        first && !second
          ? [await compareAlone(hashThreads, first, cost)]
          : hashThreads.run({ comparisons, cost }, { name: 'compareSeveral' }),
      )
      return isRefused(matches) ? comparisons.map(() => matches) : matches
    }
    const work = worksByCost.get(cost) ?? { size: comparedTogether, run }
    worksByCost.set(cost, work)
    return work
  }
}

/**
 * Runs what takes long in our own threads: in libuv's pool, hashes would delay DNS and files. Hashes and estimates have a queue each, so
 * that neither waits behind the other: a hash takes a third of a second, an estimate a few milliseconds. In both queues the sites of
 * clients take turns, and the connections within each site, so that a flood from one connection hardly delays the others. A hash that has
 * started is not stopped when its time is over, because its work would be lost just when there is most to do. A thread that is free again
 * takes three waiting comparisons at once (`bcrypt-together.ts`).
 */
export const createWorkers = (options: Dependencies = {}): Workers => {
  const { processes = 1, threads = standardThreads(processes), queueLimit = 100, deadline = 10 * seconds } = options
  // There is one estimating thread for every four hashing threads, because each holds its own dictionaries.
  const estimateThreadCount = Math.ceil(threads / 4)
  const hashThreads = createThreads(builtFile('passwords/bcrypt.worker.js'), threads)
  const estimateThreads = createThreads(builtFile('passwords/estimate.worker.js'), estimateThreadCount)
  const hashQueue = createBoundedQueue({ maxRunning: threads, maxWaiting: queueLimit })
  const importedQueue = createBoundedQueue({ maxRunning: maxImportedAtOnce, maxWaiting: queueLimit })
  const estimateQueue = createBoundedQueue({ maxRunning: estimateThreadCount, maxWaiting: queueLimit })
  const deadlineSignal = () => AbortSignal.timeout(deadline)
  let isClosing = false
  const estimates = createEstimates(estimateThreads, deadlineSignal)

  const unlessClosing = createUnlessClosing(() => isClosing)
  const runQueued = <Result>(
    queue: BoundedQueue,
    place: Place,
    task: () => Promise<Result>,
    signal = deadlineSignal(),
  ): Promise<Result | Busy> => queue.run(() => unlessClosing(task), signal, place)

  const comparisonsOf = createJointComparisons(hashThreads, unlessClosing)

  return {
    hash: (password, cost, asker = ownProgram) =>
      runQueued<string>(hashQueue, placeOf(asker, 'other'), () =>
        hashThreads.run({ password, cost }, { name: 'hash' }),
      ),
    compare: (password, hash, cost, asker = ownProgram) => {
      const place = placeOf(asker, 'comparison')
      const asked = { bcrypt: { password, hash }, imported: undefined }
      return isForTogether(hash, cost)
        ? hashQueue.runJointly(comparisonsOf(cost), asked, deadlineSignal(), place)
        : runQueued(hashQueue, place, () => compareAlone(hashThreads, asked, cost))
    },
    compareImported: (password, hash, cost, asker = ownProgram) => {
      const place = placeOf(asker, 'comparison')
      const asked = {
        bcrypt: { password: condensed(password), hash: createDecoy(cost) },
        imported: { password, hash },
      }
      return runQueued<boolean | Busy>(importedQueue, place, () =>
        hashQueue.runJointly(comparisonsOf(cost), asked, deadlineSignal(), place),
      )
    },
    estimate: (password, inputs, asker = ownProgram) =>
      runQueued(
        estimateQueue,
        placeOf(asker, 'other'),
        () => estimates.run({ password, inputs }),
        estimates.waitSignal(),
      ),
    queueLength: () => hashQueue.length() + importedQueue.length() + estimateQueue.length(),
    close: async () => {
      isClosing = true
      await Promise.all([hashThreads.destroy(), estimateThreads.destroy()])
    },
  }
}

/** Resolves packages as the threads do. */
const require = createRequire(builtFile('passwords/bcrypt.worker.js'))

/**
 * bcrypt is machine code, in a file for each platform. Finding the file takes a few milliseconds, and starting a thread to load it would
 * take many more.
 */
const findBcrypt = () => {
  const main = require.resolve('bcrypt')
  createRequire(main)('node-gyp-build').resolve(dirname(main))
}

const packages: Readonly<Record<string, () => unknown>> = {
  piscina: () => import('piscina'),
  bcrypt: findBcrypt,
  '@zxcvbn-ts/language-common': () => require.resolve('@zxcvbn-ts/language-common'),
  '@zxcvbn-ts/language-en': () => require.resolve('@zxcvbn-ts/language-en'),
}

const files = ['common-passwords', 'passwords/bcrypt.worker.js', 'passwords/estimate.worker.js']

/** Threads load these files and packages when the first user signs in. If one is missing, the service must not start as if all was well. */
export const requireWorkerPackages = async () => {
  const missing = files.find((file) => !existsSync(builtFile(file)))
  if (missing !== undefined)
    throw new OperatorError(
      `Passwords cannot be checked: the file dist/${missing} of the program is missing. Install the program again: all of dist/ belongs to it`,
    )
  for (const [name, find] of Object.entries(packages)) {
    try {
      await find()
    } catch (cause) {
      throw new OperatorError(
        `Passwords cannot be checked: the package ${name} is missing or incomplete. Install the program again, or in a clone its packages: npm ci --omit=dev`,
        { cause },
      )
    }
  }
}

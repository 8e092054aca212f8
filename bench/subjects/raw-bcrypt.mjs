// The limits of a sign-in: bcrypt and nothing else, in as many threads as the service has. One after the other by the library, as most
// programs do it, or three at once, as the service does while several wait.
import { once } from 'node:events'
import { availableParallelism } from 'node:os'
import { isMainThread, parentPort, Worker } from 'node:worker_threads'
import bcrypt from 'bcrypt'

/** @typedef {{ seconds: number, password: string, hash: string, together: boolean }} Task */

/** @type {(file: string) => Promise<any>} */
const built = (file) => import(new URL(`../../dist/modules/passwords/${file}.js`, import.meta.url).href)
const { compareTogether } = await built('bcrypt-together')
const { comparedTogether } = await built('hashes')

const compareFor = (/** @type {Task} */ { seconds, password, hash, together }) => {
  const several = Array(comparedTogether).fill({ password, hash })
  /** @type {() => boolean[]} */
  const compare = together
    ? () => compareTogether(several, bcrypt.getRounds(hash))
    : () => [bcrypt.compareSync(password, hash)]
  const end = performance.now() + seconds * 1000
  let compared = 0
  while (performance.now() < end) {
    const matches = compare()
    if (!matches.every(Boolean)) throw new Error('The password does not match its hash')
    compared += matches.length
  }
  return compared
}

if (!isMainThread) parentPort?.on('message', (task) => parentPort?.postMessage(compareFor(task)))

/** @param {{ password: string, cost: number }} options */
export const startRawBcrypt = async ({ password, cost }) => {
  const hash = await bcrypt.hash(password, cost)
  const threads = Array.from({ length: availableParallelism() }, () => new Worker(new URL(import.meta.url)))
  const runLoad = (/** @type {boolean} */ together) => async (/** @type {number} */ seconds) => {
    const begun = performance.now()
    const counts = threads.map(async (thread) => {
      thread.postMessage({ seconds, password, hash, together })
      const [compared] = await once(thread, 'message')
      return Number(compared)
    })
    const compared = (await Promise.all(counts)).reduce((sum, each) => sum + each, 0)
    return { perSecond: compared / ((performance.now() - begun) / 1000) }
  }
  return {
    threads: threads.length,
    runOneByOne: runLoad(false),
    runTogether: runLoad(true),
    stop: () => Promise.all(threads.map((thread) => thread.terminate())),
  }
}

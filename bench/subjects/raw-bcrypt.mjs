// The limit of a sign-in: bcrypt and nothing else, in as many threads as the service has.
import { availableParallelism } from 'node:os'
import { isMainThread, parentPort, Worker } from 'node:worker_threads'
import bcrypt from 'bcrypt'

/** @typedef {{ seconds: number, password: string, hash: string }} Task */

const compareFor = (/** @type {Task} */ { seconds, password, hash }) => {
  const end = performance.now() + seconds * 1000
  let compared = 0
  while (performance.now() < end) {
    if (!bcrypt.compareSync(password, hash)) throw new Error('The password does not match its hash')
    compared += 1
  }
  return compared
}

if (!isMainThread) parentPort?.on('message', (task) => parentPort?.postMessage(compareFor(task)))

/** @param {{ password: string, cost: number }} options */
export const startRawBcrypt = async ({ password, cost }) => {
  const hash = await bcrypt.hash(password, cost)
  const threads = Array.from({ length: availableParallelism() }, () => new Worker(new URL(import.meta.url)))
  const runLoad = async (/** @type {number} */ seconds) => {
    const begun = performance.now()
    const counts = threads.map(
      (thread) =>
        new Promise((resolve, reject) => {
          thread.once('message', resolve).once('error', reject)
          thread.postMessage({ seconds, password, hash })
        }),
    )
    const compared = (await Promise.all(counts)).reduce((sum, each) => sum + Number(each), 0)
    return { perSecond: compared / ((performance.now() - begun) / 1000) }
  }
  return { threads: threads.length, runLoad, stop: () => Promise.all(threads.map((thread) => thread.terminate())) }
}

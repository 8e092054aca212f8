import type { KeyObject } from 'node:crypto'
import { isRefused } from '../../contract/outcome.js'
import { seconds } from '../../lib/durations.js'
import { builtFile } from '../../lib/home.js'
import { createBoundedQueue } from '../../platform/bounded-queue.js'
import { StoreUnavailable } from '../../platform/database/database.js'
import { createThreads } from '../../platform/workers/threads.js'

/** A signature takes about a millisecond: what waits behind so many is answered within a second. */
const mostWaiting = 1_000
const deadline = 10 * seconds

export type KeyThreads = ReturnType<typeof createKeyThreads>

/**
 * Keys and signatures of RSA, which would hold up the event loop. Signatures have a thread of their own, so that none waits until a key
 * is made. The threads start with the first task.
 */
export const createKeyThreads = () => {
  const file = builtFile('domain/application-keys/key.worker.js')
  const making = createThreads(file, 1)
  const signing = createThreads(file, 1)
  const queue = createBoundedQueue({ atOnce: 1, waiting: mostWaiting })

  return {
    makeRsaKey: (): Promise<string> => making.run(undefined, { name: 'makeRsaKey' }),
    /** In base64url. */
    signWithRsa: async (key: KeyObject, text: string): Promise<string> => {
      const task = () => signing.run({ key, text }, { name: 'signWithRsa' }) as Promise<string>
      const signature = await queue.run(task, AbortSignal.timeout(deadline))
      if (isRefused(signature)) throw new StoreUnavailable('Too many tokens wait for their signature')
      return signature
    },
    close: async () => {
      await Promise.all([making.destroy(), signing.destroy()])
    },
  }
}

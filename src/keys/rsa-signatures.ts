import { type KeyObject, sign } from 'node:crypto'
import { isRefused } from '../contract/outcome.js'
import { seconds } from '../lib/durations.js'
import { StoreUnavailable } from '../platform/database/database.js'
import { createBoundedQueue } from '../platform/queues.js'

/** A signature takes a few milliseconds, so a request behind 1000 others waits for a few seconds. */
const maxWaiting = 1_000
const deadline = 10 * seconds

/** The signature in base64url. Node computes it in a thread because it is given a callback. */
const signInThread = (key: KeyObject, text: string) =>
  new Promise<string>((resolve, reject) => {
    sign('sha256', Buffer.from(text), key, (error, signature) =>
      error ? reject(error) : resolve(signature.toString('base64url')),
    )
  })

/**
 * Makes RSA signatures outside of the event loop, which they would hold up. They are made one at a time, so that a core is left for
 * requests.
 */
export const createRsaSignatures = () => {
  const queue = createBoundedQueue({ maxRunning: 1, maxWaiting })
  return async (key: KeyObject, text: string): Promise<string> => {
    const signature = await queue.run(() => signInThread(key, text), AbortSignal.timeout(deadline))
    if (isRefused(signature)) throw new StoreUnavailable('Too many tokens wait for their signature')
    return signature
  }
}

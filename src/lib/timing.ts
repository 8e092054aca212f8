import { setTimeout as wait } from 'node:timers/promises'

/**
 * Settles as `work` does, or after `milliseconds` with what `onTimeout` returns or throws. The work itself continues, unless `onTimeout`
 * stops it.
 *
 * If this process was busy for longer than the timeout, Node runs timers before it reads the network. So the timeout waits for one more
 * turn of the event loop, in which answers that have already arrived are read.
 */
export const withTimeout = <Result, Late>(work: Promise<Result>, milliseconds: number, onTimeout: () => Late) =>
  new Promise<Result | Awaited<Late>>((resolve, reject) => {
    let immediate: NodeJS.Immediate | undefined
    const expire = async () => resolve(await onTimeout())
    const timer = setTimeout(() => {
      immediate = setImmediate(() => void expire().catch(reject))
    }, milliseconds)
    const clear = () => {
      clearTimeout(timer)
      clearImmediate(immediate)
    }
    work.then(
      (result) => {
        clear()
        resolve(result)
      },
      (error: unknown) => {
        clear()
        reject(error)
      },
    )
  })

/** In milliseconds. To write a mail or an event takes less, so the time of the answer does not show whether one was written. */
export const minResponseTime = 100

/** Waits for the work, and at least this long, so that the answer does not show how long the work took. */
export const takeAtLeast = async <Result>(milliseconds: number, work: Promise<Result>) => {
  const [settled] = await Promise.allSettled([work, wait(milliseconds)])
  if (settled.status === 'rejected') throw settled.reason
  return settled.value
}

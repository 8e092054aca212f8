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

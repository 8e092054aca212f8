/** There is no room, or it took too long: try again later. */
export type Busy = { refused: 'busy' }
export const busy: Busy = { refused: 'busy' }

/**
 * Runs at most `width` tasks at once. At most `limit` more wait, each no longer than `timeout` milliseconds; what would
 * wait longer is refused. A task that has begun runs to its end: to stop it half-way would throw its work away just when
 * there is most to do.
 */
export const createLane = ({ width, limit, timeout }: { width: number; limit: number; timeout: number }) => {
  const waiting = new Set<() => void>()
  let running = 0

  const turn = () =>
    new Promise<boolean>((resolve) => {
      const begin = () => {
        clearTimeout(timer)
        waiting.delete(begin)
        running += 1
        resolve(true)
      }
      const timer = setTimeout(() => {
        waiting.delete(begin)
        resolve(false)
      }, timeout)
      waiting.add(begin)
      if (running < width) begin()
    })

  const run = async <Result>(task: () => Promise<Result>): Promise<Result | Busy> => {
    if (running >= width && waiting.size >= limit) return busy
    if (!(await turn())) return busy
    try {
      return await task()
    } finally {
      running -= 1
      const [next] = waiting
      next?.()
    }
  }

  return { run, length: () => waiting.size }
}

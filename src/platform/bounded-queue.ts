import { type Refused, refuse } from '../contract/outcome.js'

/** There was no room in the queue, or the wait took too long: try again later. */
export type Busy = Refused<'busy'>
export const busy: Busy = refuse('busy')

/**
 * Runs at most `atOnce` tasks at the same time; at most `waiting` more wait their turn, in the order in which they came.
 * The rest are refused at once, and a task whose signal fires while it waits is refused and never runs. The signal does
 * not stop a task that has started.
 */
export const createBoundedQueue = ({ atOnce, waiting }: { atOnce: number; waiting: number }) => {
  const queue = new Set<() => void>()
  let running = 0

  /** Resolves to false when the signal fires first. */
  const turn = (signal: AbortSignal) =>
    new Promise<boolean>((resolve) => {
      const start = () => {
        signal.removeEventListener('abort', leave)
        queue.delete(start)
        running += 1
        resolve(true)
      }
      const leave = () => {
        queue.delete(start)
        resolve(false)
      }
      queue.add(start)
      signal.addEventListener('abort', leave, { once: true })
      if (running < atOnce) start()
    })

  const run = async <Result>(task: () => Promise<Result>, signal: AbortSignal): Promise<Result | Busy> => {
    if (signal.aborted || (running >= atOnce && queue.size >= waiting)) return busy
    if (!(await turn(signal))) return busy
    try {
      return await task()
    } finally {
      running -= 1
      const [next] = queue
      next?.()
    }
  }

  return { run, length: () => queue.size, isIdle: () => running === 0 }
}

export type BoundedQueue = ReturnType<typeof createBoundedQueue>

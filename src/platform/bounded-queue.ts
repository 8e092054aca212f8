import { type Refused, refuse } from '../contract/outcome.js'
import { createFairLine, type Place } from './fair-line.js'

/** The answer if there was no room in the queue, or if the wait took too long. The caller may try again later. */
export type Busy = Refused<'busy'>
export const busy: Busy = refuse('busy')

type WaitingTask = Place & { start(): void; giveUp(): void }

/** In a queue whose clients are all alike, every task has this place, so tasks run in the order in which they came. */
const commonPlace: Place = { group: '', share: '', rank: 0 }

/**
 * Runs at most `maxRunning` tasks at the same time. At most `maxWaiting` more wait for their turn (`fair-line.ts` says whose turn it
 * is). If there is no room, the new task is refused, or in its place a waiting task of the client that has the most waiting tasks. A task
 * whose signal fires while it waits is refused and never runs. The signal does not stop a task that has started.
 */
export const createBoundedQueue = ({ maxRunning, maxWaiting }: { maxRunning: number; maxWaiting: number }) => {
  const line = createFairLine<WaitingTask>()
  let running = 0

  /** Resolves to true when the task may run, and to false when its signal fires before that or when it has to make room. */
  const waitForTurn = (signal: AbortSignal, place: Place) =>
    new Promise<boolean>((resolve) => {
      const start = () => {
        signal.removeEventListener('abort', giveUp)
        running += 1
        resolve(true)
      }
      const giveUp = () => {
        signal.removeEventListener('abort', giveUp)
        line.remove(entry)
        resolve(false)
      }
      const entry: WaitingTask = { ...place, start, giveUp }
      if (running < maxRunning) {
        start()
        return
      }
      line.add(entry)
      signal.addEventListener('abort', giveUp, { once: true })
    })

  /** Makes room for a new task if there is none, by refusing a task that waits. Returns false if that is not possible. */
  const makeRoom = (place: Place) => {
    if (running < maxRunning || line.size() < maxWaiting) return true
    const refusedTask = line.entryLeavingFor(place)
    refusedTask?.giveUp()
    return refusedTask !== undefined
  }

  const run = async <Result>(
    task: () => Promise<Result>,
    signal: AbortSignal,
    place: Place = commonPlace,
  ): Promise<Result | Busy> => {
    if (signal.aborted || !makeRoom(place)) return busy
    if (!(await waitForTurn(signal, place))) return busy
    try {
      return await task()
    } finally {
      running -= 1
      line.next()?.start()
    }
  }

  return { run, length: line.size, isIdle: () => running === 0 }
}

export type BoundedQueue = ReturnType<typeof createBoundedQueue>

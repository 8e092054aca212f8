import { type Refused, refuse } from '../contract/outcome.js'
import { createFairLine, type Place } from './fair-line.js'

/** There was no room in the queue, or the wait took too long: try again later. */
export type Busy = Refused<'busy'>
export const busy: Busy = refuse('busy')

type WaitingTask = Place & { start(): void; giveUp(): void }

/** For a queue whose clients are all alike: they have their turns in the order in which they came. */
const commonPlace: Place = { group: '', share: '', rank: 0 }

/**
 * Runs at most `atOnce` tasks at the same time; at most `waiting` more wait their turn (fair-line.ts says whose it is). If there is no
 * room, a waiting task of those who have the most is refused, or the new one. A task whose signal fires while it waits is refused and
 * never runs. The signal does not stop a task that has started.
 */
export const createBoundedQueue = ({ maxRunning, maxWaiting }: { maxRunning: number; maxWaiting: number }) => {
  const line = createFairLine<WaitingTask>()
  let running = 0

  /** Resolves to false when the signal fires first, or when it has to make room. */
  const turn = (signal: AbortSignal, place: Place) =>
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

  /** Whether there is room for one more. A task that waits may have to leave for it. */
  const hasRoom = (place: Place) => {
    if (running < maxRunning || line.size() < maxWaiting) return true
    const leaving = line.leavingFor(place)
    leaving?.giveUp()
    return leaving !== undefined
  }

  const run = async <Result>(
    task: () => Promise<Result>,
    signal: AbortSignal,
    place: Place = commonPlace,
  ): Promise<Result | Busy> => {
    if (signal.aborted || !hasRoom(place)) return busy
    if (!(await turn(signal, place))) return busy
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

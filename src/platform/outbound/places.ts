/**
 * A bounded number of places, and a bounded queue for them. Each host has its own, so that callers who wait for a stuck
 * one hold up nobody who talks to another.
 */
export const createPlaces = ({ places, waiting }: { places: number; waiting: number }) => {
  let taken = 0
  const queue: (() => void)[] = []

  const release = () => {
    const next = queue.shift()
    if (next) next()
    else taken -= 1
  }

  /** Resolves to a release function, or to nothing when the queue is full or the signal fires first. */
  const take = (signal: AbortSignal): Promise<(() => void) | undefined> => {
    if (signal.aborted || (taken >= places && queue.length >= waiting)) return Promise.resolve(undefined)
    if (taken < places) {
      taken += 1
      return Promise.resolve(release)
    }
    return new Promise((resolve) => {
      const enter = () => {
        signal.removeEventListener('abort', leave)
        resolve(release)
      }
      const leave = () => {
        queue.splice(queue.indexOf(enter), 1)
        resolve(undefined)
      }
      queue.push(enter)
      signal.addEventListener('abort', leave, { once: true })
    })
  }

  return { take, idle: () => taken === 0 }
}

export type Places = ReturnType<typeof createPlaces>

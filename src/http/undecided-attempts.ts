import type { ServerResponse } from 'node:http'

type Undecided = { count: number; decisions: number; waiting: Set<() => void> }

/** At most so many attempts wait at one counter. If there are more, they hardly come from colleagues who sign in at the same moment. */
const maxWaiting = 50

/** False if the time is over or the client has left. */
const nextDecision = ({ waiting }: Undecided, milliseconds: number, response: ServerResponse) =>
  new Promise<boolean>((resolve) => {
    const settle = (isDecided: boolean) => {
      clearTimeout(timer)
      waiting.delete(wake)
      response.off('close', giveUp)
      resolve(isDecided)
    }
    const wake = () => settle(true)
    const giveUp = () => settle(false)
    const timer = setTimeout(giveUp, milliseconds)
    waiting.add(wake)
    response.once('close', giveUp)
  })

/**
 * Attempts of this process that are counted and may still be given back. An attempt that finds a counter full waits until one of them
 * is decided: otherwise colleagues behind one address who sign in at the same moment would refuse each other, although none has failed.
 * The wait does not change which attempts are refused in the end: the counter decides.
 */
export const createUndecidedAttempts = () => {
  const undecidedByKey = new Map<string, Undecided>()

  return {
    /** An attempt was granted. The caller calls what this returns when the attempt is decided. */
    begin: (key: string) => {
      const undecided = undecidedByKey.get(key) ?? { count: 0, decisions: 0, waiting: new Set() }
      undecided.count += 1
      undecidedByKey.set(key, undecided)
      let isOpen = true
      return () => {
        if (!isOpen) return
        isOpen = false
        undecided.count -= 1
        undecided.decisions += 1
        if (undecided.count === 0) undecidedByKey.delete(key)
        for (const wake of [...undecided.waiting]) wake()
      }
    },
    /**
     * Called before the counter is asked. If the counter refuses, the caller calls what this returns. It says whether to ask again, after
     * one more attempt was decided: not when none of them is left, when too many wait, after `deadline` (a time of `performance`), or when
     * the client has left.
     */
    watch: (key: string) => {
      const undecidedBefore = undecidedByKey.get(key)
      const decisionsBefore = undecidedBefore?.decisions ?? 0
      return async (response: ServerResponse, deadline: number) => {
        const undecided = undecidedBefore ?? undecidedByKey.get(key)
        const timeLeft = deadline - performance.now()
        if (!undecided || timeLeft <= 0 || undecided.waiting.size >= maxWaiting || response.closed) return false
        // An attempt may have been decided while the counter was asked.
        return undecided.decisions !== decisionsBefore || nextDecision(undecided, timeLeft, response)
      }
    },
  }
}

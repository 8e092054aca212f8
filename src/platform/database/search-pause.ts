import type { Search } from './find-primary.js'

const firstPauseMs = 100
const longestPauseMs = 1_000

// There is at most one warning in this time.
const warningPauseMs = 5_000

/** The pause after a search that found no primary. It is twice as long after each failed search. */
export const createSearchPause = (log: Search['log']) => {
  let failure: Error | undefined
  let pauseMs = firstPauseMs
  let endsAt = 0
  let quietUntil = 0

  const warn = (error: Error) => {
    if (performance.now() < quietUntil) return
    quietUntil = performance.now() + warningPauseMs
    log?.warn({}, error.message)
  }

  return {
    begin: (error: Error) => {
      failure = error
      warn(error)
      // The pause is random, so that not all instances ask at the same moment.
      endsAt = performance.now() + pauseMs * (0.75 + Math.random() / 2)
      pauseMs = Math.min(pauseMs * 2, longestPauseMs)
    },
    reset: () => {
      failure = undefined
      pauseMs = firstPauseMs
    },
    isOver: () => performance.now() >= endsAt,
    /** The reason why the last search found no primary. */
    failure: () => failure,
  }
}

const every = 20

/**
 * Milliseconds from now on, while this process got its turns. On a busy machine timers fire late, and what they miss does
 * not count: a test measures how long something waits, not what other programs do.
 */
export const startStopwatch = () => {
  let ticks = 0
  const timer = setInterval(() => {
    ticks += 1
  }, every)
  return () => {
    clearInterval(timer)
    return ticks * every
  }
}

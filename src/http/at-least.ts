import { setTimeout as wait } from 'node:timers/promises'

/** Milliseconds; longer than writing a mail or an event takes, so that nothing tells whether, or for whom, it was written. */
export const equalTime = 100

/** Takes no less than this time, so that how long the work took cannot be told from outside. */
export const atLeast = async <Result>(milliseconds: number, work: Promise<Result>) => {
  const [settled] = await Promise.allSettled([work, wait(milliseconds)])
  if (settled.status === 'rejected') throw settled.reason
  return settled.value
}

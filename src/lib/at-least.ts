import { setTimeout as wait } from 'node:timers/promises'

/** In milliseconds. To write a mail or an event takes less, so the time of the answer does not show whether one was written. */
export const minResponseTime = 100

/** Waits for the work, and at least this long, so that the answer does not show how long the work took. */
export const takeAtLeast = async <Result>(milliseconds: number, work: Promise<Result>) => {
  const [settled] = await Promise.allSettled([work, wait(milliseconds)])
  if (settled.status === 'rejected') throw settled.reason
  return settled.value
}

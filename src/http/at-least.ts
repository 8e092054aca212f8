import { setTimeout as wait } from 'node:timers/promises'

/** Milliseconds. Longer than writing a mail or an event takes, so that the time does not show whether one was written. */
export const minResponseTime = 100

/** Takes at least this time, so that the answer does not show how long the work took. */
export const takeAtLeast = async <Result>(milliseconds: number, work: Promise<Result>) => {
  const [settled] = await Promise.allSettled([work, wait(milliseconds)])
  if (settled.status === 'rejected') throw settled.reason
  return settled.value
}

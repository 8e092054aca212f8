import { setTimeout as wait } from 'node:timers/promises'

/** Takes no less than this time, so that how long the work took cannot be told from outside. */
export const atLeast = async <Result>(milliseconds: number, work: Promise<Result>) => {
  const [settled] = await Promise.allSettled([work, wait(milliseconds)])
  if (settled.status === 'rejected') throw settled.reason
  return settled.value
}

import { platform, setPriority } from 'node:os'

/**
 * Called in a worker thread, to lower its priority. On Linux a thread has its own priority, so the event loop still runs
 * while every core hashes. On other systems only the whole process has a priority, and nothing is changed.
 *
 * `node bench/run.mjs priority` measures the effect: during hashing, the median access check took a quarter to two fifths less time,
 * with as many sign-ins. A lower priority than this had no clear effect.
 */
export const yieldToOthers = () => {
  if (platform() === 'linux') setPriority(0, 5)
}

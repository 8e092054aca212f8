import { platform, setPriority } from 'node:os'

/**
 * Called in a worker thread: everything else goes first. On Linux a priority belongs to a thread, so the event loop keeps
 * its turn although every core hashes. Elsewhere it belongs to the whole process, and nothing is changed.
 *
 * `node bench/run.mjs priority` shows what it brings: the usual access check beside busy hashing took 4 ms instead of 7,
 * the slowest in a hundred 72 instead of 102, with as many sign-ins. Giving way more than this won little more and, where
 * other programs want the cores too, cost sign-ins.
 */
export const yieldToOthers = () => {
  if (platform() === 'linux') setPriority(0, 5)
}

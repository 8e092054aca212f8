import { platform, setPriority } from 'node:os'

/**
 * Called in a worker thread: everything else goes first. On Linux a priority belongs to a thread, so the event loop keeps
 * its turn although every core hashes. Elsewhere it belongs to the whole process, and nothing is changed.
 *
 * `node bench/run.mjs priority` measures it: the usual access check beside busy hashing took a quarter to two fifths less
 * time, the slowest in a hundred less in both runs but within the spread, and there were as many sign-ins. Giving way more
 * than this brought nothing certain.
 */
export const yieldToOthers = () => {
  if (platform() === 'linux') setPriority(0, 5)
}

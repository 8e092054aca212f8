import { platform, setPriority } from 'node:os'

/**
 * Called in a worker thread: everything else goes first. On Linux a priority belongs to a thread, so the event loop keeps
 * its turn although every core hashes. Elsewhere it belongs to the whole process, and nothing is changed.
 */
export const yieldToOthers = () => {
  if (platform() === 'linux') setPriority(0, 5)
}

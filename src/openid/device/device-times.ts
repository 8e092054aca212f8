import { minutes } from '../../lib/durations.js'

export const deviceRequestLifetime = 10 * minutes

/** The seconds between two polls of a device. */
export const pollInterval = 5

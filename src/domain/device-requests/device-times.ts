import { minutes } from '../../lib/durations.js'

export const deviceRequestLifetime = 10 * minutes

/** Between two polls of a device, in seconds. */
export const pollInterval = 5

import { hours } from '../lib/durations.js'

/** The lifetime of a stored request, and of the cookie that ties it to its browser. */
export const authorizationRequestLifetime = 1 * hours

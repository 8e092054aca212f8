import { hours } from '../lib/durations.js'

/** Ties the proof of an address to the browser that registered it. Other browsers also need the password. */
export const registrationCookie = { name: 'registration', maxAge: (1 * hours) / 1000 }

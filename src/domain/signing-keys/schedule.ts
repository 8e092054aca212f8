import { days, minutes } from '../../lib/durations.js'
import { accessTokenLifetime } from '../tokens/tokens.js'

/*
 * When a key does what, by the clock of the database. A key is published as soon as it exists, signs from its time until that of
 * the next key, and is trusted and published until its last token has expired.
 */

/** In the order of `signsFrom`; times in milliseconds. */
type Scheduled = { signsFrom: number }

/** Programs that check tokens know a key for 20 minutes before it signs: every instance publishes it within a minute. */
export const announcedFor = 20 * minutes + 1 * minutes

export const signsFor = 90 * days

/** The clocks of instances may be so far apart. Expiry is written and checked by their clocks. */
const clockMargin = 5 * minutes

/** The key that signs. If the database's clock went back before the first key, that one goes on. */
export const signerAt = <Key extends Scheduled>(keys: readonly Key[], now: number) =>
  keys.findLast(({ signsFrom }) => signsFrom <= now) ?? keys[0]

/** Undefined while there is no later key. */
const trustedUntil = (keys: readonly Scheduled[], place: number) => {
  const next = keys[place + 1]
  return next && next.signsFrom + accessTokenLifetime + clockMargin
}

export type KeyState = 'waiting' | 'current' | 'retired'

/** Each key with its state, and until when it is trusted. Without those whose last token has expired. */
export const trustedAt = <Key extends Scheduled>(keys: readonly Key[], now: number) => {
  const current = signerAt(keys, now)
  return keys
    .map((key, place) => {
      const state: KeyState = key === current ? 'current' : key.signsFrom > now ? 'waiting' : 'retired'
      return { ...key, state, trustedUntil: trustedUntil(keys, place) }
    })
    .filter(({ trustedUntil: end }) => end === undefined || end > now)
}

/** Whether it is time to make the next key, so that it can be published before it signs. */
export const isNextDue = (keys: readonly Scheduled[], now: number) => {
  const newest = keys.at(-1)
  return newest === undefined || newest.signsFrom + signsFor - announcedFor <= now
}

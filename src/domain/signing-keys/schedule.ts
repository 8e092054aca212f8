import { days } from '../../lib/durations.js'

/*
 * When a key does what, by the clock of the database. A key is published as soon as it exists, signs from its time until that of
 * the next key, and is trusted and published until its last token has expired.
 */

export const signingPeriod = 90 * days

/** A running instance has made the next key by then. */
export const isOverdue = (signsFrom: Date, now: Date) => now.getTime() - signsFrom.getTime() > signingPeriod + 1 * days

/** In the order of `signsFrom`; times in milliseconds. */
type Scheduled = { signsFrom: number }

export type KeyState = 'waiting' | 'current' | 'retired'

/** The key that signs. If the database's clock went back before the first key, that one goes on. */
export const signerAt = <Key extends Scheduled>(keys: readonly Key[], now: number) =>
  keys.findLast(({ signsFrom }) => signsFrom <= now) ?? keys[0]

type Durations = {
  /** How long a key is published before it signs. */
  announcedFor: number
  /** How long a key is trusted after the next one signs. */
  trustedAfterwards: number
}

/** The schedule of the keys for one kind of token and one algorithm. */
export const createSchedule = ({ announcedFor, trustedAfterwards }: Durations) => {
  /** Undefined while there is no later key. */
  const trustedUntil = (keys: readonly Scheduled[], place: number) => {
    const next = keys[place + 1]
    return next && next.signsFrom + trustedAfterwards
  }

  return {
    /** The first key signs at once: no program has an older set of keys in its cache. */
    delayAfter: (keys: readonly Scheduled[]) => (keys.length === 0 ? 0 : announcedFor),

    /** Each key with its state, and until when it is trusted. Without those whose last token has expired. */
    trustedAt: <Key extends Scheduled>(keys: readonly Key[], now: number) => {
      const current = signerAt(keys, now)
      return keys
        .map((key, place) => {
          const state: KeyState = key === current ? 'current' : key.signsFrom > now ? 'waiting' : 'retired'
          return { ...key, state, trustedUntil: trustedUntil(keys, place) }
        })
        .filter(({ trustedUntil: end }) => end === undefined || end > now)
    },

    /** Whether it is time to make the next key, so that it can be published before it signs. */
    isNextDue: (keys: readonly Scheduled[], now: number) => {
      const newest = keys.at(-1)
      return newest === undefined || newest.signsFrom + signingPeriod - announcedFor <= now
    },

    /** A key that is published and does not sign yet. */
    waitingAt: <Key extends Scheduled>(keys: readonly Key[], now: number) =>
      keys.find((key) => key.signsFrom > now && key !== signerAt(keys, now)),
  }
}

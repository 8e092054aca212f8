import { accessTokenLifetime } from '../http/cookie-table.js'
import { days, hours, minutes } from '../lib/durations.js'

/*
 * When a key does what, by the clock of the database. A key is published as soon as it exists, signs from its time until that of
 * the next key, and is trusted and published until its last token has expired.
 */

export const signingPeriod = 90 * days

/** Whether the next key is late. A running instance would have made it by then. */
export const isOverdue = (signsFrom: Date, now: Date) => now.getTime() - signsFrom.getTime() > signingPeriod + 1 * days

/** Keys are in the order of `signsFrom`. Times are in milliseconds. */
type ScheduledKey = { signsFrom: number }

export type KeyState = 'waiting' | 'current' | 'retired'

/** The key that signs. If the database's clock went back to before the first key, the first key signs. */
export const signerAt = <Key extends ScheduledKey>(keys: readonly Key[], now: number) =>
  keys.findLast(({ signsFrom }) => signsFrom <= now) ?? keys[0]

type Durations = {
  /** How long a key is published before it signs. */
  announcedFor: number
  /** How long a key is trusted after the next one signs. */
  trustedAfterwards: number
}

export type Schedule = ReturnType<typeof createSchedule>

/** The schedule of the keys for one kind of token and one algorithm. */
const createSchedule = ({ announcedFor, trustedAfterwards }: Durations) => {
  /** Until when a key is trusted. Undefined while there is no later key. */
  const trustedUntil = (keys: readonly ScheduledKey[], place: number) => {
    const next = keys[place + 1]
    return next && next.signsFrom + trustedAfterwards
  }

  return {
    /** How long the next key waits. The first key signs at once, because no program has an older set of keys in its cache. */
    delayAfter: (keys: readonly ScheduledKey[]) => (keys.length === 0 ? 0 : announcedFor),

    /** Each key with its state, and until when it is trusted. Keys whose last token has expired are left out. */
    trustedAt: <Key extends ScheduledKey>(keys: readonly Key[], now: number) => {
      const current = signerAt(keys, now)
      return keys
        .map((key, place) => {
          const state: KeyState = key === current ? 'current' : key.signsFrom > now ? 'waiting' : 'retired'
          return { ...key, state, trustedUntil: trustedUntil(keys, place) }
        })
        .filter(({ trustedUntil: end }) => end === undefined || end > now)
    },

    /** Whether it is time to make the next key, so that it can be published before it signs. */
    isNextDue: (keys: readonly ScheduledKey[], now: number) => {
      const newestKey = keys.at(-1)
      return newestKey === undefined || newestKey.signsFrom + signingPeriod - announcedFor <= now
    },

    /** The key that is published and does not sign yet. */
    waitingAt: <Key extends ScheduledKey>(keys: readonly Key[], now: number) =>
      keys.find((key) => key.signsFrom > now && key !== signerAt(keys, now)),
  }
}

/** How much the clocks of instances may differ. Expiry is written and checked by their clocks. */
const clockMargin = 5 * minutes

export const accessTokenSchedule = createSchedule({
  // Programs that check tokens know a key for 20 minutes before it signs, because every instance publishes it within a minute.
  announcedFor: 20 * minutes + 1 * minutes,
  trustedAfterwards: accessTokenLifetime + clockMargin,
})

/**
 * Keys of ID tokens and logout tokens. Applications cache the key set for hours, some for a day. An ID token lasts for 10 minutes, and the
 * clocks of two instances may differ.
 */
export const idTokenSchedule = createSchedule({
  announcedFor: 24 * hours,
  trustedAfterwards: 24 * hours + 15 * minutes,
})

/**
 * How long a public key is kept after the next key signs, for ID tokens that come back as a hint (`id_token_hint`): as long as a session
 * lasts by default (SESSION_MAX_AGE). The ID token of a longer session is not accepted as a hint any more, so logout asks the user first.
 */
export const hintKeyLifetime = 365 * days

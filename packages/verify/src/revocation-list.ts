/** The service keeps its entries for the same time. No access token lives longer than 15 minutes. */
const retention = 20 * 60_000
const sliceLength = 5 * 60_000

/**
 * The id of a session, or of a user all of whose sessions have ended. Tokens of the session with a `gen` lower than `least` are refused, and
 * tokens of the user with a lower `iat`.
 */
export type Entry = { id: string; least: number }

/** In the place of a user, of all users: the service was restored from a backup. */
const everyUser = '00000000-0000-0000-0000-000000000000'

type TokenClaims = { sid: string; gen: number; userId: string; iat: number }

/** `from` is the time at which the first entry was added. */
type Slice = { from: number; entries: Map<string, number> }

/**
 * The sessions that ended in the last minutes. Entries are kept in slices of 5 minutes, and a slice is dropped as a whole when its
 * newest entry is 20 minutes old.
 */
export const createRevocationList = (now: () => number) => {
  /** The slices, newest first. */
  let slices: Slice[] = []

  const newest = () => {
    const [slice] = slices
    if (slice && now() < slice.from + sliceLength) return slice.entries
    const entries = new Map<string, number>()
    slices = [{ from: now(), entries }, ...slices.filter(({ from }) => now() < from + sliceLength + retention)]
    return entries
  }

  const leastOf = (id: string) => slices.reduce((most, { entries }) => Math.max(most, entries.get(id) ?? 0), 0)

  return {
    add: ({ id, least }: Entry) => {
      if (leastOf(id) < least) newest().set(id, least)
    },
    /** Whether the token with these claims is refused. */
    refusesToken: ({ sid, gen, userId, iat }: TokenClaims) =>
      gen < leastOf(sid) || iat < leastOf(userId) || iat < leastOf(everyUser),
    size: () => slices.reduce((sum, { entries }) => sum + entries.size, 0),
  }
}

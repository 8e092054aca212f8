/** The service keeps its entries for the same time. No access token lives longer than 15 minutes. */
const retention = 20 * 60_000
const sliceLength = 5 * 60_000

/** Access tokens of the session with a lower `gen` are refused; null refuses all of them. */
export type Entry = { sid: string; minGeneration: number | null }

/** Access tokens of the user that were issued before this second are refused, whatever session they are of. */
export type UserEntry = { userId: string; before: number }

type TokenClaims = { sid: string; gen: number; userId: string; iat: number }

/** `from` is the time at which the first entry was added. */
type Slice = { from: number; entries: Map<string, number>; users: Map<string, number> }

/**
 * The sessions that ended in the last minutes, and the users all of whose sessions ended. Entries are kept in slices of 5 minutes, and a slice is dropped as a whole when its
 * newest entry is 20 minutes old.
 */
export const createRevocationList = (now: () => number) => {
  /** The slices, newest first. */
  let slices: Slice[] = []

  const newest = () => {
    const [slice] = slices
    if (slice && now() < slice.from + sliceLength) return slice
    const next: Slice = { from: now(), entries: new Map(), users: new Map() }
    slices = [next, ...slices.filter(({ from }) => now() < from + sliceLength + retention)]
    return next
  }

  const minGenerationOf = (sid: string) =>
    slices.reduce((most, { entries }) => Math.max(most, entries.get(sid) ?? 0), 0)

  const acceptedFrom = (userId: string) =>
    slices.reduce((latest, { users }) => Math.max(latest, users.get(userId) ?? 0), 0)

  return {
    add: ({ sid, minGeneration }: Entry) => {
      const least = minGeneration ?? Number.POSITIVE_INFINITY
      if (minGenerationOf(sid) < least) newest().entries.set(sid, least)
    },
    addUser: ({ userId, before }: UserEntry) => {
      if (acceptedFrom(userId) < before) newest().users.set(userId, before)
    },
    /** Whether the token with these claims is refused. */
    refusesToken: ({ sid, gen, userId, iat }: TokenClaims) => gen < minGenerationOf(sid) || iat < acceptedFrom(userId),
    size: () => slices.reduce((sum, { entries }) => sum + entries.size, 0),
  }
}

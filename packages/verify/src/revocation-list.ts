/** The service keeps its entries for the same time. No access token lives longer than 15 minutes. */
const retention = 20 * 60_000
const sliceLength = 5 * 60_000

/** Access tokens of the session with a lower `gen` are refused; null refuses all of them. */
export type Entry = { sid: string; minGeneration: number | null }

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

  const minGenerationOf = (sid: string) =>
    slices.reduce((most, { entries }) => Math.max(most, entries.get(sid) ?? 0), 0)

  return {
    add: ({ sid, minGeneration }: Entry) => {
      const least = minGeneration ?? Number.POSITIVE_INFINITY
      if (minGenerationOf(sid) < least) newest().set(sid, least)
    },
    /** Whether a token of this session and generation is refused. */
    refusesToken: (sid: string, generation: number) => generation < minGenerationOf(sid),
    size: () => slices.reduce((sum, { entries }) => sum + entries.size, 0),
  }
}

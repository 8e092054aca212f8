/** The service keeps its entries as long: no access token lives longer than 15 minutes. */
const keptFor = 20 * 60_000
const sliceLength = 5 * 60_000

export type Entry = { sid: string; below: number | null }

/** `from` is when the first entry was added. */
type Slice = { from: number; entries: Map<string, number> }

/**
 * The sessions that ended in the last minutes. Entries are kept in slices of 5 minutes, and a slice is dropped as a whole when its
 * newest entry is 20 minutes old.
 */
export const createRevocationList = (now: () => number) => {
  /** The newest first. */
  let slices: Slice[] = []

  const newest = () => {
    const [slice] = slices
    if (slice && now() < slice.from + sliceLength) return slice.entries
    const entries = new Map<string, number>()
    slices = [{ from: now(), entries }, ...slices.filter(({ from }) => now() < from + sliceLength + keptFor)]
    return entries
  }

  const belowOf = (sid: string) => slices.reduce((most, { entries }) => Math.max(most, entries.get(sid) ?? 0), 0)

  return {
    add: ({ sid, below }: Entry) => {
      const wanted = below ?? Number.POSITIVE_INFINITY
      if (belowOf(sid) < wanted) newest().set(sid, wanted)
    },
    /** Whether a token of this session and generation is refused. */
    refuses: (sid: string, generation: number) => generation < belowOf(sid),
    size: () => slices.reduce((sum, { entries }) => sum + entries.size, 0),
  }
}

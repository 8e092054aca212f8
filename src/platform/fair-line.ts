/** Who waits: clients of one share take turns with those of other shares. A lower rank goes first. */
export type Place = { share: string; rank: number }

/** Each such turn is given to the last rank that waits, so that many of the first rank cannot stop it for ever. */
const turnOfTheLast = 4

/**
 * Who is next, of those who wait: the first rank, and in it the share whose last turn was longest ago, so that a share with a hundred
 * who wait delays another by one of them.
 */
export const createFairLine = <Entry extends Place>() => {
  /** In the order in which they came. */
  const entries = new Set<Entry>()
  const sizes = new Map<string, number>()
  /** When each share that waits had its last turn, or came. */
  const lastTurns = new Map<string, number>()
  let turn = 0

  const sizeOf = (share: string) => sizes.get(share) ?? 0

  const remove = (entry: Entry) => {
    if (!entries.delete(entry)) return
    const left = sizeOf(entry.share) - 1
    if (left > 0) {
      sizes.set(entry.share, left)
      return
    }
    sizes.delete(entry.share)
    lastTurns.delete(entry.share)
  }

  /** The newest of the last rank in a share. */
  const lastOf = (share: string) => {
    let last: Entry | undefined
    for (const entry of entries) if (entry.share === share && (!last || entry.rank >= last.rank)) last = entry
    return last
  }

  /** Of the shares with the most who wait: of several, one that has the last rank. */
  const lastOfLargest = () => {
    const most = Math.max(0, ...sizes.values())
    let last: Entry | undefined
    for (const [share, size] of sizes) {
      const entry = size === most ? lastOf(share) : undefined
      if (entry && (!last || entry.rank > last.rank)) last = entry
    }
    return last
  }

  return {
    size: () => entries.size,
    add: (entry: Entry) => {
      entries.add(entry)
      sizes.set(entry.share, sizeOf(entry.share) + 1)
      if (!lastTurns.has(entry.share)) lastTurns.set(entry.share, turn)
    },
    remove,
    next: () => {
      if (entries.size === 0) return undefined
      turn += 1
      const ranks = [...entries].map(({ rank }) => rank)
      const rank = turn % turnOfTheLast === 0 ? Math.max(...ranks) : Math.min(...ranks)
      const lastTurnOf = ({ share }: Entry) => lastTurns.get(share) ?? 0
      let next: Entry | undefined
      for (const entry of entries)
        if (entry.rank === rank && (!next || lastTurnOf(entry) < lastTurnOf(next))) next = entry
      if (!next) return undefined
      lastTurns.set(next.share, turn)
      remove(next)
      return next
    },
    /**
     * Who has to leave a full line for a newcomer: one of the share with the most who wait. Undefined if the newcomer's own share is
     * that one, and has none of a later rank.
     */
    leavingFor: ({ share, rank }: Place) => {
      const mine = sizeOf(share) + 1
      const other = lastOfLargest()
      const size = other ? sizeOf(other.share) : 0
      if (other && (size > mine || (size === mine && other.rank > rank))) return other
      const own = lastOf(share)
      return own && own.rank > rank ? own : undefined
    },
  }
}

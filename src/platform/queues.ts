import { type Refused, refuse } from '../contract/outcome.js'

/**
 * The place of a waiting entry. Shares of one group take turns with each other, and groups take turns with other groups. A lower rank is
 * served first.
 */
export type Place = { group: string; share: string; rank: number }

/** Every fourth turn goes to the highest rank that waits, so that many entries of lower ranks cannot stop it for ever. */
const turnsPerHighestRank = 4

/** The two levels of an entry: its group, and its share within the group. */
const levelsOf = ({ group, share }: Place) => [group, `${group} ${share}`] as const

/** Compares level by level: below zero if `one` comes first. */
const compare = (one: readonly number[], other: readonly number[]) =>
  one.map((value, at) => value - (other[at] ?? 0)).find((difference) => difference !== 0) ?? 0

/**
 * A waiting line. The next entry is one of the lowest rank that waits; among these, of the group whose last turn was longest ago; and in
 * this group, of the share whose last turn was longest ago. So a share with a hundred entries, or a group with a hundred shares, delays
 * another by one turn.
 */
export const createFairLine = <Entry extends Place>() => {
  /** The waiting entries, in the order in which they came. */
  const entries = new Set<Entry>()
  const entryCounts = new Map<string, number>()
  /** For each waiting group and share, the number of its last turn, or of the turn in which it came. */
  const lastTurns = new Map<string, number>()
  let turn = 0

  const remove = (entry: Entry) => {
    if (!entries.delete(entry)) return
    for (const level of levelsOf(entry)) {
      const remaining = (entryCounts.get(level) ?? 0) - 1
      entryCounts.set(level, remaining)
      if (remaining > 0) continue
      entryCounts.delete(level)
      lastTurns.delete(level)
    }
  }

  const lastTurnsOf = (entry: Entry) => levelsOf(entry).map((level) => lastTurns.get(level) ?? 0)

  return {
    size: () => entries.size,
    add: (entry: Entry) => {
      entries.add(entry)
      for (const level of levelsOf(entry)) {
        entryCounts.set(level, (entryCounts.get(level) ?? 0) + 1)
        if (!lastTurns.has(level)) lastTurns.set(level, turn)
      }
    },
    remove,
    next: () => {
      if (entries.size === 0) return undefined
      turn += 1
      const ranks = [...entries].map(({ rank }) => rank)
      const rank = turn % turnsPerHighestRank === 0 ? Math.max(...ranks) : Math.min(...ranks)
      let next: Entry | undefined
      for (const entry of entries)
        if (entry.rank === rank && (!next || compare(lastTurnsOf(entry), lastTurnsOf(next)) < 0)) next = entry
      if (!next) return undefined
      for (const level of levelsOf(next)) lastTurns.set(level, turn)
      remove(next)
      return next
    },
    /**
     * Finds the entry that has to leave a full line for a newcomer: in the group with the most entries, and there in the share with the
     * most, the newest entry of the highest rank. It is undefined if that is the newcomer.
     */
    entryLeavingFor: (newcomer: Place) => {
      const newcomerLevels = levelsOf(newcomer)
      const weightOf = (place: Place) => [
        ...levelsOf(place).map((level) => (entryCounts.get(level) ?? 0) + (newcomerLevels.includes(level) ? 1 : 0)),
        place.rank,
      ]
      let leaving: Entry | undefined
      for (const entry of entries) if (!leaving || compare(weightOf(entry), weightOf(leaving)) >= 0) leaving = entry
      return leaving && compare(weightOf(leaving), weightOf(newcomer)) > 0 ? leaving : undefined
    },
  }
}

/** The answer if there was no room in the queue, or if the wait took too long. The caller may try again later. */
export type Busy = Refused<'busy'>
export const busy: Busy = refuse('busy')

type WaitingTask = Place & { start(): void; giveUp(): void }

/** In a queue whose clients are all alike, every task has this place, so tasks run in the order in which they came. */
const commonPlace: Place = { group: '', share: '', rank: 0 }

/**
 * Runs at most `maxRunning` tasks at the same time. At most `maxWaiting` more wait for their turn (`fair-line.ts` says whose turn it
 * is). If there is no room, the new task is refused, or in its place a waiting task of the client that has the most waiting tasks. A task
 * whose signal fires while it waits is refused and never runs. The signal does not stop a task that has started.
 */
export const createBoundedQueue = ({ maxRunning, maxWaiting }: { maxRunning: number; maxWaiting: number }) => {
  const line = createFairLine<WaitingTask>()
  let running = 0

  /** Resolves to true when the task may run, and to false when its signal fires before that or when it has to make room. */
  const waitForTurn = (signal: AbortSignal, place: Place) =>
    new Promise<boolean>((resolve) => {
      const start = () => {
        signal.removeEventListener('abort', giveUp)
        running += 1
        resolve(true)
      }
      const giveUp = () => {
        signal.removeEventListener('abort', giveUp)
        line.remove(entry)
        resolve(false)
      }
      const entry: WaitingTask = { ...place, start, giveUp }
      if (running < maxRunning) {
        start()
        return
      }
      line.add(entry)
      signal.addEventListener('abort', giveUp, { once: true })
    })

  /** Makes room for a new task if there is none, by refusing a task that waits. Returns false if that is not possible. */
  const makeRoom = (place: Place) => {
    if (running < maxRunning || line.size() < maxWaiting) return true
    const refusedTask = line.entryLeavingFor(place)
    refusedTask?.giveUp()
    return refusedTask !== undefined
  }

  const run = async <Result>(
    task: () => Promise<Result>,
    signal: AbortSignal,
    place: Place = commonPlace,
  ): Promise<Result | Busy> => {
    if (signal.aborted || !makeRoom(place)) return busy
    if (!(await waitForTurn(signal, place))) return busy
    try {
      return await task()
    } finally {
      running -= 1
      line.next()?.start()
    }
  }

  return { run, length: line.size, isIdle: () => running === 0 }
}

export type BoundedQueue = ReturnType<typeof createBoundedQueue>

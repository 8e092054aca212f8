import { type Refused, refuse } from '../contract/outcome.js'

/**
 * The place of a waiting entry. Shares of one group take turns with each other, and groups take turns with other groups. A lower rank is
 * served first.
 */
export type Place = { group: string; share: string; rank: number }

/** Every fourth start goes to the highest rank that waits, so that many entries of lower ranks cannot stop it for ever. */
const startsPerHighestRank = 4

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
  let starts = 0

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

  /** Takes the entry among these whose turn it is. */
  const takeFrom = (candidates: readonly Entry[]) => {
    let next: Entry | undefined
    for (const entry of candidates) if (!next || compare(lastTurnsOf(entry), lastTurnsOf(next)) < 0) next = entry
    if (!next) return undefined
    turn += 1
    for (const level of levelsOf(next)) lastTurns.set(level, turn)
    remove(next)
    return next
  }

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
      starts += 1
      const ranks = [...entries].map(({ rank }) => rank)
      const rank = starts % startsPerHighestRank === 0 ? Math.max(...ranks) : Math.min(...ranks)
      return takeFrom([...entries].filter((entry) => entry.rank === rank))
    },
    /**
     * Takes the next `count` of those that fit, or none if fewer wait. They come with an entry that starts, so they are no starts of their
     * own: otherwise those who come along could take the turn of the highest rank each time.
     */
    nextOf: (fits: (entry: Entry) => boolean, count: number) => {
      const fitting = [...entries].filter(fits)
      const taken: Entry[] = []
      while (fitting.length >= count && taken.length < count) {
        const next = takeFrom(fitting.filter((entry) => entries.has(entry)))
        if (next) taken.push(next)
      }
      return taken
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

/** Work that `size` tasks do together in less time than one after the other. Fewer do it alone. */
export type JointWork<Work, Result> = { size: number; run(works: readonly Work[]): Promise<readonly Result[]> }

/** A task that does its work alone has a joint work of one. */
type Task = Place & {
  joint: JointWork<unknown, unknown>
  work: unknown
  resolve(result: unknown): void
  reject(reason: unknown): void
  stopWaiting(): void
}

/** In a queue whose clients are all alike, every task has this place, so tasks run in the order in which they came. */
const commonPlace: Place = { group: '', share: '', rank: 0 }

/**
 * Runs at most `maxRunning` tasks at the same time, where those that work together count as one. At most `maxWaiting` more wait for their
 * turn (`createFairLine` says whose turn it is). With a task that starts come the next ones of its rank that can work together with it, if
 * enough of them wait. If there is no room, the new task is refused, or in its place a waiting task of the client that has the most waiting
 * tasks. A task whose signal fires while it waits is refused and never runs. The signal does not stop a task that has started.
 */
export const createBoundedQueue = ({ maxRunning, maxWaiting }: { maxRunning: number; maxWaiting: number }) => {
  const line = createFairLine<Task>()
  let running = 0

  const giveUp = (task: Task) => {
    task.stopWaiting()
    line.remove(task)
    task.resolve(busy)
  }

  const start = async (first: Task) => {
    running += 1
    const { joint, rank } = first
    const tasks = [first, ...line.nextOf((task) => task.joint === joint && task.rank === rank, joint.size - 1)]
    for (const task of tasks) task.stopWaiting()
    try {
      const results = await joint.run(tasks.map(({ work }) => work))
      for (const [index, task] of tasks.entries()) task.resolve(results[index])
    } catch (error) {
      for (const task of tasks) task.reject(error)
    }
    running -= 1
    const next = line.next()
    if (next) void start(next)
  }

  /** Makes room for a new task if there is none, by refusing a task that waits. Returns false if that is not possible. */
  const makeRoom = (place: Place) => {
    if (running < maxRunning || line.size() < maxWaiting) return true
    const refusedTask = line.entryLeavingFor(place)
    if (refusedTask) giveUp(refusedTask)
    return refusedTask !== undefined
  }

  /** Does a part of a joint work, alone or together with others that wait. */
  const runJointly = async <Work, Result>(
    joint: JointWork<Work, Result>,
    work: Work,
    signal: AbortSignal,
    place: Place = commonPlace,
  ): Promise<Result | Busy> => {
    if (signal.aborted || !makeRoom(place)) return busy
    return new Promise<unknown>((resolve, reject) => {
      const onAbort = () => giveUp(task)
      const stopWaiting = () => signal.removeEventListener('abort', onAbort)
      const task: Task = { ...place, joint, work, resolve, reject, stopWaiting }
      if (running < maxRunning) {
        void start(task)
        return
      }
      line.add(task)
      signal.addEventListener('abort', onAbort, { once: true })
    }) as Promise<Result | Busy>
  }

  const run = <Result>(task: () => Promise<Result>, signal: AbortSignal, place?: Place) =>
    runJointly({ size: 1, run: async () => [await task()] }, undefined, signal, place)

  return { run, runJointly, length: line.size, isIdle: () => running === 0 }
}

export type BoundedQueue = ReturnType<typeof createBoundedQueue>

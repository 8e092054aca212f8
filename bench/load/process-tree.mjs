// The processor time and the memory of programs that have more than one process, from /proc.
import { readFileSync } from 'node:fs'
import { coreTime } from './core-time.mjs'

/** A process may end while it is read. @type {(path: string) => string} */
const read = (path) => {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return ''
  }
}

/** These processes and all that they have started. @type {(pids: readonly number[]) => number[]} */
const withDescendants = (pids) =>
  pids.flatMap((pid) => {
    const children = read(`/proc/${pid}/task/${pid}/children`).split(' ').filter(Boolean).map(Number)
    return [pid, ...withDescendants(children)]
  })

/** The megabytes that these programs need: memory that several processes share is counted once (Pss). @type {(pids: readonly number[]) => number} */
export const megabytesOf = (pids) =>
  withDescendants(pids).reduce(
    (sum, pid) => sum + Number(/^Pss:\s+(\d+) kB/m.exec(read(`/proc/${pid}/smaps_rollup`))?.[1] ?? 0) / 1000,
    0,
  )

/** @param {readonly number[]} pids */
const coreTimesOf = (pids) => new Map(withDescendants(pids).map((pid) => [pid, coreTime(pid) ?? 0]))

/**
 * Runs a load, and also says how much core time of all these processes an answer took.
 * @type {(pids: () => readonly number[], runLoad: (seconds: number) => Promise<{ perSecond: number }>) => (seconds: number) => Promise<import('./rounds.mjs').Measurement>}
 */
export const withCoreTimeOfAll = (pids, runLoad) => async (seconds) => {
  const before = coreTimesOf(pids())
  const measured = await runLoad(seconds)
  const used = [...coreTimesOf(pids())].reduce((sum, [pid, time]) => sum + time - (before.get(pid) ?? 0), 0)
  return { ...measured, core: used / (measured.perSecond * seconds) }
}

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

/** @type {(text: string, name: string) => number} */
const kilobytes = (text, name) => Number(new RegExp(`^${name}:\\s+(\\d+) kB`, 'm').exec(text)?.[1] ?? 0)

/** The mapped parts of files, each with the kilobytes of it that are in memory. @type {(pid: number) => [string, number][]} */
const mappedFiles = (pid) =>
  read(`/proc/${pid}/smaps`)
    .split(/^(?=[\da-f]+-[\da-f]+ )/m)
    .flatMap((text) => {
      const [, offset = '', path = ''] = /^\S+ \S+ (\S+) \S+ \d+ +(\/(?!dev\/zero).*)/.exec(text) ?? []
      return path === '' ? [] : [[`${path} ${offset}`, kilobytes(text, 'Rss') - kilobytes(text, 'Anonymous')]]
    })

/**
 * The megabytes that these programs need where nothing else runs. Memory that they share is counted once, as in Pss. But Pss also divides
 * the pages of a program's file among all processes of the machine that run it, such as this one: each of those pages is counted in full.
 * @type {(pids: readonly number[]) => number}
 */
export const megabytesOf = (pids) => {
  /** @type {Map<string, number>} */
  const files = new Map()
  let sum = 0
  for (const pid of withDescendants(pids)) {
    const rollup = read(`/proc/${pid}/smaps_rollup`)
    sum += kilobytes(rollup, 'Pss_Anon') + kilobytes(rollup, 'Pss_Shmem')
    for (const [part, size] of mappedFiles(pid)) files.set(part, Math.max(files.get(part) ?? 0, size))
  }
  return [...files.values()].reduce((all, size) => all + size, sum) / 1000
}

/** @param {readonly number[]} pids */
const coreTimesOf = (pids) => new Map(withDescendants(pids).map((pid) => [pid, coreTime(pid) ?? 0]))

/** Begins to measure. What it returns says how much core time these processes have taken since. @param {readonly number[]} pids */
export const beginCoreTime = (pids) => {
  const before = coreTimesOf(pids)
  return () => [...coreTimesOf(pids)].reduce((sum, [pid, time]) => sum + time - (before.get(pid) ?? 0), 0)
}

/**
 * Runs a load, and also says how much core time of all these processes an answer took.
 * @type {(pids: () => readonly number[], runLoad: (seconds: number) => Promise<{ perSecond: number }>) => (seconds: number) => Promise<import('./rounds.mjs').Measurement>}
 */
export const withCoreTimeOfAll = (pids, runLoad) => async (seconds) => {
  const usedTime = beginCoreTime(pids())
  const measured = await runLoad(seconds)
  return { ...measured, core: usedTime() / (measured.perSecond * seconds) }
}

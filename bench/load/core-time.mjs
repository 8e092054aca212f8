// How long processes and threads have been on a core, from /proc. Where many share the cores this is steadier than the clock:
// others may take time from a server, but hardly change how much of it an answer needs.
import { readdirSync, readFileSync } from 'node:fs'

/** A tick is a hundredth of a second, whatever the kernel's own clock. */
const tick = 10_000

/** In microseconds. @type {(stat: string) => number} */
const timeIn = (stat) => {
  const fields = stat.replace(/^.*\) /s, '').split(' ')
  return (Number(fields[11]) + Number(fields[12])) * tick
}

/** The core time of all threads of a process; undefined where there is no /proc. @type {(pid: number) => number | undefined} */
export const coreTime = (pid) => {
  try {
    return timeIn(readFileSync(`/proc/${pid}/stat`, 'utf8'))
  } catch {
    return undefined
  }
}

/** The core time of each thread of a process. @type {(pid: number) => Map<number, number>} */
export const coreTimes = (pid) =>
  new Map(
    readdirSync(`/proc/${pid}/task`).map((thread) => [
      Number(thread),
      timeIn(readFileSync(`/proc/${pid}/task/${thread}/stat`, 'utf8')),
    ]),
  )

/**
 * Runs a load, and also says how much core time an answer took.
 * @type {(pid: number, runLoad: (seconds: number) => Promise<{ perSecond: number }>) => (seconds: number) => Promise<import('./rounds.mjs').Measurement>}
 */
export const withCoreTime = (pid, runLoad) => async (seconds) => {
  const before = coreTime(pid)
  const measured = await runLoad(seconds)
  const after = coreTime(pid)
  if (before === undefined || after === undefined) return measured
  return { ...measured, core: (after - before) / (measured.perSecond * seconds) }
}

import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'

export const childrenOf = (pid: number): number[] =>
  (fromProc(pid) ?? fromPgrep(pid)).split(/\s+/).filter(Boolean).map(Number)

/** A process that has just ended has got what the signal was for. */
export const sendSignal = (pid: number, name: NodeJS.Signals): void => {
  try {
    process.kill(pid, name)
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'ESRCH')) throw error
  }
}

const fromProc = (pid: number): string | undefined => {
  try {
    return readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8')
  } catch {
    return undefined
  }
}

const fromPgrep = (pid: number): string => spawnSync('pgrep', ['-P', String(pid)], { encoding: 'utf8' }).stdout ?? ''

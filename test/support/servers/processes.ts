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

/** A process that nobody has collected yet (state Z) holds no memory and no port any more. */
export const hasEnded = (pid: number): boolean => {
  try {
    process.kill(pid, 0)
    return /^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'))
  } catch (error) {
    return error instanceof Error && 'code' in error && error.code === 'ESRCH'
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

import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'

export const childrenOf = (pid: number): number[] =>
  (fromProc(pid) ?? fromPgrep(pid)).split(/\s+/).filter(Boolean).map(Number)

const fromProc = (pid: number): string | undefined => {
  try {
    return readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8')
  } catch {
    return undefined
  }
}

const fromPgrep = (pid: number): string => spawnSync('pgrep', ['-P', String(pid)], { encoding: 'utf8' }).stdout ?? ''

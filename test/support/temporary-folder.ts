import { existsSync, readdirSync, readFileSync, rmSync, statfsSync } from 'node:fs'
import { mkdir, rm } from 'node:fs/promises'
import { join } from 'node:path'

export const memory = '/dev/shm'
const prefix = 'latchkey-tests-'
const neededBytes = 4 * 1024 ** 3

/** Linux has a file system in memory. In some containers it is tiny, or runs no programs. */
const isUsable = () => {
  if (!existsSync('/proc/mounts') || !existsSync(memory)) return false
  const mount = readFileSync('/proc/mounts', 'utf8')
    .split('\n')
    .find((line) => line.split(' ')[1] === memory)
  const { bavail, bsize } = statfsSync(memory)
  return mount !== undefined && !/\bnoexec\b/.test(mount) && bavail * bsize > neededBytes
}

/** Left by runs that were killed: they would take memory until the machine restarts. */
const removeLeftovers = () => {
  for (const name of readdirSync(memory)) {
    const isLeft = name.startsWith(prefix) && !existsSync(`/proc/${name.slice(prefix.length)}`)
    if (isLeft) removeFolder(join(memory, name))
  }
}

const removeFolder = (folder: string) => {
  try {
    rmSync(folder, { recursive: true, force: true })
  } catch (error) {
    // A small disk that a test has mounted there outlives the run, and must not stop the next one.
    if ((error as NodeJS.ErrnoException).code !== 'EBUSY') throw error
  }
}

/**
 * Vitest calls this first, and what it returns last. Temporary files are in memory if possible: hundreds of databases are
 * created and dropped, and the disk would be waited for most of the time. The test processes inherit the folder.
 */
export const setup = async () => {
  if (process.env.TMPDIR || !isUsable()) return undefined
  removeLeftovers()
  const folder = join(memory, `${prefix}${process.pid}`)
  // Some servers run as another user.
  await mkdir(folder, { mode: 0o755 })
  process.env.TMPDIR = folder
  return () => rm(folder, { recursive: true, force: true, maxRetries: 5 })
}

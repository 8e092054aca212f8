import { randomBytes } from 'node:crypto'
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'

/**
 * The signing secret of an installation that was given none: made at the first start and kept, so that a restart signs
 * nobody out. `wx` lets one of two first starts write it; the other reads what was written.
 */
export const keptSecret = async (directory: string) => {
  await mkdir(directory, { recursive: true, mode: 0o700 })
  const file = join(directory, 'secret')
  await writeFile(file, randomBytes(48).toString('hex'), { flag: 'wx', mode: 0o600 }).catch(
    (error: NodeJS.ErrnoException) => {
      if (error.code !== 'EEXIST') throw error
    },
  )
  return (await readFile(file, 'utf8')).trim()
}

import { randomBytes } from 'node:crypto'
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { DataDirectoryUnwritable } from './database/directory-lock.js'

const isCode = (error: unknown, code: string) => error instanceof Error && 'code' in error && error.code === code

/**
 * The signing secret of an installation that was given none: made at the first start and kept, so that a restart signs
 * nobody out. `wx` lets one of two first starts write it; the other reads what was written.
 */
export const keptSecret = async (directory: string) => {
  const file = join(directory, 'secret')
  try {
    await mkdir(directory, { recursive: true, mode: 0o700 })
    await writeFile(file, randomBytes(48).toString('hex'), { flag: 'wx', mode: 0o600 })
  } catch (cause) {
    if (!isCode(cause, 'EEXIST') || (await readFile(file, 'utf8').catch(() => '')) === '') {
      throw new DataDirectoryUnwritable(directory, { cause })
    }
  }
  return (await readFile(file, 'utf8')).trim()
}

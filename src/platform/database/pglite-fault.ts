import { dirname } from 'node:path'
import { freeSpaceAt } from '../free-space.js'

/** With less, the embedded database may find no space for its log. */
const leastSpace = 8 * 1024 * 1024

/** Why the embedded database does not open. PGlite itself does not say that it could not write. */
export const whyNotOpened = async (cause: unknown, directory: string, freeAt = freeSpaceAt) => {
  const reason = cause instanceof Error ? cause.message : 'unknown failure'
  const free = await freeAt(dirname(directory))
  const isFull = reason.includes('ENOSPC') || (free !== undefined && free < leastSpace)
  return isFull ? `the disk of ${dirname(directory)} is full: free some space (${reason})` : reason
}

import { dirname } from 'node:path'
import { freeSpaceAt } from '../free-space.js'

/** With less free space, the embedded database may not be able to write its log. */
const leastSpace = 8 * 1024 * 1024

/** Why the embedded database does not open. The error of PGlite does not say that the disk is full. */
export const whyNotOpened = async (cause: unknown, directory: string, freeAt = freeSpaceAt) => {
  const reason = cause instanceof Error ? cause.message : 'unknown failure'
  const free = await freeAt(dirname(directory))
  const isFull = reason.includes('ENOSPC') || (free !== undefined && free < leastSpace)
  return isFull ? `the disk of ${dirname(directory)} is full: free some space (${reason})` : reason
}

import { statfs } from 'node:fs/promises'

/** The bytes that are free for this user on the disk of `path`; undefined if the file system does not say. */
export const freeSpaceAt = async (path: string) => {
  try {
    const { bavail, bsize, blocks } = await statfs(path)
    return blocks > 0 ? bavail * bsize : undefined
  } catch {
    return undefined
  }
}

import { open } from 'node:fs/promises'

/** Writes names in a folder to disk, so that they survive a power cut. Not every platform supports this. */
export const syncFolder = async (folder: string) => {
  const handle = await open(folder, 'r').catch(() => undefined)
  await handle?.sync().catch(() => undefined)
  await handle?.close()
}

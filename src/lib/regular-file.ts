import { constants } from 'node:fs'
import { type FileHandle, open } from 'node:fs/promises'
import { seconds } from './durations.js'
import { withTimeout } from './timing.js'

/** A disk that does not answer must not hold up the start. */
const longestRead = 5 * seconds

const failure = (code: string) => Object.assign(new Error(code), { code })

/** Opens without waiting for the writer of a pipe. A device or a pipe could go on for ever. */
const openRegular = async (path: string) => {
  const file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK)
  const stats = await file.stat()
  if (stats.isFile()) return file
  await file.close()
  throw failure(stats.isDirectory() ? 'EISDIR' : 'not_regular')
}

/** Works with a regular file, and gives up after a while. Fails with what `whyUnreadable` puts into words. */
export const withRegularFile = <Result>(path: string, work: (file: FileHandle) => Promise<Result>) => {
  const read = async () => {
    const file = await openRegular(path)
    try {
      return await work(file)
    } finally {
      await file.close()
    }
  }
  return withTimeout(read(), longestRead, (): never => {
    throw failure('ETIMEDOUT')
  })
}

/** At most so many bytes from the beginning. */
export const beginningOf = async (file: FileHandle, most: number) => {
  const bytes = Buffer.alloc(most)
  let length = 0
  for (;;) {
    const { bytesRead } = await file.read(bytes, length, most - length, length)
    length += bytesRead
    if (bytesRead === 0 || length === most) return bytes.subarray(0, length)
  }
}

import { createReadStream } from 'node:fs'
import { open } from 'node:fs/promises'
import type { Readable } from 'node:stream'
import { whyUnreadable } from '../../lib/operator-error.js'
import { CommandFailure, type Terminal } from '../command.js'

export type Input = {
  bytes: AsyncIterable<Buffer | string>
  size: number | undefined
  /** Closes the file. Reading that is under way ends with an error. */
  stop(): void
}

export const cannotRead = (path: string, error: unknown) =>
  new CommandFailure(`The file cannot be read: ${path} (${whyUnreadable(error)})`)

/** Opens a file, or standard input for `-`. */
export const openInput = async (path: string, { stdin }: Terminal): Promise<Input> => {
  if (path === '-') return { bytes: stdin as Readable, size: undefined, stop: () => stdin.destroy() }
  try {
    const handle = await open(path)
    const status = await handle.stat()
    if (status.isDirectory()) {
      await handle.close()
      throw Object.assign(new Error(), { code: 'EISDIR' })
    }
    const bytes = createReadStream(path, { fd: handle, highWaterMark: 256 * 1024 })
    return { bytes, size: status.size, stop: () => bytes.destroy() }
  } catch (error) {
    throw cannotRead(path, error)
  }
}

/** Decodes UTF-8 and drops a byte order mark. Another encoding, such as Latin-1 from a spreadsheet, is refused: it would garble names. */
export async function* asText(bytes: Input['bytes']): AsyncGenerator<{ text: string; bytes: number }> {
  const decoder = new TextDecoder('utf-8', { fatal: true })
  const decode = (chunk: Buffer | undefined) => {
    try {
      return decoder.decode(chunk, { stream: chunk !== undefined })
    } catch {
      throw new CommandFailure('The input is not UTF-8 text. Save it as UTF-8 and run the command again.')
    }
  }
  for await (const chunk of bytes) {
    const buffer = typeof chunk === 'string' ? Buffer.from(chunk) : chunk
    yield { text: decode(buffer), bytes: buffer.length }
  }
  yield { text: decode(undefined), bytes: 0 }
}

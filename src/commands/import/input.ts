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

/** The fault of a record that has more than `maxLength` characters. */
export const tooLong = (maxLength: number) =>
  `has more than ${maxLength.toLocaleString('en')} characters: shorten or remove it`

export type JsonLine = { line: number; value: Record<string, unknown> } | { line: number; fault: string }

const asObject = (text: string, line: number): JsonLine => {
  try {
    const value: unknown = JSON.parse(text)
    if (typeof value === 'object' && value !== null && !Array.isArray(value))
      return { line, value: value as Record<string, unknown> }
  } catch {
    return { line, fault: 'not valid JSON' }
  }
  return { line, fault: 'not a JSON object' }
}

/** Reads one JSON object from each line of a text that comes in pieces of any size. Other lines become faults; empty lines are skipped. */
export const createJsonLinesReader = ({ maximumLength = 1_000_000 } = {}) => {
  let rest = ''
  let line = 0

  const readLine = (text: string): JsonLine[] => {
    line += 1
    if (text.trim() === '') return []
    return [text.length > maximumLength ? { line, fault: tooLong(maximumLength) } : asObject(text, line)]
  }

  return {
    push: (text: string): JsonLine[] => {
      const lines = (rest + text).split('\n')
      rest = lines.pop() ?? ''
      // Only the beginning of a line that is too long is kept: enough to see that it is too long.
      if (rest.length > maximumLength) rest = rest.slice(0, maximumLength + 1)
      return lines.flatMap(readLine)
    },
    end: (): JsonLine[] => readLine(rest),
  }
}

/** Writes a field as in RFC 4180. It is quoted only if it must be, or if a spreadsheet could split it at semicolons or tabs. */
const csvField = (text: string) => (/[",;\t\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text)

export const csvLine = (fields: readonly string[]) => `${fields.map(csvField).join(',')}\r\n`

/**
 * A spreadsheet may run a cell that begins with one of these characters as a formula. An apostrophe in front makes the cell a text. A
 * cell that begins with apostrophes and such a character gets one more apostrophe: so the import can remove one from every guarded cell.
 */
const formula = /^'*[=+\-@\t\r]/

const guarded = /^'+[=+\-@\t\r]/

export const guardFormula = (cell: string) => (formula.test(cell) ? `'${cell}` : cell)

export const unguardFormula = (cell: string) => (guarded.test(cell) ? cell.slice(1) : cell)

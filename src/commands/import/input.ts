import { createReadStream } from 'node:fs'
import { open } from 'node:fs/promises'
import type { Readable } from 'node:stream'
import { CsvError, parse } from 'csv-parse/sync'
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

/** One record of a CSV file, or its fault. `line` is the line in which the record begins, counted from 1. */
export type CsvRow = { line: number; cells: string[] } | { line: number; fault: string }

type RecordResult = { cells: string[] } | { fault: string }

const neverClosed = 'the quotes of a field are never closed'
const faults: Readonly<Record<string, string>> = {
  INVALID_OPENING_QUOTE: 'a quote inside a field that does not begin with one',
  CSV_INVALID_CLOSING_QUOTE: 'text after the closing quote of a field',
  CSV_QUOTE_NOT_CLOSED: neverClosed,
}

/** Reads one record as RFC 4180 defines it: quoted fields with commas, doubled quotes and line breaks in them; CRLF or LF. */
const readRecord = (text: string): RecordResult => {
  try {
    const [cells = []]: string[][] = parse(`${text}\n`, { record_delimiter: ['\r\n', '\n'] })
    return { cells }
  } catch (error) {
    const fault = error instanceof CsvError ? faults[error.code] : undefined
    if (fault === undefined) throw error
    return { fault }
  }
}

/**
 * Reads CSV that is given in pieces of any size. The parser sees one record at a time, so a record that breaks the rules
 * or is too long is reported with its line, and reading goes on at the next line. Empty lines are skipped. While quotes are open, a line
 * without a quote is not parsed: it cannot close them.
 */
export const createCsvReader = ({ maximumLength = 1_000_000 } = {}) => {
  let text = ''
  let length = 0
  let quotes = 0
  let lineHasQuote = false
  let isQuoteOpen = false
  let line = 1
  let startLine = 1
  const isTooLong = () => length > maximumLength
  const isEmpty = () => length === 0 || text === '\r'

  const append = (part: string) => {
    const quotesFound = part.split('"').length - 1
    length += part.length
    quotes += quotesFound
    lineHasQuote ||= quotesFound > 0
    text = isTooLong() ? '' : text + part
  }

  const readSoFar = (): RecordResult => {
    // The text of a record that is too long is not kept. Only its quotes are counted, to find its end.
    if (isTooLong()) return { fault: quotes % 2 === 1 ? neverClosed : tooLong(maximumLength) }
    return isQuoteOpen && !lineHasQuote ? { fault: neverClosed } : readRecord(text)
  }

  const finish = (result: RecordResult): CsvRow => {
    const row = { line: startLine, ...result }
    text = ''
    length = 0
    quotes = 0
    startLine = line
    return row
  }

  const endLine = (): CsvRow[] => {
    line += 1
    const result = readSoFar()
    const wasEmpty = isEmpty()
    // A quoted field that is not closed continues in the next line.
    isQuoteOpen = 'fault' in result && result.fault === neverClosed
    if (isQuoteOpen) append('\n')
    lineHasQuote = false
    if (isQuoteOpen) return []
    const row = finish(result)
    return wasEmpty ? [] : [row]
  }

  return {
    push: (piece: string): CsvRow[] => {
      const [first = '', ...followingLines] = piece.split('\n')
      append(first)
      return followingLines.flatMap((part) => {
        const rows = endLine()
        append(part)
        return rows
      })
    },
    end: (): CsvRow[] => (isEmpty() ? [] : [finish(readSoFar())]),
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

import { CsvError, parse } from 'csv-parse/sync'
import { tooLong } from './too-long.js'

/** One record of a CSV file, or what is wrong with it. `line` is where it begins, counted from 1. */
export type CsvRow = { line: number; fields: string[] } | { line: number; fault: string }

type RecordResult = { fields: string[] } | { fault: string }

const neverClosed = 'the quotes of a field are never closed'
const faults: Readonly<Record<string, string>> = {
  INVALID_OPENING_QUOTE: 'a quote inside a field that does not begin with one',
  CSV_INVALID_CLOSING_QUOTE: 'text after the closing quote of a field',
  CSV_QUOTE_NOT_CLOSED: neverClosed,
}

/** One record as RFC 4180 has it: quoted fields with commas, doubled quotes and line breaks in them; CRLF or LF. */
const readRecord = (text: string): RecordResult => {
  try {
    const [fields = []]: string[][] = parse(`${text}\n`, { record_delimiter: ['\r\n', '\n'] })
    return { fields }
  } catch (error) {
    const fault = error instanceof CsvError ? faults[error.code] : undefined
    if (fault === undefined) throw error
    return { fault }
  }
}

/**
 * Reads CSV that is given in pieces of any size. The parser sees one record at a time: so a record that breaks the rules
 * or is too long is reported with its line, and reading goes on at the next line. Empty lines are skipped.
 */
export const createCsvReader = ({ maximumLength = 1_000_000 } = {}) => {
  let text = ''
  let length = 0
  let quotes = 0
  let lineHasQuote = false
  let isOpen = false
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
    // Of a record that is too long no text is kept. Its quotes are counted, to find its end.
    if (isTooLong()) return { fault: quotes % 2 === 1 ? neverClosed : tooLong(maximumLength) }
    return isOpen && !lineHasQuote ? { fault: neverClosed } : readRecord(text)
  }

  const finish = (read: RecordResult): CsvRow => {
    const row = { line: startLine, ...read }
    text = ''
    length = 0
    quotes = 0
    startLine = line
    return row
  }

  const endLine = (): CsvRow[] => {
    line += 1
    const read = readSoFar()
    const wasEmpty = isEmpty()
    // A quoted field goes on in the next line.
    isOpen = 'fault' in read && read.fault === neverClosed
    if (isOpen) append('\n')
    lineHasQuote = false
    if (isOpen) return []
    const row = finish(read)
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

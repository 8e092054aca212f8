import { CsvError, parse } from 'csv-parse/sync'
import { tooLong } from './input.js'

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

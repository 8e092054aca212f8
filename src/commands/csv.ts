/** One record of a CSV file, or what is wrong with it. `line` is where it begins, counted from 1. */
export type CsvRow = { line: number; fields: string[] } | { line: number; fault: string }

const quote = 0x22
const comma = 0x2c
const lineFeed = 0x0a
const carriageReturn = 0x0d

type Place = 'before a field' | 'in a bare field' | 'in quotes' | 'after a quote' | 'in a broken record'

/**
 * RFC 4180, given in pieces of any size: quoted fields with commas, doubled quotes and line breaks in them; CRLF or LF;
 * empty lines are passed over. A record that breaks the rules is reported and reading goes on at the next line.
 */
export const createCsvReader = ({ maximumLength = 1_000_000 } = {}) => {
  let place: Place = 'before a field'
  let fields: string[] = []
  let field = ''
  let fault = ''
  let line = 1
  let startLine = 1
  let length = 0
  const isTooLong = () => length > maximumLength

  const endField = () => {
    fields.push(field)
    field = ''
    place = 'before a field'
  }

  const endRecord = (rows: CsvRow[]) => {
    // A bare field may carry the CR of its CRLF; in quotes it is content.
    if (place === 'in a bare field' && field.endsWith('\r')) field = field.slice(0, -1)
    if (isTooLong()) fault ||= 'longer than any such line may be'
    const empty = fields.length === 0 && field === '' && place !== 'after a quote' && !fault
    if (fault) rows.push({ line: startLine, fault })
    else if (!empty) rows.push({ line: startLine, fields: [...fields, field] })
    fields = []
    field = ''
    fault = ''
    length = 0
    place = 'before a field'
    startLine = line
  }

  const breakRecord = (reason: string) => {
    fault = reason
    place = 'in a broken record'
  }

  const takeBare = (code: number, character: string) => {
    if (code === comma) endField()
    else if (code !== quote) {
      field += character
      place = 'in a bare field'
    } else if (place === 'before a field') place = 'in quotes'
    else breakRecord('a quote inside a field that does not begin with one')
  }

  const takeAfterQuote = (code: number) => {
    if (code === quote) {
      field += '"'
      place = 'in quotes'
    } else if (code === comma) endField()
    else if (code !== carriageReturn) breakRecord('text after the closing quote of a field')
  }

  const take = (code: number, character: string, rows: CsvRow[]) => {
    if (code === lineFeed) line += 1
    if (code === lineFeed && place !== 'in quotes') return endRecord(rows)
    length += 1
    if (place === 'in quotes') {
      if (code === quote) place = 'after a quote'
      else field += character
    } else if (place === 'after a quote') takeAfterQuote(code)
    else if (place !== 'in a broken record') takeBare(code, character)
    // Of a record that is too long nothing is kept, and only its end is looked for.
    if (isTooLong()) [fields, field] = [[], '']
  }

  return {
    push: (text: string): CsvRow[] => {
      const rows: CsvRow[] = []
      for (let at = 0; at < text.length; at += 1) take(text.charCodeAt(at), text.charAt(at), rows)
      return rows
    },
    end: (): CsvRow[] => {
      const rows: CsvRow[] = []
      if (place === 'in quotes') breakRecord('the quotes of a field are never closed')
      endRecord(rows)
      return rows
    },
  }
}

/** A field as RFC 4180 writes it: in quotes only when it must be, or when a spreadsheet may split at semicolons or tabs. */
const csvField = (text: string) => (/[",;\t\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text)
export const csvLine = (fields: readonly string[]) => `${fields.map(csvField).join(',')}\r\n`

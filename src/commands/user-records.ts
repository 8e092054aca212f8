import { type ImportField, type ImportRow, importFieldNamed, isPlainPassword } from '../domain/users/imported-user.js'
import { CommandFailure } from './command.js'
import { type CsvRow, createCsvReader } from './csv.js'
import { unguardFormula } from './csv-cells.js'
import { asText, type Input } from './input.js'
import { createJsonLinesReader, type JsonLine } from './json-lines.js'

export type UserFormat = 'csv' | 'jsonl'
export type UserRecord = { line: number; row: ImportRow } | { line: number; fault: string }
export type UserRecords = { records: UserRecord[]; bytes: number }

const noPlainPasswords = 'plain passwords are not imported: give bcrypt hashes in password_hash'

type Reader = { push(text: string): UserRecord[]; end(): UserRecord[] }

const columnsFrom = (row: CsvRow) => {
  if ('fault' in row) throw new CommandFailure(`line ${row.line}: ${row.fault}`)
  if (row.fields.some(isPlainPassword)) throw new CommandFailure(`line ${row.line}: ${noPlainPasswords}`)
  const columns = row.fields.map(importFieldNamed)
  const twice = columns.find((column, at) => column && columns.indexOf(column) !== at)
  if (twice) throw new CommandFailure(`line ${row.line}: two columns are called ${twice}`)
  if (!columns.includes('email'))
    throw new CommandFailure(`line ${row.line}: the first line must name the columns, and one of them email`)
  return columns
}

const csvRecords = (): Reader => {
  const reader = createCsvReader()
  let columns: (ImportField | undefined)[] | undefined

  const record = (row: CsvRow): UserRecord[] => {
    if (!columns) {
      columns = columnsFrom(row)
      return []
    }
    if ('fault' in row) return [row]
    if (row.fields.length !== columns.length)
      return [{ line: row.line, fault: `has ${row.fields.length} fields where the first line has ${columns.length}` }]
    const values: ImportRow = {}
    for (const [at, column] of columns.entries()) if (column) values[column] = unguardFormula(row.fields[at] ?? '')
    return [{ line: row.line, row: values }]
  }

  return { push: (text) => reader.push(text).flatMap(record), end: () => reader.end().flatMap(record) }
}

const jsonRecord = (line: JsonLine): UserRecord => {
  if ('fault' in line) return line
  const row: ImportRow = {}
  for (const [name, value] of Object.entries(line.value)) {
    if (isPlainPassword(name)) return { line: line.line, fault: noPlainPasswords }
    const field = importFieldNamed(name)
    if (field) row[field] = value
  }
  return { line: line.line, row }
}

const jsonRecords = (): Reader => {
  const reader = createJsonLinesReader()
  return { push: (text) => reader.push(text).map(jsonRecord), end: () => reader.end().map(jsonRecord) }
}

const readerFor = { csv: csvRecords, jsonl: jsonRecords }
const formatOf = (start: string): UserFormat => (start.trimStart().startsWith('{') ? 'jsonl' : 'csv')

/** The users of a file, piece by piece. Without a format, the first character decides. */
export async function* readUserRecords(input: Input, format?: UserFormat): AsyncGenerator<UserRecords> {
  let reader: Reader | undefined
  for await (const { text, bytes } of asText(input.bytes)) {
    if (!reader && text.trim() !== '') reader = readerFor[format ?? formatOf(text)]()
    yield { records: reader?.push(text) ?? [], bytes }
  }
  yield { records: reader?.end() ?? [], bytes: 0 }
}

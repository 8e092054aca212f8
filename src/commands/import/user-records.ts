import { countText } from '../../lib/text.js'
import { type FindImportField, type ImportField, type ImportRow, isPasswordColumn } from '../../users/bulk.js'
import { CommandFailure } from '../command.js'
import { type CsvRow, createCsvReader } from './csv.js'
import { asText, createJsonLinesReader, type Input, type JsonLine, unguardFormula } from './input.js'

export type UserFormat = 'csv' | 'jsonl'
export type UserRecord = { line: number; row: ImportRow } | { line: number; fault: string }
export type UserRecords = { records: UserRecord[]; bytes: number }

const noPlainPasswords = 'plain passwords are not imported: give hashes in password_hash'

type Reader = { push(text: string): UserRecord[]; end(): UserRecord[] }

/** In many countries spreadsheets separate columns by semicolons, because the comma is part of numbers there. */
const otherSeparators = [
  { sign: ';', name: 'semicolons' },
  { sign: '\t', name: 'tabs' },
]

const whyNoEmail = (columnNames: readonly string[]) => {
  const [firstName = ''] = columnNames
  const separator =
    columnNames.length > 1 ? undefined : otherSeparators.find(({ sign }) => firstName.includes(sign))?.name
  return separator === undefined
    ? 'the first line must name the columns, and one of them must be email'
    : `the columns are separated by ${separator}: save the file with commas between them`
}

const columnsFrom = (row: CsvRow, findField: FindImportField) => {
  if ('fault' in row) throw new CommandFailure(`line ${row.line}: ${row.fault}`)
  if (row.cells.some(isPasswordColumn)) throw new CommandFailure(`line ${row.line}: ${noPlainPasswords}`)
  const columns = row.cells.map(findField)
  const repeatedColumn = columns.find((column, index) => column && columns.indexOf(column) !== index)
  if (repeatedColumn) throw new CommandFailure(`line ${row.line}: two columns are called ${repeatedColumn}`)
  if (!columns.includes('email')) throw new CommandFailure(`line ${row.line}: ${whyNoEmail(row.cells)}`)
  return columns
}

const createCsvRecordReader = (findField: FindImportField): Reader => {
  const reader = createCsvReader()
  let columns: (ImportField | undefined)[] | undefined

  const readRow = (row: CsvRow): UserRecord[] => {
    if (!columns) {
      columns = columnsFrom(row, findField)
      return []
    }
    if ('fault' in row) return [row]
    if (row.cells.length !== columns.length)
      return [
        {
          line: row.line,
          fault: `has ${countText(row.cells.length, 'field')} where the first line has ${columns.length}`,
        },
      ]
    const values: ImportRow = {}
    for (const [index, column] of columns.entries()) if (column) values[column] = unguardFormula(row.cells[index] ?? '')
    return [{ line: row.line, row: values }]
  }

  return { push: (text) => reader.push(text).flatMap(readRow), end: () => reader.end().flatMap(readRow) }
}

const jsonRecord = (line: JsonLine, findField: FindImportField): UserRecord => {
  if ('fault' in line) return line
  const row: ImportRow = {}
  for (const [name, value] of Object.entries(line.value)) {
    if (isPasswordColumn(name)) return { line: line.line, fault: noPlainPasswords }
    const field = findField(name)
    if (field) row[field] = value
  }
  return { line: line.line, row }
}

const createJsonRecordReader = (findField: FindImportField): Reader => {
  const reader = createJsonLinesReader()
  const readLine = (line: JsonLine) => jsonRecord(line, findField)
  return { push: (text) => reader.push(text).map(readLine), end: () => reader.end().map(readLine) }
}

const createReader = { csv: createCsvRecordReader, jsonl: createJsonRecordReader }
const formatOf = (start: string): UserFormat => {
  const [first] = start.trimStart()
  if (first === '[')
    throw new CommandFailure(
      'The input is a JSON array: write one object on each line, without brackets and commas around it.',
    )
  return first === '{' ? 'jsonl' : 'csv'
}

/** Reads the users of a file piece by piece. Without `format`, the first character of the file decides. */
export async function* readUserRecords(
  input: Input,
  findField: FindImportField,
  format?: UserFormat,
): AsyncGenerator<UserRecords> {
  let reader: Reader | undefined
  for await (const { text, bytes } of asText(input.bytes)) {
    if (!reader && text.trim() !== '') reader = createReader[format ?? formatOf(text)](findField)
    yield { records: reader?.push(text) ?? [], bytes }
  }
  if (!reader)
    throw new CommandFailure(
      'The input is empty: a CSV file begins with the names of its columns, and one of them is email.',
    )
  yield { records: reader.end(), bytes: 0 }
}

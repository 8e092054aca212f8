import { types } from 'pg'

// PostgreSQL's numbers for its types. Everything else is read as the driver reads it.
const [bigint, bigints, numerics, texts] = [20, 1016, 1231, 1009]

/** A count is a bigint to PostgreSQL and a number to everybody else, as long as a number holds it exactly. */
const readInteger = (text: string) => (Number.isSafeInteger(Number(text)) ? Number(text) : BigInt(text))

const readTexts: (text: string) => (string | null)[] = types.getTypeParser(texts)

const readers = new Map<number, (text: string) => unknown>([
  [bigint, readInteger],
  [bigints, (text) => readTexts(text).map((item) => (item === null ? null : readInteger(item)))],
  [numerics, readTexts],
])

export const columnTypes = {
  getTypeParser: (type: number, format?: 'text' | 'binary') => readers.get(type) ?? types.getTypeParser(type, format),
}

/** The values as the driver takes them. The server knows the types; the text of the statement says which of them is JSON. */
export const writeParameters = (text: string, parameters: readonly unknown[]) =>
  parameters.map((value, place) => {
    if (value === undefined) throw new TypeError('A parameter is undefined: pass null for nothing')
    return value !== null && isJson(text, place + 1) ? JSON.stringify(value) : writeDates(value)
  })

const isJson = (text: string, number: number) => {
  const at = text.indexOf(`$${number}::json`)
  return at >= 0 && /^\$\d+::jsonb?(?![\w[])/.test(text.slice(at))
}

// An invalid date throws here, where the driver would send it. The sender's own zone plays no part.
const writeDates = (value: unknown): unknown => {
  if (value instanceof Date) return value.toISOString()
  return Array.isArray(value) ? value.map(writeDates) : value
}

import { types } from 'pg'

// PostgreSQL's ids of its types; a plural is the type of arrays. All other types are read by the driver.
const typeIds = { bigint: 20, bigints: 1016, numerics: 1231, texts: 1009 }

/** A count is a bigint in PostgreSQL. It becomes a number if a number holds it exactly. */
const readInteger = (text: string) => (Number.isSafeInteger(Number(text)) ? Number(text) : BigInt(text))

const readTexts: (text: string) => (string | null)[] = types.getTypeParser(typeIds.texts)

const readers = new Map<number, (text: string) => unknown>([
  [typeIds.bigint, readInteger],
  [typeIds.bigints, (text) => readTexts(text).map((item) => (item === null ? null : readInteger(item)))],
  [typeIds.numerics, readTexts],
])

export const columnTypes = {
  getTypeParser: (type: number, format?: 'text' | 'binary') => readers.get(type) ?? types.getTypeParser(type, format),
}

/** The numbers of the parameters that are JSON, as the text of the statement says (`$2::jsonb`). */
export const jsonParametersOf = (text: string): ReadonlySet<number> =>
  new Set(Array.from(text.matchAll(/\$(\d+)::jsonb?(?![\w[])/g), ([, number]) => Number(number)))

/** Writes the values in the form that the driver needs. */
export const writeParameters = (parameters: readonly unknown[], jsonParameters: ReadonlySet<number>) =>
  parameters.map((value, place) => {
    if (value === undefined) throw new TypeError('A parameter is undefined: pass null for nothing')
    return value !== null && jsonParameters.has(place + 1) ? JSON.stringify(value) : writeDates(value)
  })

// `toISOString` throws for an invalid date, which the driver would send. It writes UTC, whatever the time zone of this machine.
const writeDates = (value: unknown): unknown => {
  if (value instanceof Date) return value.toISOString()
  return Array.isArray(value) ? value.map(writeDates) : value
}

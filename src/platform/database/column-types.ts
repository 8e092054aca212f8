import type { PostgresType } from 'postgres'

// Array types are named here rather than asked for at each connection: the driver's own question is one more round trip,
// and when the connection dies in the middle of it the rejection belongs to nobody and ends the process.
type Scalar = { oid: number; array: number; parse(text: string): unknown; serialize(value: unknown): string }

const asText = (value: unknown) => String(value)
const asIs = (text: string) => text
const dateTo = (value: unknown) => (value instanceof Date ? value : new Date(String(value))).toISOString()
const bytesTo = (value: unknown) => `\\x${Buffer.from(value as Uint8Array).toString('hex')}`
const bytesFrom = (text: string) => Buffer.from(text.slice(2), 'hex')

/** A count is a bigint to PostgreSQL and a number to everybody else, as long as a number holds it exactly. */
const integerFrom = (text: string) => (Number.isSafeInteger(Number(text)) ? Number(text) : BigInt(text))

const scalars: Record<string, Scalar> = {
  boolean: { oid: 16, array: 1000, parse: (text) => text === 't', serialize: asText },
  bytea: { oid: 17, array: 1001, parse: bytesFrom, serialize: bytesTo },
  bigint: { oid: 20, array: 1016, parse: integerFrom, serialize: asText },
  smallint: { oid: 21, array: 1005, parse: Number, serialize: asText },
  integer: { oid: 23, array: 1007, parse: Number, serialize: asText },
  text: { oid: 25, array: 1009, parse: asIs, serialize: asText },
  json: { oid: 114, array: 199, parse: JSON.parse, serialize: JSON.stringify },
  real: { oid: 700, array: 1021, parse: Number, serialize: asText },
  double: { oid: 701, array: 1022, parse: Number, serialize: asText },
  varchar: { oid: 1043, array: 1015, parse: asIs, serialize: asText },
  timestamptz: { oid: 1184, array: 1185, parse: (text) => new Date(text), serialize: dateTo },
  numeric: { oid: 1700, array: 1231, parse: asIs, serialize: asText },
  uuid: { oid: 2950, array: 2951, parse: asIs, serialize: asText },
  jsonb: { oid: 3802, array: 3807, parse: JSON.parse, serialize: JSON.stringify },
}

const quoted = (text: string) => `"${text.replaceAll('\\', '\\\\').replaceAll('"', '\\"')}"`

const arrayTo = (serialize: Scalar['serialize']) => (value: unknown) => {
  if (!Array.isArray(value)) throw new TypeError('An array parameter needs an array')
  return `{${value.map((item) => (item === null ? 'NULL' : quoted(serialize(item)))).join(',')}}`
}

// An element is in quotes, with backslashes before quotes and backslashes, or it is bare.
const element = /"((?:[^"\\]|\\.)*)"|([^{},]+)/gs

const arrayFrom = (parse: Scalar['parse']) => (text: string) =>
  Array.from(text.matchAll(element), ([, inQuotes, bare]) => {
    if (inQuotes !== undefined) return parse(inQuotes.replace(/\\(.)/gs, '$1'))
    return bare === 'NULL' ? null : parse(bare ?? '')
  })

export const columnTypes: Record<string, PostgresType> = Object.fromEntries(
  Object.entries(scalars).flatMap(([name, { oid, array, parse, serialize }]) => [
    [name, { to: oid, from: [oid], parse, serialize }],
    [`${name}[]`, { to: array, from: [array], parse: arrayFrom(parse), serialize: arrayTo(serialize) }],
  ]),
)

import { createHash } from 'node:crypto'
import { pipeline, Readable, Transform } from 'node:stream'
import { crc32, createGunzip, createGzip } from 'node:zlib'
import { type Static, Type } from 'typebox'
import { Check } from 'typebox/schema'
import { OperatorError } from '../lib/operator-error.js'

/*
 * The form of a backup: gzip of
 *
 *   {"latchkey":"backup","format":1,…}          the header, in one line
 *   {"table":"users","columns":["id",…]}        for each table: a line, its rows as COPY writes them, the mark of their end,
 *   …                                           and a line with their number
 *   \.
 *   {"rows":12}
 *   {"end":true,"rows":3456}
 *
 * and a second member of the same gzip file with one line, `sha256 …`, of all bytes before it. So `gunzip` reads the whole file, and no byte
 * of it can be changed without being noticed.
 */

/** A file that is no backup, or not a whole one, or that this program or this database cannot take. */
export class BackupFault extends OperatorError {
  override name = 'BackupFault'
}

const newestFormat = 1

export const Header = Type.Object({
  latchkey: Type.Literal('backup'),
  format: Type.Number(),
  /** The moment of the snapshot, by the clock of the database. */
  takenAt: Type.String({ pattern: '^\\d{4}-\\d\\d-\\d\\dT\\d\\d:\\d\\d:\\d\\d\\.\\d{3}Z$' }),
  /** The migrations that the database had. */
  migrations: Type.Array(Type.Object({ name: Type.String(), checksum: Type.String() })),
  /** The ids of the keys that have sealed what is in the backup, and of the secrets that signed tokens. */
  sealedWith: Type.Array(Type.String()),
  signedWith: Type.Array(Type.String()),
  /** The parts of the table of events. */
  eventParts: Type.Array(Type.Object({ name: Type.String(), bounds: Type.String() })),
  /** As the settings have them, if they were asked for. */
  secrets: Type.Optional(Type.Object({ JWT_SECRET: Type.String(), SEALING_KEY: Type.Optional(Type.String()) })),
})
export type Header = Static<typeof Header>

const TableLine = Type.Object({ table: Type.String(), columns: Type.Array(Type.String()) })
const RowsLine = Type.Object({ rows: Type.Integer() })
const EndLine = Type.Object({ end: Type.Literal(true), rows: Type.Integer() })

export const newHeader = (header: Omit<Header, 'latchkey' | 'format'>): Header => ({
  latchkey: 'backup',
  format: newestFormat,
  ...header,
})

export const jsonLine = (value: Header | Static<typeof TableLine> | Static<typeof RowsLine> | Static<typeof EndLine>) =>
  `${JSON.stringify(value)}\n`
export const endOfRows = '\\.\n'

// ── The checksum

/** One line as a gzip file whose bytes depend on nothing else: it is stored and not compressed. */
const storedMember = (line: string) => {
  const text = Buffer.from(line)
  const head = Buffer.from([0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 0xff, 1, 0, 0, 0, 0])
  head.writeUInt16LE(text.length, 11)
  head.writeUInt16LE(text.length ^ 0xffff, 13)
  const tail = Buffer.alloc(8)
  tail.writeUInt32LE(crc32(text), 0)
  tail.writeUInt32LE(text.length, 4)
  return Buffer.concat([head, text, tail])
}

const checksumMember = (sha256: string) => storedMember(`sha256 ${sha256}\n`)
const checksumLength = checksumMember('0'.repeat(64)).length

/** Adds the checksum of all bytes. `written` is known at the end: what `sha256sum` and `wc -c` say about the whole file. */
const createChecksum = () => {
  const hash = createHash('sha256')
  const written = { bytes: 0, sha256: '' }
  const stream = new Transform({
    transform: (chunk: Buffer, _encoding, done) => {
      hash.update(chunk)
      written.bytes += chunk.length
      done(null, chunk)
    },
    flush: (done) => {
      const member = checksumMember(hash.copy().digest('hex'))
      written.bytes += member.length
      written.sha256 = hash.update(member).digest('hex')
      done(null, member)
    },
  })
  return { stream, written }
}

/** The stages between the content of a backup and its file. Level 1 takes a quarter of the time of the usual level. */
export const createPacking = () => {
  const { stream, written } = createChecksum()
  return { stages: [createGzip({ level: 1 }), stream] as const, written }
}

export const brokenText =
  'The backup is cut or was altered: nothing of it was restored. Take another copy of the file, or an earlier backup.'
const foreignText =
  'This is no file of `latchkey backup`, or it is cut or was altered: nothing was restored. A dump of pg_dump is for pg_restore.'

/** Passes all bytes on but the checksum, and throws at the end unless it is that of the others. */
async function* checkedBytes(input: AsyncIterable<Buffer | string>) {
  const hash = createHash('sha256')
  let held = Buffer.alloc(0)
  let isEmpty = true
  for await (const chunk of input) {
    isEmpty &&= chunk.length === 0
    const bytes = Buffer.concat([held, typeof chunk === 'string' ? Buffer.from(chunk) : chunk])
    const end = Math.max(0, bytes.length - checksumLength)
    held = bytes.subarray(end)
    hash.update(bytes.subarray(0, end))
    if (end > 0) yield bytes.subarray(0, end)
  }
  if (isEmpty) throw new BackupFault('The backup is empty: nothing was restored.')
  if (!held.equals(checksumMember(hash.digest('hex')))) throw new BackupFault(brokenText)
}

// ── Reading

/** No header is longer: it has a line for each migration and each month. */
const longestLine = 4 * 1024 * 1024
const newline = 10
const lineBefore = '\n'
const rowsEnd = Buffer.from(`${lineBefore}${endOfRows}`)

/** Reads lines, and the rows between two of them, from a stream of bytes. It holds one chunk of the stream at a time. */
const createReader = (bytes: AsyncIterator<Buffer>) => {
  let held: Buffer = Buffer.alloc(0)

  /** False at the end of the stream. */
  const readMore = async () => {
    const { value, done } = await bytes.next()
    if (done) return false
    held = held.length === 0 ? value : Buffer.concat([held, value])
    return true
  }

  const line = async (): Promise<unknown> => {
    let end = held.indexOf(newline)
    while (end === -1) {
      if (held.length > longestLine || !(await readMore())) throw new BackupFault(brokenText)
      end = held.indexOf(newline)
    }
    const text = held.toString('utf8', 0, end)
    held = held.subarray(end + 1)
    try {
      return JSON.parse(text)
    } catch (cause) {
      throw new BackupFault(brokenText, { cause })
    }
  }

  /** The rows up to the mark of their end. A row has no such line, because COPY doubles each backslash of a value. */
  async function* rows() {
    // So that the mark is also found if there is no row.
    held = Buffer.concat([Buffer.from(lineBefore), held])
    let isFirst = true
    for (;;) {
      const end = held.indexOf(rowsEnd)
      // The mark may be cut in two by the end of a chunk.
      const known = end === -1 ? Math.max(0, held.length - rowsEnd.length) : end + lineBefore.length
      const from = isFirst ? Math.min(known, lineBefore.length) : 0
      if (known > from) yield held.subarray(from, known)
      if (known > 0) isFirst = false
      held = held.subarray(end === -1 ? known : end + rowsEnd.length)
      if (end !== -1) return
      if (!(await readMore())) throw new BackupFault(brokenText)
    }
  }

  return { line, rows, hasEnded: async () => held.length === 0 && !(await readMore()) }
}

/** A table of the backup. The rows must be read before the next table. */
export type TableSection = { table: string; columns: readonly string[]; rows: AsyncIterable<Buffer> }

const checkedHeader = (value: unknown): Header => {
  const format = typeof value === 'object' && value !== null && 'format' in value ? value.format : undefined
  if (typeof value !== 'object' || value === null || !('latchkey' in value) || value.latchkey !== 'backup')
    throw new BackupFault(foreignText)
  if (typeof format === 'number' && format > newestFormat)
    throw new BackupFault('The backup was made by a newer version: restore it with that version. Nothing was restored.')
  if (!Check(Header, value)) throw new BackupFault(brokenText)
  return value
}

/** The header, and then the tables one after the other. The last one has come only if the whole file is as it was written. */
export const openBackup = async (input: AsyncIterable<Buffer | string>) => {
  const gunzip = createGunzip()
  pipeline(Readable.from(checkedBytes(input), { objectMode: false }), gunzip, () => undefined)
  const bytes: AsyncIterator<Buffer> = gunzip[Symbol.asyncIterator]()
  const unpacked = {
    next: () =>
      bytes.next().catch((cause: unknown) => {
        // Zlib says where its own rules are broken; the operating system, that a file cannot be read.
        const isZlib = cause instanceof Error && 'code' in cause && /^Z_/.test(String(cause.code))
        throw isZlib ? new BackupFault(brokenText, { cause }) : cause
      }),
  }
  const reader = createReader(unpacked)

  const header = await reader.line().then(checkedHeader, (error: unknown) => {
    throw error instanceof BackupFault && error.message === brokenText ? new BackupFault(foreignText) : error
  })

  async function* tables(): AsyncGenerator<TableSection, { rows: number }> {
    let total = 0
    for (;;) {
      const line = await reader.line()
      if (Check(EndLine, line)) {
        if (line.rows !== total || !(await reader.hasEnded())) throw new BackupFault(brokenText)
        return { rows: total }
      }
      if (!Check(TableLine, line)) throw new BackupFault(brokenText)
      yield { ...line, rows: reader.rows() }
      const count = await reader.line()
      if (!Check(RowsLine, count)) throw new BackupFault(brokenText)
      total += count.rows
    }
  }
  return { header, tables }
}

import { PassThrough } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { gunzipSync, gzipSync } from 'node:zlib'
import { describe, expect, it } from 'vitest'
import { createPacking, endOfRows, jsonLine, newHeader, openBackup } from './backup-file.js'

const header = newHeader({
  takenAt: '2026-11-19T00:00:00.000Z',
  migrations: [{ name: '0001-schema.sql', checksum: 'abc' }],
  sealedWith: ['k1'],
  signedWith: [],
  eventParts: [],
})

/** A value that ends like the mark of the end, as COPY writes it. */
const rows = '1\tfirst \\\\.\n2\t\\N\n'
const content = [
  jsonLine(header),
  `${jsonLine({ table: 'users', columns: ['id', 'name'] })}${rows}${endOfRows}${jsonLine({ rows: 2 })}`,
  `${jsonLine({ table: 'groups', columns: ['name'] })}${endOfRows}${jsonLine({ rows: 0 })}`,
  jsonLine({ end: true, rows: 2 }),
].join('')

const packed = async (text: string) => {
  const { stages, written } = createPacking()
  const output = new PassThrough()
  const chunks: Buffer[] = []
  output.on('data', (chunk: Buffer) => chunks.push(chunk))
  await pipeline([text], ...stages, output)
  return { bytes: Buffer.concat(chunks), written }
}

async function* inPieces(bytes: Buffer, length: number) {
  for (let at = 0; at < bytes.length; at += length) yield bytes.subarray(at, at + length)
}

const readAll = async (input: AsyncIterable<Buffer>) => {
  const backup = await openBackup(input)
  const read: Record<string, string> = {}
  for await (const { table, rows: stream } of backup.tables()) {
    const chunks: Buffer[] = []
    for await (const chunk of stream) chunks.push(Buffer.from(chunk))
    read[table] = Buffer.concat(chunks).toString()
  }
  return { header: backup.header, read }
}

const faultOf = (input: AsyncIterable<Buffer>) =>
  readAll(input).then(
    () => 'none',
    (error: Error) => error.message,
  )

describe('the file of a backup', () => {
  it('gives back what was written, whatever the pieces in which it comes', async () => {
    const { bytes, written } = await packed(content)
    expect(written.bytes).toBe(bytes.length)
    for (const length of [1, 2, 3, 5, 7, 64, 4096])
      expect(await readAll(inPieces(bytes, length))).toEqual({ header, read: { users: rows, groups: '' } })
  })

  it('is an ordinary gzip file, and ends with the checksum of all before it', async () => {
    const { bytes } = await packed(content)
    expect(gunzipSync(bytes).toString()).toMatch(/sha256 [0-9a-f]{64}\n$/)
    expect(gunzipSync(bytes).toString().startsWith(content)).toBe(true)
  })

  it('is refused with any byte altered', async () => {
    const { bytes } = await packed(content)
    for (let at = 0; at < bytes.length; at += 1) {
      const altered = Buffer.from(bytes)
      altered[at] = (altered[at] ?? 0) ^ (1 << (at % 8))
      expect(await faultOf(inPieces(altered, 4096)), `byte ${at}`).toMatch(/altered/)
    }
  })

  it('is refused when it is cut anywhere, and when something follows it', async () => {
    const { bytes } = await packed(content)
    for (let end = 1; end < bytes.length; end += 1)
      expect(await faultOf(inPieces(bytes.subarray(0, end), 4096)), `cut at ${end}`).toMatch(/cut/)
    expect(await faultOf(inPieces(Buffer.concat([bytes, Buffer.from([0])]), 4096))).toMatch(/altered/)
    expect(await faultOf(inPieces(Buffer.concat([bytes, bytes]), 4096))).toMatch(/altered/)
  })

  it.each([
    ['nothing', Buffer.alloc(0), /^The backup is empty/],
    ['text', Buffer.from('hello\n'.repeat(100)), /^This is no file of `latchkey backup`/],
    ['gzip of something else', gzipSync('hello\n'.repeat(100)), /^This is no file of `latchkey backup`/],
    ['gzip of JSON', gzipSync('{"a":1}\n'.repeat(100)), /^This is no file of `latchkey backup`/],
    [
      'a dump of pg_dump',
      Buffer.concat([Buffer.from('PGDMP'), Buffer.alloc(500, 1)]),
      /^This is no file of `latchkey backup`/,
    ],
  ])('is refused when it is %s', async (_name, bytes, message) => {
    expect(await faultOf(inPieces(bytes, 4096))).toMatch(message)
  })

  it.each([
    ['a newer form', content.replace('"format":1', '"format":2'), /newer version/],
    ['another product', content.replace('"latchkey":"backup"', '"keycloak":"backup"'), /^This is no file of/],
    ['a wrong number of rows', content.replace('{"end":true,"rows":2}', '{"end":true,"rows":3}'), /cut or was altered/],
    ['no end', content.replace(/\{"end".*\n/, ''), /cut or was altered/],
    ['more after its end', `${content}{"more":1}\n`, /cut or was altered/],
  ])('is refused with %s, although its checksum is right', async (_name, text, message) => {
    expect(await faultOf(inPieces((await packed(text)).bytes, 4096))).toMatch(message)
  })
})

import { createHash } from 'node:crypto'

/**
 * A list of leaked passwords as a file: a header, an index over the first 20 bits of the SHA-1 hashes, and the 32 bits after
 * these of each hash, sorted. So 52 bits are compared: with a list of a billion passwords, one in 4.5 million others is refused
 * by mistake.
 *
 *      0  magic, 16 bytes
 *     16  version and bits of the index, 4 bytes each
 *     24  number of entries, 8 bytes
 *     32  SHA-256 of the entries
 *     64  SHA-256 of the 64 bytes before it and the index
 *     96  index: at which entry each of the 2^20 prefixes begins, and the end of the last, 4 bytes each
 *         entries, 4 bytes each
 *
 * All numbers are big-endian.
 */
const magic = Buffer.from('LATCHKEY LEAKED\n', 'latin1')
/** Whether the bytes begin like such a file. */
export const isLeakedFile = (bytes: Buffer) => bytes.subarray(0, magic.length).equals(magic)
const version = 1
const indexBits = 20
const headerSize = 96
const checksumOffset = 64

export const prefixes = 2 ** indexBits
export const entrySize = 4
/** A place in the index has 4 bytes, so there can be no more entries. */
export const maxEntries = 2 ** 32 - 1
const indexSize = (prefixes + 1) * entrySize
export const headerAndIndexSize = headerSize + indexSize

export const placeInIndex = (prefix: number) => headerSize + prefix * entrySize
export const placeOfEntry = (entry: number) => headerAndIndexSize + entry * entrySize

/** The bits of a SHA-1 hash that are compared. */
export const partsOf = (sha1: Buffer, at = 0) => {
  const first = sha1.readUInt32BE(at)
  const second = sha1.readUInt32BE(at + 4)
  return { prefix: first >>> 12, entry: (((first & 0xfff) << 20) | (second >>> 12)) >>> 0 }
}

const sha256 = (...parts: Uint8Array[]) => {
  const hash = createHash('sha256')
  for (const part of parts) hash.update(part)
  return hash.digest()
}

/** Writes header and index. `firstEntries` has the first entry of each prefix, and at its end the number of all entries. */
export const writeHead = (firstEntries: Uint32Array, entriesHash: Buffer) => {
  const head = Buffer.alloc(headerAndIndexSize)
  magic.copy(head)
  head.writeUInt32BE(version, 16)
  head.writeUInt32BE(indexBits, 20)
  head.writeBigUInt64BE(BigInt(firstEntries.at(-1) ?? 0), 24)
  entriesHash.copy(head, 32)
  for (const [prefix, entry] of firstEntries.entries()) head.writeUInt32BE(entry, placeInIndex(prefix))
  sha256(head.subarray(0, checksumOffset), head.subarray(headerSize)).copy(head, checksumOffset)
  return head
}

export type FileFault = 'foreign' | 'other_version' | 'truncated' | 'damaged'

/** Reads the head of a file, or says what is wrong with it. The entries themselves are not read. */
export const readHead = (head: Buffer, fileSize: number): { count: number; entriesHash: Buffer } | FileFault => {
  if (!isLeakedFile(head)) return 'foreign'
  if (head.length < headerAndIndexSize) return 'truncated'
  if (head.readUInt32BE(16) !== version || head.readUInt32BE(20) !== indexBits) return 'other_version'
  const checksum = sha256(head.subarray(0, checksumOffset), head.subarray(headerSize, headerAndIndexSize))
  if (!checksum.equals(head.subarray(checksumOffset, headerSize))) return 'damaged'
  const count = Number(head.readBigUInt64BE(24))
  const expectedSize = placeOfEntry(count)
  if (fileSize !== expectedSize) return fileSize < expectedSize ? 'truncated' : 'damaged'
  return { count, entriesHash: Buffer.from(head.subarray(32, checksumOffset)) }
}

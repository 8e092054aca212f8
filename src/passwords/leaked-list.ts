import { createHash } from 'node:crypto'
import type { Stats } from 'node:fs'
import { type FileHandle, open, stat } from 'node:fs/promises'
import { isRefused, type Refused, refuse } from '../contract/outcome.js'
import { OperatorError, whyUnreadable } from '../lib/operator-error.js'
import { StoreUnavailable } from '../platform/database/database.js'
import type { Log } from '../platform/log.js'
import type { Config } from '../settings/config.js'

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

const placeInIndex = (prefix: number) => headerSize + prefix * entrySize

const placeOfEntry = (entry: number) => headerAndIndexSize + entry * entrySize

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
const readHead = (head: Buffer, fileSize: number): { count: number; entriesHash: Buffer } | FileFault => {
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

type OpenFile = { handle: FileHandle; identity: string; count: number; entriesHash: Buffer }

/** How many entries are read at once when one is searched: 16 KB. */
const maxReadAtOnce = 4_096

const chunkSize = 1024 * 1024

/** The identity of a file. It changes when the file is written to. */
const identityOf = ({ dev, ino, size, mtimeMs }: Stats) => [dev, ino, size, mtimeMs].join(' ')

const readAt = async (handle: FileHandle, place: number, length: number) => {
  const { buffer, bytesRead } = await handle.read(Buffer.alloc(length), 0, length, place)
  return buffer.subarray(0, bytesRead)
}

const readExactly = async (handle: FileHandle, place: number, length: number) => {
  const bytes = await readAt(handle, place, length)
  if (bytes.length < length) throw new Error('the file ends too early')
  return bytes
}

/** Opens a file and checks everything but its entries. */
const openFile = async (path: string): Promise<OpenFile | Refused<FileFault>> => {
  const handle = await open(path)
  try {
    const status = await handle.stat()
    if (status.isDirectory()) throw Object.assign(new Error('it is a folder'), { code: 'EISDIR' })
    const head = readHead(await readAt(handle, 0, headerAndIndexSize), status.size)
    if (typeof head !== 'string') return { handle, identity: identityOf(status), ...head }
    await handle.close()
    return refuse(head)
  } catch (error) {
    await handle.close()
    throw error
  }
}

const sha1Of = (password: string) => createHash('sha1').update(password).digest()

const contains = async ({ handle }: OpenFile, password: string) => {
  const { prefix, entry } = partsOf(sha1Of(password))
  const bounds = await readExactly(handle, placeInIndex(prefix), 2 * entrySize)
  let from = bounds.readUInt32BE(0)
  let to = bounds.readUInt32BE(entrySize)
  while (to - from > maxReadAtOnce) {
    const middle = Math.floor((from + to) / 2)
    const middleEntry = (await readExactly(handle, placeOfEntry(middle), entrySize)).readUInt32BE(0)
    if (middleEntry <= entry) from = middle
    else to = middle
  }
  const entries = await readExactly(handle, placeOfEntry(from), (to - from) * entrySize)
  for (let at = 0; at < entries.length; at += entrySize) if (entries.readUInt32BE(at) === entry) return true
  return false
}

export type LeakedList = {
  count(): number
  has(password: string): Promise<boolean>
  close(): Promise<void>
}

/**
 * A list of leaked passwords, which is searched on disk and never loaded. If another file takes its place, the new file is used from then
 * on. If the new file is no such list, or the file is removed, the open file is still used as long as it does not change. If the list
 * cannot be read, new passwords are refused: an operator who wants this check does not want passwords without it, and sign-ins do not need
 * it.
 */
const openLeakedList = async (path: string, log: Log) => {
  const firstFile = await openFile(path)
  if (isRefused(firstFile)) return firstFile
  let current = firstFile
  let refusedIdentity: string | undefined
  let isGone = false
  let replacement: Promise<void> | undefined

  const replace = async (identity: string) => {
    const next = await openFile(path)
    if (isRefused(next)) {
      refusedIdentity = identity
      log.error({ reason: next.refused }, 'the new file of BREACHED_PASSWORDS is not used')
      return
    }
    const old = current
    current = next
    log.info({ entries: next.count }, 'BREACHED_PASSWORDS was replaced')
    await old.handle.close()
  }

  const followPath = async () => {
    const identity = await stat(path).then(identityOf, () => undefined)
    if (identity === undefined && !isGone)
      log.error({}, 'the file of BREACHED_PASSWORDS is gone: its list is used until the next start')
    isGone = identity === undefined
    if (identity === undefined || identity === current.identity || identity === refusedIdentity) return
    replacement ??= replace(identity).finally(() => {
      replacement = undefined
    })
    await replacement
  }

  const lookUp = async (password: string): Promise<boolean> => {
    const file = current
    try {
      if (identityOf(await file.handle.stat()) !== file.identity) throw new Error('the file was written to')
      return await contains(file, password)
    } catch (error) {
      // Another request has replaced the file meanwhile, and closed this one.
      if (file !== current) return lookUp(password)
      throw error
    }
  }

  const has = async (password: string) => {
    try {
      await followPath()
      return await lookUp(password)
    } catch (error) {
      throw new StoreUnavailable('The list of leaked passwords cannot be read', { cause: error })
    }
  }

  return { count: () => current.count, has, close: () => current.handle.close() } satisfies LeakedList
}

/** Compares the checksums of a file. Its entries are read until `deadline`. `comparedAll` says whether all of them were read. */
export const verifyLeakedFile = async (path: string, deadline: AbortSignal) => {
  const file = await openFile(path)
  if (isRefused(file)) return file
  const { handle, count, entriesHash } = file
  try {
    const hash = createHash('sha256')
    const end = placeOfEntry(count)
    for (let place = headerAndIndexSize; place < end; place += chunkSize) {
      if (deadline.aborted) return { count, comparedAll: false }
      hash.update(await readExactly(handle, place, Math.min(chunkSize, end - place)))
    }
    return hash.digest().equals(entriesHash) ? { count, comparedAll: true } : refuse('damaged')
  } finally {
    await handle.close()
  }
}

const faults: Readonly<Record<FileFault, string>> = {
  foreign: 'is not a file that `latchkey passwords build` has made',
  other_version: 'was made for another version of Latchkey: build it again',
  truncated: 'is not complete: copy or build it again',
  damaged: 'is damaged: copy or build it again',
}

export const leakedFileFault = (path: string, fault: FileFault) =>
  new OperatorError(`BREACHED_PASSWORDS: ${path} ${faults[fault]}`)

/** Waits for `work`, which reads the file. If that fails, the error says in one sentence why the file cannot be read. */
export const explainReadFault = <Result>(path: string, work: Promise<Result>) =>
  work.catch((error: unknown) => {
    throw new OperatorError(`BREACHED_PASSWORDS: the file cannot be read: ${path} (${whyUnreadable(error)})`)
  })

/** The list that BREACHED_PASSWORDS names. */
export const openLeakedPasswords = async ({ breachedPasswords: path }: Pick<Config, 'breachedPasswords'>, log: Log) => {
  if (path === undefined) return undefined
  const list = await explainReadFault(path, openLeakedList(path, log))
  if (isRefused(list)) throw leakedFileFault(path, list.refused)
  log.info({ entries: list.count() }, 'the list of leaked passwords is open: users cannot choose one of them')
  return list
}

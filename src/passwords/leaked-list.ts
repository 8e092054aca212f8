import { createHash } from 'node:crypto'
import type { Stats } from 'node:fs'
import { type FileHandle, open, stat } from 'node:fs/promises'
import { isRefused, type Refused, refuse } from '../contract/outcome.js'
import { StoreUnavailable } from '../platform/database/database.js'
import type { Log } from '../platform/log.js'

import {
  entrySize,
  type FileFault,
  headerAndIndexSize,
  partsOf,
  placeInIndex,
  placeOfEntry,
  readHead,
} from './leaked-file.js'

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
export const openLeakedList = async (path: string, log: Pick<Log, 'info' | 'error'>) => {
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

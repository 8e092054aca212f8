import { createHash, type Hash, randomBytes } from 'node:crypto'
import { type FileHandle, open, rename, rm } from 'node:fs/promises'
import { dirname } from 'node:path'
import { syncFolder } from '../platform/sync-folder.js'
import { entrySize, headerAndIndexSize, maxEntries, partsOf, prefixes, writeHead } from './leaked-list.js'

const buckets = 1_024

const prefixesInBucket = prefixes / buckets

/** The number of values of each bucket in memory. All buckets take 16 MB. */
const bufferSize = 2_048

const valueSize = Float64Array.BYTES_PER_ELEMENT

/** An entry has 32 bits. A value has the rest of its prefix in the bits above them. */
const entryRange = 2 ** 32

/** Sorts the first `length` values and drops repetitions. Returns how many are left. */
const sortUnique = (values: Float64Array, length: number) => {
  const sorted = values.subarray(0, length).sort()
  let uniqueCount = 0
  for (let at = 0; at < length; at += 1) {
    const value = sorted[at] ?? 0
    if (uniqueCount > 0 && values[uniqueCount - 1] === value) continue
    values[uniqueCount] = value
    uniqueCount += 1
  }
  return uniqueCount
}

const bytesOf = (values: Float64Array) => Buffer.from(values.buffer, values.byteOffset, values.byteLength)

/**
 * The values of all buckets in one file without a name, in pieces. The file is gone when the process ends, however it ends. A value has the
 * 42 bits of a hash that do not follow from its bucket, which a number can hold exactly.
 */
const createScratch = (handle: FileHandle) => {
  const pieces: { place: number; length: number }[][] = Array.from({ length: buckets }, () => [])
  let end = 0

  const write = async (bucket: number, values: Float64Array) => {
    await handle.write(bytesOf(values), 0, values.byteLength, end)
    pieces[bucket]?.push({ place: end, length: values.length })
    end += values.byteLength
  }

  const read = async (bucket: number, rest: Float64Array) => {
    const piecesOfBucket = pieces[bucket] ?? []
    const values = new Float64Array(piecesOfBucket.reduce((sum, { length }) => sum + length, rest.length))
    let filledCount = 0
    for (const { place, length } of piecesOfBucket) {
      const target = bytesOf(values.subarray(filledCount, filledCount + length))
      const { bytesRead } = await handle.read(target, 0, length * valueSize, place)
      if (bytesRead < length * valueSize) throw new Error('A temporary file is shorter than what was written to it')
      filledCount += length
    }
    values.set(rest, filledCount)
    return values.subarray(0, sortUnique(values, values.length))
  }

  return { write, read }
}

/** Writes to `begins` where the prefixes of this bucket begin, and returns the entries in the form of the file. */
const entriesOf = (bucket: number, values: Float64Array, begins: Uint32Array, first: number) => {
  const bytes = Buffer.alloc(values.length * entrySize)
  let at = 0
  for (let prefix = 0; prefix < prefixesInBucket; prefix += 1) {
    begins[bucket * prefixesInBucket + prefix] = first + at
    for (; at < values.length && Math.floor((values[at] ?? 0) / entryRange) === prefix; at += 1)
      bytes.writeUInt32BE((values[at] ?? 0) % entryRange, at * entrySize)
  }
  return bytes
}

const writeAll = async (handle: FileHandle, bytes: Buffer, place: number, hash?: Hash) => {
  hash?.update(bytes)
  for (let at = 0; at < bytes.length; )
    at += (await handle.write(bytes, at, bytes.length - at, place + at)).bytesWritten
}

type Scratch = ReturnType<typeof createScratch>

/** Collects hashes in one buffer for each bucket, and writes a buffer that is full to the disk. */
const createSortingBuffers = (scratch: Scratch) => {
  const bufferedValues = new Float64Array(buckets * bufferSize)
  const fillCounts = new Uint32Array(buckets)
  const bufferOf = (bucket: number) => bufferedValues.subarray(bucket * bufferSize, (bucket + 1) * bufferSize)

  /**
   * Makes room in a full buffer. It is written to the disk, unless dropping repetitions makes enough room. So a password that is repeated
   * many times is written only once in each piece.
   */
  const makeRoom = async (bucket: number) => {
    const values = bufferOf(bucket)
    const uniqueCount = sortUnique(values, bufferSize)
    fillCounts[bucket] = uniqueCount > bufferSize / 2 ? 0 : uniqueCount
    if (fillCounts[bucket] === 0) await scratch.write(bucket, values.subarray(0, uniqueCount))
  }

  /** Takes a hash. Returns undefined in almost all cases, so that few lines wait for a promise. */
  const add = (sha1: Buffer, at = 0): Promise<void> | undefined => {
    const { prefix, entry } = partsOf(sha1, at)
    const bucket = Math.floor(prefix / prefixesInBucket)
    const next = fillCounts[bucket] ?? 0
    bufferedValues[bucket * bufferSize + next] = (prefix % prefixesInBucket) * entryRange + entry
    fillCounts[bucket] = next + 1
    return next + 1 === bufferSize ? makeRoom(bucket) : undefined
  }

  return {
    add,
    /** All values of a bucket, sorted, from the disk and from its buffer. */
    valuesOf: (bucket: number) => scratch.read(bucket, bufferOf(bucket).subarray(0, fillCounts[bucket])),
  }
}

/**
 * Sorts any number of SHA-1 hashes on disk, next to the file that they are for. That file gets its name when it is complete. Meanwhile the
 * sorting needs 8 bytes of disk for each hash, and about 50 MB of memory for a billion of them.
 */
export const createLeakedListBuilder = async (path: string) => {
  // The name is random and has no process id, because these repeat: in containers, the next build has the id of one that was killed.
  const partPath = `${path}.${randomBytes(4).toString('hex')}.part`
  const scratchPath = `${partPath}.sort`
  const scratchHandle = await open(scratchPath, 'w+', 0o600)
  await rm(scratchPath)
  const scratch = createScratch(scratchHandle)
  const { add, valuesOf } = createSortingBuffers(scratch)

  const writeFile = async (handle: FileHandle) => {
    const firstEntries = new Uint32Array(prefixes + 1)
    const hash = createHash('sha256')
    let count = 0
    for (let bucket = 0; bucket < buckets; bucket += 1) {
      const values = await valuesOf(bucket)
      if (count + values.length > maxEntries) throw new Error(`A list has at most ${maxEntries} entries`)
      await writeAll(
        handle,
        entriesOf(bucket, values, firstEntries, count),
        headerAndIndexSize + count * entrySize,
        hash,
      )
      count += values.length
    }
    firstEntries[prefixes] = count
    await writeAll(handle, writeHead(firstEntries, hash.digest()), 0)
    await handle.sync()
    return count
  }

  const writeAndClose = async (handle: FileHandle) => {
    try {
      return await writeFile(handle)
    } finally {
      await handle.close()
    }
  }

  return {
    add,
    /** Returns how many different hashes there are. If there are none, no file is written. */
    finish: async () => {
      const handle = await open(partPath, 'wx', 0o644)
      const count = await writeAndClose(handle)
      if (count === 0) return 0
      await rename(partPath, path)
      await syncFolder(dirname(path))
      return count
    },
    /** Removes the files of an unfinished build. */
    close: async () => {
      await scratchHandle.close()
      await rm(partPath, { force: true })
    },
  }
}

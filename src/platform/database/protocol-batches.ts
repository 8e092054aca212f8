/** Messages that a client ends with, or waits for an answer after. Each message begins with its type and its length. */
const lastOfBatch = new Set(Array.from('SQX', (type) => type.charCodeAt(0)))
const lengthSize = 4

/** Far above what a command sends: an import writes a thousand users with one statement. */
const longestBatch = 64 * 1024 * 1024

/**
 * Cuts what a client of PostgreSQL sends into batches: each is answered as a whole. The first is the start of the connection,
 * whose message has no type.
 */
export async function* readBatches(source: AsyncIterable<Buffer>): AsyncGenerator<Buffer, undefined> {
  let arrived: Buffer[] = []
  let size = 0
  /** The offset of the next message, how many bytes must have arrived before it can be read, and how long its type is. */
  let at = 0
  let neededSize = lengthSize
  let typeSize = 0
  for await (const chunk of source) {
    arrived.push(chunk)
    size += chunk.length
    if (size > longestBatch) throw new RangeError('A batch of messages is too long')
    if (size < neededSize) continue
    const bytes = Buffer.concat(arrived)
    let batchStart = 0
    neededSize = at + typeSize + lengthSize
    while (bytes.length >= neededSize) {
      const end = at + typeSize + Math.max(bytes.readInt32BE(at + typeSize), lengthSize)
      if (bytes.length < end) {
        neededSize = end
        break
      }
      const endsBatch = typeSize === 0 || lastOfBatch.has(bytes[at] ?? 0)
      typeSize = 1
      at = end
      neededSize = at + typeSize + lengthSize
      if (!endsBatch) continue
      yield bytes.subarray(batchStart, at)
      batchStart = at
    }
    arrived = [bytes.subarray(batchStart)]
    size -= batchStart
    at -= batchStart
    neededSize -= batchStart
  }
}

/** The types of messages after which a client waits for an answer or ends. Each message begins with its type and its length. */
const lastOfBatch = new Set(Array.from('SQX', (type) => type.charCodeAt(0)))
const lengthSize = 4

/** Far more than a command sends, although an import writes a thousand users with one statement. */
const longestBatch = 64 * 1024 * 1024

/**
 * Cuts what a client of PostgreSQL sends into batches, each of which is answered as a whole. The first batch is the start of the
 * connection, whose message has no type.
 */
export async function* readBatches(source: AsyncIterable<Buffer>): AsyncGenerator<Buffer, undefined> {
  let chunks: Buffer[] = []
  let size = 0
  /** `at` is the offset of the next message, `neededSize` how many bytes must be there to read on, and `typeSize` how long its type is. */
  let at = 0
  let neededSize = lengthSize
  let typeSize = 0
  for await (const chunk of source) {
    chunks.push(chunk)
    size += chunk.length
    if (size > longestBatch) throw new RangeError('A batch of messages is too long')
    if (size < neededSize) continue
    const bytes = Buffer.concat(chunks)
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
    chunks = [bytes.subarray(batchStart)]
    size -= batchStart
    at -= batchStart
    neededSize -= batchStart
  }
}

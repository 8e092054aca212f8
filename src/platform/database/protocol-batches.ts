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
  /** The offset of the next message, how long it must get before it can be looked at, and how long its type is. */
  let at = 0
  let wanted = lengthSize
  let typeSize = 0
  for await (const chunk of source) {
    arrived.push(chunk)
    size += chunk.length
    if (size > longestBatch) throw new RangeError('A batch of messages is too long')
    if (size < wanted) continue
    const bytes = Buffer.concat(arrived)
    let begin = 0
    wanted = at + typeSize + lengthSize
    while (bytes.length >= wanted) {
      const end = at + typeSize + Math.max(bytes.readInt32BE(at + typeSize), lengthSize)
      if (bytes.length < end) {
        wanted = end
        break
      }
      const endsBatch = typeSize === 0 || lastOfBatch.has(bytes[at] ?? 0)
      typeSize = 1
      at = end
      wanted = at + typeSize + lengthSize
      if (!endsBatch) continue
      yield bytes.subarray(begin, at)
      begin = at
    }
    arrived = [bytes.subarray(begin)]
    size -= begin
    at -= begin
    wanted -= begin
  }
}

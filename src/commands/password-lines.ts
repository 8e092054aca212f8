import { hash } from 'node:crypto'
import { CommandFailure } from './command.js'

export const listKinds = ['passwords', 'hashes'] as const
export type ListKind = (typeof listKinds)[number]

/** A password has at most 256 characters of at most 4 bytes. */
const longestLine = 1_024
const newline = 10
const carriageReturn = 13

const hashLine = /^([0-9a-f]{40})(?::(\d+))?$/i
const otherHashLine = /^(?:[0-9a-f]{32}|[0-9a-f]{64})(?::\d+)?$/i
const byteOrderMarks = [
  { bytes: Buffer.from([0xff, 0xfe]), isUtf8: false },
  { bytes: Buffer.from([0xfe, 0xff]), isUtf8: false },
  { bytes: Buffer.from([0xef, 0xbb, 0xbf]), isUtf8: true },
]

/** Exact: a list of hashes has nothing else. What begins as one and does not go on as one is refused, and not guessed. */
const kindOf = (first: string): ListKind => {
  if (otherHashLine.test(first))
    throw new CommandFailure(
      'Line 1 looks like an NTLM, MD5 or SHA-256 hash. Only SHA-1 hashes can be used; if these are passwords, add --as passwords.',
    )
  return hashLine.test(first) ? 'hashes' : 'passwords'
}

const withoutMark = (bytes: Buffer) => {
  const mark = byteOrderMarks.find((each) => bytes.subarray(0, each.bytes.length).equals(each.bytes))
  if (mark && !mark.isUtf8)
    throw new CommandFailure('The list is UTF-16 text. Save it as UTF-8 and run the command again.')
  return mark ? bytes.subarray(mark.bytes.length) : bytes
}

/** Reads a list in pieces of any size, and gives the SHA-1 of each line to `take`. Only what `take` awaits is awaited. */
export const createPasswordLines = (given: ListKind | undefined, take: (sha1: Buffer) => Promise<void> | undefined) => {
  const decoded = Buffer.alloc(20)
  const counts = { lines: 0, skipped: 0 }
  let kind = given
  let rest: Buffer = Buffer.alloc(0)
  let isFirst = true

  /** Lists that were downloaded in ranges hold made-up hashes with the count 0. */
  const hashIn = (text: string) => {
    const [, digits, count] = hashLine.exec(text) ?? []
    if (digits === undefined)
      throw new CommandFailure(
        `Line ${counts.lines.toLocaleString('en')} is not a SHA-1 hash, as the lines before it are. If this is a list of passwords, add --as passwords.`,
      )
    if (count !== undefined && Number(count) === 0) return undefined
    decoded.write(digits, 'hex')
    return decoded
  }

  const sha1Of = (line: Buffer) => {
    const end = line.at(-1) === carriageReturn ? line.length - 1 : line.length
    if (end === 0 || end > longestLine) return undefined
    const text = line.subarray(0, end)
    kind ??= kindOf(text.toString('latin1'))
    return kind === 'hashes' ? hashIn(text.toString('latin1')) : hash('sha1', text, 'buffer')
  }

  const takeLine = (line: Buffer) => {
    counts.lines += 1
    const sha1 = sha1Of(line)
    if (sha1) return take(sha1)
    counts.skipped += 1
    return undefined
  }

  const push = async (chunk: Buffer) => {
    let bytes = rest.length > 0 ? Buffer.concat([rest, chunk]) : chunk
    if (isFirst && bytes.length < 3) {
      rest = bytes
      return
    }
    if (isFirst) bytes = withoutMark(bytes)
    isFirst = false
    let from = 0
    for (let end = bytes.indexOf(newline); end !== -1; end = bytes.indexOf(newline, from)) {
      const waits = takeLine(bytes.subarray(from, end))
      if (waits) await waits
      from = end + 1
    }
    rest = bytes.subarray(from)
    // Of a line that is too long, only enough is kept to see that it is.
    if (rest.length > longestLine + 1) rest = Buffer.from(rest.subarray(0, longestLine + 2))
  }

  return {
    push,
    end: async () => {
      if (rest.length > 0) await takeLine(isFirst ? withoutMark(rest) : rest)
      return { ...counts, kind }
    },
    lines: () => counts.lines,
  }
}

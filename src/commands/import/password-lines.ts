import { hash } from 'node:crypto'
import { countText } from '../../lib/text.js'
import { isLeakedFile } from '../../passwords/leaked-list.js'
import { CommandFailure } from '../command.js'

export const listKinds = ['passwords', 'hashes'] as const

export type ListKind = (typeof listKinds)[number]

type SkippedLines = { empty: number; tooLong: number; neverSeen: number }

/** A password has at most 256 characters of at most 4 bytes. */
const longestLine = 1_024

const newline = 10

const carriageReturn = 13

const hashLine = /^([0-9a-f]{40})(?::(\d+))?$/i

const otherHashLine = /^(?:[0-9a-f]{32}|[0-9a-f]{64})(?::\d+)?$/i

/** This many bytes are enough to recognise a byte order mark, and a file that this command has made. */
const longestSignature = 16

const byteOrderMarks = [
  { bytes: Buffer.from([0xff, 0xfe]), isUtf8: false },
  { bytes: Buffer.from([0xfe, 0xff]), isUtf8: false },
  { bytes: Buffer.from([0xef, 0xbb, 0xbf]), isUtf8: true },
]

/** The first line decides. In a list of hashes, every other line must be a hash, too. */
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

/** Refuses a file of another kind, which would become a list that matches no password. */
const refuseOtherFiles = (beginning: Buffer) => {
  if (isLeakedFile(beginning))
    throw new CommandFailure('INPUT is a file that this command has made. Give it the list of passwords or hashes.')
  if (beginning.includes(0))
    throw new CommandFailure(
      'INPUT is not a text file. Unpack a compressed list first: zcat list.gz | latchkey passwords build - OUTPUT',
    )
}

/** The first bytes of a list, without its byte order mark. */
const checkedBeginning = (bytes: Buffer) => {
  const text = withoutMark(bytes)
  refuseOtherFiles(text)
  return text
}

/** Says how many lines were skipped, and why. */
export const describeSkipped = ({ empty, tooLong, neverSeen }: SkippedLines) =>
  [
    ...(empty > 0 ? [countText(empty, 'empty line')] : []),
    ...(tooLong > 0 ? [`${countText(tooLong, 'line')} of more than ${longestLine.toLocaleString('en')} bytes`] : []),
    ...(neverSeen > 0 ? [`${countText(neverSeen, 'hash', 'hashes')} with the count 0`] : []),
  ].join(', ')

/** Gives the SHA-1 of each line to `take`, and counts the lines that it skips. */
const createLineHasher = (kindOption: ListKind | undefined, take: (sha1: Buffer) => Promise<void> | undefined) => {
  const decoded = Buffer.alloc(20)
  const skipped: SkippedLines = { empty: 0, tooLong: 0, neverSeen: 0 }
  let lines = 0
  let kind = kindOption

  /** Hashes with the count 0 are skipped: they are padding in lists that were downloaded in ranges, and no leaked password. */
  const hashIn = (text: string) => {
    const [, digits, timesSeen] = hashLine.exec(text) ?? []
    if (digits === undefined)
      throw new CommandFailure(
        `Line ${lines.toLocaleString('en')} is not a SHA-1 hash, ${kindOption ? 'but --as says that all lines are' : 'but the first line is one'}. If this is a list of passwords, use --as passwords.`,
      )
    if (timesSeen !== undefined && Number(timesSeen) === 0) return 'neverSeen'
    decoded.write(digits, 'hex')
    return decoded
  }

  const readLine = (line: Buffer): Buffer | keyof SkippedLines => {
    const end = line.at(-1) === carriageReturn ? line.length - 1 : line.length
    if (end === 0) return 'empty'
    if (end > longestLine) return 'tooLong'
    const text = line.subarray(0, end)
    kind ??= kindOf(text.toString('latin1'))
    return kind === 'hashes' ? hashIn(text.toString('latin1')) : hash('sha1', text, 'buffer')
  }

  return {
    takeLine: (line: Buffer) => {
      lines += 1
      const sha1OrSkipReason = readLine(line)
      if (typeof sha1OrSkipReason !== 'string') return take(sha1OrSkipReason)
      skipped[sha1OrSkipReason] += 1
      return undefined
    },
    result: () => ({ lines, skipped, kind }),
  }
}

/** Reads a list in chunks of any size, and gives the SHA-1 of each line to `take`. */
export const createPasswordLines = (
  kindOption: ListKind | undefined,
  take: (sha1: Buffer) => Promise<void> | undefined,
) => {
  const { takeLine, result } = createLineHasher(kindOption, take)
  let rest: Buffer = Buffer.alloc(0)
  let isFirst = true

  const takeLines = async (bytes: Buffer) => {
    let from = 0
    for (let end = bytes.indexOf(newline); end !== -1; end = bytes.indexOf(newline, from)) {
      // `takeLine` seldom returns a promise. Without one, the loop does not pause.
      const pending = takeLine(bytes.subarray(from, end))
      if (pending) await pending
      from = end + 1
    }
    rest = bytes.subarray(from)
    // Only the beginning of a line that is too long is kept: enough to see that it is too long.
    if (rest.length > longestLine + 1) rest = Buffer.from(rest.subarray(0, longestLine + 2))
  }

  const push = async (chunk: Buffer) => {
    const bytes = rest.length > 0 ? Buffer.concat([rest, chunk]) : chunk
    if (isFirst && bytes.length < longestSignature) {
      rest = bytes
      return
    }
    const text = isFirst ? checkedBeginning(bytes) : bytes
    isFirst = false
    await takeLines(text)
  }

  return {
    push,
    end: async () => {
      // The whole list is shorter than `longestSignature`, so `push` has not looked at its beginning.
      if (isFirst) await takeLines(checkedBeginning(rest))
      if (rest.length > 0) await takeLine(rest)
      return result()
    },
    lines: () => result().lines,
  }
}

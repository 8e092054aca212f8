import { hash } from 'node:crypto'
import { lstat, realpath, stat } from 'node:fs/promises'
import { whyUnwritable } from '../../lib/operator-error.js'
import { countText } from '../../lib/text.js'
import { isLeakedFile } from '../../passwords/leaked-list.js'
import { type Command, CommandFailure, print, readArguments, UsageFault } from '../command.js'
import { printableJson } from '../terminal/printing.js'
import { createProgress, exitCodes, watchForInterruption } from '../terminal/progress.js'
import { type Input, openInput } from './input.js'

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

const kindFrom = (text: string | undefined): ListKind | undefined => {
  const kind = listKinds.find((each) => each === text)
  if (text !== undefined && kind === undefined) throw new UsageFault(`--as takes ${listKinds.join(' or ')}.`)
  return kind
}

const areSameFile = async (one: string, other: string) => {
  const [first, second] = await Promise.all([one, other].map((path) => realpath(path).catch(() => undefined)))
  return first !== undefined && first === second
}

/** Whether the file exists. A device or a link is refused, because it would be replaced by a file. */
const fileExists = async (path: string) => {
  const found = await lstat(path).catch(() => undefined)
  if (found && !found.isFile()) throw new CommandFailure(`${path} is there already, and is not a file.`)
  return found !== undefined
}

const cannotWrite = (path: string, error: unknown) => {
  const reason = whyUnwritable(error)
  return reason === undefined ? error : new CommandFailure(`${path} cannot be written: ${reason}.`)
}

type Progress = ReturnType<typeof createProgress>

const readList = async (input: Input, kindOption: ListKind | undefined, output: string, progress: Progress) => {
  const [{ createPasswordLines }, { createLeakedListBuilder }] = await Promise.all([
    import('./passwords-build.js'),
    import('../../passwords/leaked-list.js'),
  ])
  const builder = await createLeakedListBuilder(output)
  try {
    const passwordLines = createPasswordLines(kindOption, builder.add)
    let bytes = 0
    for await (const chunk of input.bytes) {
      const piece = typeof chunk === 'string' ? Buffer.from(chunk) : chunk
      await passwordLines.push(piece)
      bytes += piece.length
      progress.draw(bytes, passwordLines.lines())
    }
    const counts = await passwordLines.end()
    const entries = await builder.finish()
    if (entries === 0) throw new CommandFailure('The list is empty. Nothing was written.')
    return { ...counts, entries }
  } finally {
    await builder.close()
  }
}

type BuildResult = Awaited<ReturnType<typeof readList>> & { bytes: number; replaced: boolean }

const summaryText = (output: string, { lines, entries, kind, skipped, bytes, replaced }: BuildResult) => {
  const size = (bytes / 1e6).toLocaleString('en', { maximumFractionDigits: 1 })
  const skips = describeSkipped(skipped)
  return `${replaced ? 'Replaced' : 'Wrote'} ${output}: ${countText(entries, 'entry', 'entries')} from ${countText(lines, 'line')} of ${kind}, ${size} MB.${skips ? ` Skipped: ${skips}.` : ''}`
}

export const passwordsBuild: Command = {
  summary: 'Make the file for BREACHED_PASSWORDS from a list of leaked passwords',
  help: `latchkey passwords build INPUT OUTPUT [--as passwords|hashes] [--json]

INPUT is a list with one password on each line, or one SHA-1 hash in hexadecimal digits, alone or as HASH:COUNT. It may be - for
standard input, need not be sorted, may repeat itself and may be of any size. A file at OUTPUT is replaced: the new one is
written beside it and then renamed, so a service that uses it sees the old file or the new one, and takes the new one without a
restart.

If the first line is a SHA-1 hash, all lines must be; otherwise all lines are passwords. Lines that are empty, are longer
than 1,024 bytes or have the count 0 are skipped.

The file has 4 bytes for each entry and 4 MB more. While it is made, the folder of OUTPUT also needs 8 bytes for each line.
Needs no settings and no database. docs/sign-in.md says where to get lists.

  --as KIND     passwords or hashes, if the first line does not show it
  --json        {"output": …, "kind": …, "lines": …, "skipped": …, "entries": …, "bytes": …, "replaced": …}`,

  run: async (args, context) => {
    const { values, positionals } = readArguments(args, { as: { type: 'string' }, json: { type: 'boolean' } }, [
      'INPUT',
      'OUTPUT',
    ])
    const [inputPath = '', output = ''] = positionals
    const kindOption = kindFrom(values.as)
    if (output === '-')
      throw new UsageFault('OUTPUT is the path of a file. The list cannot be written to standard output.')
    const replaced = await fileExists(output)
    if (inputPath !== '-' && (await areSameFile(inputPath, output)))
      throw new CommandFailure('INPUT and OUTPUT are the same file.')
    const input = await openInput(inputPath, context)
    const progress = createProgress(context.stderr, input.size)
    const interruption = watchForInterruption(input.stop)
    try {
      const built = await readList(input, kindOption, output, progress)
      const { size: bytes } = await stat(output)
      progress.clear()
      const skipped = Object.values(built.skipped).reduce((sum, each) => sum + each, 0)
      const asJson = () => printableJson({ output, ...built, skipped, bytes, replaced })
      await print(context.stdout, values.json ? asJson() : summaryText(output, { ...built, bytes, replaced }))
      return 0
    } catch (error) {
      const signal = interruption.signal()
      if (!signal) throw cannotWrite(output, error)
      await print(context.stderr, 'Interrupted: nothing was written.')
      return exitCodes[signal]
    } finally {
      interruption.stopWatching()
      input.stop()
      progress.clear()
    }
  },
}

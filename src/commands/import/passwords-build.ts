import { lstat, realpath, stat } from 'node:fs/promises'
import { whyUnwritable } from '../../lib/operator-error.js'
import { countText } from '../../lib/text.js'
import { CommandFailure, commandWithoutRooms, print, UsageFault } from '../command.js'
import { createProgress, exitCodes, watchForInterruption } from '../terminal/progress.js'
import { type Input, openInput } from './input.js'
import { describeSkipped, type ListKind, listKinds } from './password-lines.js'

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
    import('./password-lines.js'),
    import('../../passwords/leaked-builder.js'),
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

export const passwordsBuild = commandWithoutRooms({
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

  --as KIND     passwords or hashes, if the first line does not show it`,
  json: '{"output": …, "kind": …, "lines": …, "skipped": …, "entries": …, "bytes": …, "replaced": …}',
  args: ['INPUT', 'OUTPUT'],
  options: { as: { type: 'string' } },
  run: async ({ args: [inputPath, output], values, context }) => {
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
      const skipped = Object.values(built.skipped).reduce((sum, each) => sum + each, 0)
      return {
        json: { output, ...built, skipped, bytes, replaced },
        text: summaryText(output, { ...built, bytes, replaced }),
      }
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
})

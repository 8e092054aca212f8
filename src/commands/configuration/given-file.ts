import { createReadStream } from 'node:fs'
import { stat } from 'node:fs/promises'
import type { Readable } from 'node:stream'
import type { GivenFile } from '../../configuration/read-configuration.js'
import { whyUnreadable } from '../../lib/operator-error.js'
import { type CommandContext, CommandFailure, UsageFault } from '../command.js'

const longest = 1_000_000

/** All that comes through a pipe. The operator sees that it goes on, and can end it. */
const readPipe = async (stream: Readable, name: string) => {
  const chunks: Buffer[] = []
  let length = 0
  try {
    for await (const chunk of stream) {
      chunks.push(Buffer.from(chunk))
      length += chunks.at(-1)?.length ?? 0
      if (length > longest) throw new CommandFailure(`${name}: the file is larger than 1 MB.`)
    }
  } catch (error) {
    if (error instanceof CommandFailure) throw error
    throw new CommandFailure(`${name}: the file cannot be read (${whyUnreadable(error)}).`)
  }
  return Buffer.concat(chunks)
}

const standardInput = ['-', '/dev/stdin', '/dev/fd/0', '/proc/self/fd/0']

const isRegular = async (path: string) => {
  if (/^\/(?:dev\/fd|proc)\//.test(path)) return false
  const stats = await stat(path).catch(() => undefined)
  return stats === undefined || stats.isFile() || stats.isDirectory()
}

/** FILE as it was typed: a file, a pipe such as `<(…)`, or standard input. What has no name of its own needs --as. */
export const givenFile = async (
  path: string,
  as: string | undefined,
  { stdin }: CommandContext,
): Promise<GivenFile> => {
  if (as !== undefined && (!/^[^/\p{C}]{1,100}$/u.test(as) || /^\.\.?$/.test(as)))
    throw new UsageFault('--as takes the name of a file without folders, such as latchkey.yaml.')
  const isInput = standardInput.includes(path)
  if (!isInput && (await isRegular(path))) return { path, as }
  if (as === undefined)
    throw new UsageFault(
      'What comes through a pipe has no name: say who owns what it names with --as latchkey.yaml, the name of the file that it comes from.',
    )
  const name = isInput ? 'standard input' : path
  return { path: name, as, bytes: await readPipe(isInput ? stdin : createReadStream(path), name) }
}

import { PassThrough } from 'node:stream'
import type { CommandContext } from '../../src/commands/command.js'
import { runCommand } from '../../src/commands/commands.js'
import type { CommandStore } from './stores.js'

const listen = (stream: PassThrough) => {
  const chunks: Buffer[] = []
  stream.on('data', (chunk: Buffer) => chunks.push(chunk))
  return () => Buffer.concat(chunks).toString('utf8')
}

/** Only for the command: a browser that runs in this process would end it. */
const pressCtrlC = (others: NodeJS.SignalsListener[]) => {
  const listeners = process.listeners('SIGINT').filter((listener) => !others.includes(listener))
  for (const listener of listeners) listener('SIGINT')
}

type Options = {
  input?: string | Buffer
  /** The answers that the operator types, one for each question; there is a terminal then. */
  typed?: string[]
  environment?: Record<string, string>
  /** Others than the environment has: those of a running service. */
  settings?: CommandContext['settings']
  /** The input goes on after what is given, until this resolves and Ctrl-C is pressed. */
  interruptedAfter?: Promise<unknown>
  /** Standard output is a terminal. */
  hasTerminalOutput?: boolean
}

/** Runs a command as an operator at a terminal would, or a script without one. */
export const latchkey = async (
  { openRooms }: Pick<CommandStore, 'openRooms'>,
  args: string[],
  {
    input,
    typed,
    environment = {},
    settings = async () => environment,
    interruptedAfter,
    hasTerminalOutput = false,
  }: Options = {},
) => {
  const isTTY = typed !== undefined
  const stdout = Object.assign(new PassThrough(), { isTTY: hasTerminalOutput })
  const stderr = Object.assign(new PassThrough(), { isTTY, columns: 80 })
  const [out, err] = [listen(stdout), listen(stderr)]
  const modes: boolean[] = []
  const answers = [...(typed ?? [])]
  const stdin = Object.assign(new PassThrough(), { isTTY, setRawMode: (mode: boolean) => modes.push(mode) })
  stderr.on('data', (chunk: Buffer) => {
    if (!chunk.toString().endsWith(': ')) return
    if (modes.at(-1) !== true) throw new Error('The terminal would show what is typed now')
    stdin.write(answers.shift() ?? '')
  })
  if (interruptedAfter) {
    stdin.write(input ?? '')
    const others = process.listeners('SIGINT')
    void interruptedAfter.then(() => pressCtrlC(others))
  } else if (!isTTY) stdin.end(input ?? '')
  const code = await runCommand(args, {
    stdin,
    stdout,
    stderr,
    environment,
    envFileRemarks: [],
    settings,
    openRooms,
  })
  return { code, out: out(), err: err(), modes }
}

import { type Command, type CommandContext, CommandFailure, print, UsageFault } from './command.js'
import { contentLoad } from './content-load.js'
import { userAdd } from './user-add.js'
import { userExport } from './user-export.js'
import { userImport } from './user-import.js'
import { userList } from './user-list.js'
import { userDisable, userEnable, userSessionsEnd } from './user-state.js'

/** Every verb of the command line but those that main.ts has itself, in the order in which the help names them. */
const commands: Readonly<Record<string, Command>> = {
  'user add': userAdd,
  'user list': userList,
  'user disable': userDisable,
  'user enable': userEnable,
  'user sessions end': userSessionsEnd,
  'user import': userImport,
  'user export': userExport,
  'content load': contentLoad,
}

const widest = Math.max(...Object.keys(commands).map((name) => name.length))

/** The lines of the general help, one for each command. */
export const commandSummaries = Object.entries(commands).map(
  ([name, { summary }]) => `  latchkey ${name.padEnd(widest)}  ${summary}`,
)

const matching = (args: readonly string[]) =>
  Object.entries(commands).find(([name]) => name.split(' ').every((word, at) => args[at] === word))

/** Runs the command that the arguments name, and answers with its exit code; nothing when they name none. */
export const runCommand = async (args: readonly string[], context: CommandContext): Promise<number | undefined> => {
  const found = matching(args)
  if (!found) return undefined
  const [name, command] = found
  const rest = args.slice(name.split(' ').length)
  if (rest.includes('--help') || rest.includes('-h')) {
    await print(context.stdout, command.help)
    return 0
  }
  // A reader that has seen enough (`… | head`) is told apart below; here it only must not be an uncaught error.
  for (const stream of [context.stdout, context.stderr]) stream.on('error', () => {})
  try {
    return await command.run(rest, context)
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'EPIPE') return 1
    if (!(error instanceof UsageFault) && !(error instanceof CommandFailure)) throw error
    await print(context.stderr, error.message)
    if (error instanceof CommandFailure) return 1
    await print(context.stderr, `Try: latchkey ${name} --help`)
    return 2
  }
}

import { existsSync } from 'node:fs'
import { appendFile, readFile } from 'node:fs/promises'
import { serviceKeysIn } from '../app/service-keys-file.js'
import { loadSettings } from '../config.js'
import { isKeyName, newServiceKey } from '../domain/service-keys/service-keys.js'
import { whyUnwritable } from '../lib/file-faults.js'
import { OperatorError } from '../lib/operator-error.js'
import {
  type Command,
  type CommandContext,
  CommandFailure,
  operator,
  print,
  readArguments,
  UsageFault,
  withStores,
} from './command.js'
import { printableJson } from './printable-json.js'

/** The group too: `doctor` may run as another user than the service. The file has only hashes. */
const fileMode = 0o640

/** The file as it is, and empty if it does not exist yet. */
const readKeys = async (path: string) => {
  const text = existsSync(path) ? await readFile(path, 'utf8') : ''
  return { keys: serviceKeysIn(text, path), lacksLineEnd: text !== '' && !text.endsWith('\n') }
}

/**
 * The key must not wait for the database: the embedded one belongs to the service while it runs, and PostgreSQL may be away.
 * Returns why nothing was recorded.
 */
const recordEvent = async (name: string, context: CommandContext) => {
  try {
    await withStores(context, 'service', ({ events }) =>
      events.record({ kind: 'service_key_added', reason: name }, operator(context)),
    )
    return undefined
  } catch (error) {
    if (!(error instanceof OperatorError)) throw error
    return error.message
  }
}

/** What cannot be read or written is for the operator to put right. */
const unlessRefused = async <Result>(work: Promise<Result>, path: string, what: 'read' | 'written') =>
  work.catch((error: Error) => {
    const reason = whyUnwritable(error)
    const says = reason === undefined ? error.message : `${path} cannot be ${what}: ${reason}.`
    throw new CommandFailure(`Nothing was added. ${says}`)
  })

/** Adds the line of a new key to the file, and returns the key. */
const addToFile = async (name: string, context: CommandContext) => {
  const { serviceKeysFile: path } = loadSettings(context.environment, ['SERVICE_KEYS_FILE'])
  if (path === undefined)
    throw new CommandFailure('Set SERVICE_KEYS_FILE to the file that is to hold the keys, or use --print-line.')
  const { keys, lacksLineEnd } = await unlessRefused(readKeys(path), path, 'read')
  if (keys.some((key) => key.name === name))
    throw new CommandFailure(`${path} has a key called ${name}. Choose another name, or delete its line first.`)
  const made = newServiceKey(name)
  const text = `${lacksLineEnd ? '\n' : ''}${made.line}\n`
  await unlessRefused(appendFile(path, text, { mode: fileMode }), path, 'written')
  return made
}

export const serviceKeyAdd: Command = {
  summary: 'Make a key with which another program may ask /api/service/',
  help: `latchkey service-key add NAME [--print-line] [--json]

Makes a key, adds its hash to the file that SERVICE_KEYS_FILE names (which is made if there is none), and prints the key. It is
not kept anywhere and cannot be printed again. The event service_key_added is recorded if the database can be used; the key works
without it. NAME stands in the log for each request with the key. Send SIGHUP to the service to make the key work without a
restart. To remove a key, delete its line and send SIGHUP.

  --print-line  for a file that cannot be written here, such as a Secret of Kubernetes: writes nothing, and prints the key and
                below it the line for the file
  --json        {"name": …, "key": …}, with --print-line also "line"`,

  printsOnce: true,
  run: async (args, context) => {
    const options = { 'print-line': { type: 'boolean' }, json: { type: 'boolean' } } as const
    const { positionals, values } = readArguments(args, options, ['NAME'])
    const [name = ''] = positionals
    if (!isKeyName(name))
      throw new UsageFault(
        'NAME has 1 to 64 letters, digits, dots, dashes and underscores, and begins with a letter or digit.',
      )
    const printsLine = values['print-line'] ?? false
    const { key, line } = printsLine ? newServiceKey(name) : await addToFile(name, context)
    // Before the key is shown: until then, no program can use it.
    const unrecorded = await recordEvent(name, context)
    if (unrecorded !== undefined)
      await print(context.stderr, `The key was made, but no event could be recorded: ${unrecorded}`)
    const asJson = () => printableJson({ name, key, ...(printsLine && { line }) })
    await print(context.stdout, values.json ? asJson() : printsLine ? `${key}\n${line}` : key)
    return 0
  },
}

import { existsSync } from 'node:fs'
import { appendFile, readFile } from 'node:fs/promises'
import { serviceKeysIn } from '../app/service-keys-file.js'
import { loadConfig } from '../config.js'
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

const ownerOnly = 0o600

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

export const serviceKeyAdd: Command = {
  summary: 'Make a key with which another program may ask /api/service/',
  help: `latchkey service-key add NAME [--json]

Makes a key, adds its hash to the file that SERVICE_KEYS_FILE names (which is made if there is none), and prints the key. It is
not kept anywhere and cannot be printed again. The event service_key_added is recorded if the database can be used; the key works
without it. NAME stands in the log for each request with the key. Send SIGHUP to the service to make the key work without a
restart. To remove a key, delete its line and send SIGHUP.

  --json        {"name": …, "key": …}`,

  printsOnce: true,
  run: async (args, context) => {
    const { positionals, values } = readArguments(args, { json: { type: 'boolean' } }, ['NAME'])
    const [name = ''] = positionals
    if (!isKeyName(name))
      throw new UsageFault(
        'NAME has 1 to 64 letters, digits, dots, dashes and underscores, and begins with a letter or digit.',
      )
    const { serviceKeysFile: path } = loadConfig(context.environment)
    if (path === undefined) throw new CommandFailure('Set SERVICE_KEYS_FILE to the file that is to hold the keys.')
    const { keys, lacksLineEnd } = await unlessRefused(readKeys(path), path, 'read')
    if (keys.some((key) => key.name === name))
      throw new CommandFailure(`${path} has a key called ${name}. Choose another name, or delete its line first.`)
    const { key, line } = newServiceKey(name)
    // The event first: a key without an event would be worse than an event without a key.
    const unrecorded = await recordEvent(name, context)
    const text = `${lacksLineEnd ? '\n' : ''}${line}\n`
    await unlessRefused(appendFile(path, text, { mode: ownerOnly }), path, 'written')
    if (unrecorded !== undefined)
      await print(context.stderr, `The key was added, but no event could be recorded: ${unrecorded}`)
    await print(context.stdout, values.json ? printableJson({ name, key }) : key)
    return 0
  },
}

import { appendFile, readFile } from 'node:fs/promises'
import { loadConfig } from '../config.js'
import { isRefused } from '../contract/outcome.js'
import { isKeyName, newServiceKey, parseServiceKeys } from '../domain/service-keys/service-keys.js'
import { type Command, CommandFailure, operator, print, readArguments, UsageFault, withStores } from './command.js'
import { printableJson } from './printable-json.js'

const ownerOnly = 0o600

const isMissing = (error: Error) => 'code' in error && error.code === 'ENOENT'

/** The file as it is; empty if it does not exist yet. */
const readKeys = async (path: string) => {
  const text = await readFile(path, 'utf8').catch((error: Error) => {
    if (isMissing(error)) return ''
    throw new CommandFailure(`${path} cannot be read: ${error.message}`)
  })
  const keys = parseServiceKeys(text)
  if (isRefused(keys)) throw new CommandFailure(`Line ${keys.line} of ${path} is wrong. Nothing was added.`)
  return { keys, lacksLineEnd: text !== '' && !text.endsWith('\n') }
}

export const serviceKeyAdd: Command = {
  summary: 'Make a key with which another program may ask /api/service/',
  help: `latchkey service-key add NAME [--json]

Makes a key, adds its hash to the file that SERVICE_KEYS_FILE names, and prints the key. It is not kept anywhere and cannot
be printed again. NAME stands in the log for each request with the key. Send SIGHUP to the service to make the key work
without a restart. To remove a key, delete its line and send SIGHUP.

  --json        {"name": …, "key": …}`,

  run: async (args, context) => {
    const { positionals, values } = readArguments(args, { json: { type: 'boolean' } }, ['NAME'])
    const [name = ''] = positionals
    if (!isKeyName(name))
      throw new UsageFault(
        'NAME has 1 to 64 letters, digits, dots, dashes and underscores, and begins with a letter or digit.',
      )
    const { serviceKeysFile: path } = loadConfig(context.environment)
    if (path === undefined) throw new CommandFailure('Set SERVICE_KEYS_FILE to the file that is to hold the keys.')
    const { keys, lacksLineEnd } = await readKeys(path)
    if (keys.some((key) => key.name === name))
      throw new CommandFailure(`${path} has a key called ${name}. Choose another name, or delete its line first.`)
    const { key, line } = newServiceKey(name)
    // The event first: a key that nobody knows of would be worse than an event without a key.
    await withStores(context, 'service', ({ events }) =>
      events.record({ kind: 'service_key_added', reason: name }, operator(context)),
    )
    await appendFile(path, `${lacksLineEnd ? '\n' : ''}${line}\n`, { mode: ownerOnly }).catch((error: Error) => {
      throw new CommandFailure(`${path} cannot be written: ${error.message}`)
    })
    await print(context.stdout, values.json ? printableJson({ name, key }) : key)
    return 0
  },
}

import { systemClock } from '../../lib/clock.js'
import { keyIdOf, readServiceKeys, type ServiceKey } from '../../programs/service-keys.js'

import { loadSettings } from '../../settings/config.js'
import { type Command, CommandFailure, print, readArguments } from '../command.js'
import { printableJson } from '../terminal/printable-json.js'
import { asTable } from '../terminal/table.js'

const expiryOf = ({ expiresAt }: ServiceKey) => {
  if (!expiresAt) return 'never'
  return `${expiresAt.toISOString()}${expiresAt <= systemClock.now() ? ' (expired)' : ''}`
}

export const serviceKeyList: Command = {
  summary: 'List the keys with which other programs may ask /api/service/',
  help: `latchkey service-key list [--json]

Lists the keys in the file that SERVICE_KEYS_FILE names: their names and ids, what they are for, and when they expire. The file
has no key, only hashes. To remove a key, delete its line and send SIGHUP to the service.

  --json      one JSON object on each line, for programs`,

  run: async (args, context) => {
    const { values } = readArguments(args, { json: { type: 'boolean' } }, [])
    const { serviceKeysFile: path } = loadSettings(await context.settings(), ['SERVICE_KEYS_FILE'])
    if (path === undefined) throw new CommandFailure('SERVICE_KEYS_FILE is not set: there are no keys.')
    const keys = await readServiceKeys(path)
    if (values.json)
      for (const key of keys) {
        const { name, scopes, expiresAt = null } = key
        await print(context.stdout, printableJson({ name, id: keyIdOf(key), scopes, expiresAt }))
      }
    else if (keys.length === 0) await print(context.stdout, 'There are no keys.')
    else {
      const rows = keys.map((key) => [key.name, keyIdOf(key), key.scopes.join(','), expiryOf(key)])
      await print(context.stdout, asTable([['NAME', 'ID', 'SCOPES', 'EXPIRES'], ...rows]))
    }
    return 0
  },
}

import { existsSync } from 'node:fs'
import { open, readFile, rm } from 'node:fs/promises'
import { defaultScopes, type ServiceScope, serviceScopes } from '../../contract/service.js'
import { systemClock } from '../../lib/clock.js'
import { readDuration } from '../../lib/durations.js'
import { OperatorError, whyUnwritable } from '../../lib/operator-error.js'
import {
  isKeyName,
  keyIdOf,
  newServiceKey,
  readExpiry,
  readScopes,
  readServiceKeys,
  type ServiceKey,
  serviceKeysIn,
} from '../../programs/service-keys.js'
import { loadSettings } from '../../settings/config.js'
import {
  type CommandContext,
  CommandFailure,
  commandWithoutRooms,
  operator,
  print,
  UsageFault,
  withRooms,
} from '../command.js'
import { asTable, listOf } from '../terminal/printing.js'

/** The group may read the file too, because `doctor` may run as another user than the service. The file has only hashes. */
const fileMode = 0o640

/** The keys in the file. A file that does not exist yet has none. */
const readKeys = async (path: string) => {
  const text = existsSync(path) ? await readFile(path, 'utf8') : ''
  return { keys: serviceKeysIn(text, path), lacksLineEnd: text !== '' && !text.endsWith('\n') }
}

/**
 * Appends to the file, or leaves it as it was: the service does not start with a line that a full disk has cut off. The file is not
 * replaced by another one, because it may be a mount of its own, and has an owner and a mode.
 */
const appendWhole = async (path: string, text: string) => {
  const isNew = !existsSync(path)
  const file = await open(path, 'a', fileMode)
  try {
    const { size } = await file.stat()
    try {
      await file.writeFile(text)
      await file.sync()
    } catch (error) {
      await file.truncate(size)
      if (isNew) await rm(path)
      throw error
    }
  } finally {
    await file.close()
  }
}

/** A failure does not stop the command, because the key works without the database. Returns why nothing was recorded, or undefined. */
const recordEvent = async (name: string, context: CommandContext) => {
  try {
    await withRooms(context, 'service role', ({ events }) =>
      events.record({ kind: 'service_key_added', reason: name }, operator(context)),
    )
    return undefined
  } catch (error) {
    if (!(error instanceof OperatorError)) throw error
    return error.message
  }
}

/** Turns a failure of `work` into a sentence that tells the operator what is wrong with the file. */
const withFileFault = async <Result>(work: Promise<Result>, path: string, what: 'read' | 'written') =>
  work.catch((error: Error) => {
    const reason = whyUnwritable(error)
    const says = reason === undefined ? error.message : `${path} cannot be ${what}: ${reason}.`
    throw new CommandFailure(`Nothing was added. ${says}`)
  })

type Grant = { scopes: readonly ServiceScope[] | undefined; expiresAt: Date | undefined }

const scopesFrom = (text: string | undefined) => {
  if (text === undefined) return undefined
  const scopes = readScopes(text)
  if (!scopes) throw new UsageFault(`--scope takes ${serviceScopes.join(', ')}, with commas between them.`)
  return scopes
}

const expiryFrom = (text: string | undefined) => {
  if (text === undefined) return undefined
  const now = systemClock.now()
  const span = readDuration(text)
  const moment = span === undefined ? readExpiry(text) : new Date(now.getTime() + span)
  if (!moment || Number.isNaN(moment.getTime()))
    throw new UsageFault(
      '--expires takes a time such as 90d, a date such as 2027-01-31 or a moment such as 2027-01-31T12:00:00Z.',
    )
  if (moment <= now) throw new UsageFault('--expires names a moment that has passed.')
  return moment
}

/** Adds the line of a new key to the file, and returns the key. */
const addToFile = async (name: string, grant: Grant, context: CommandContext) => {
  const { serviceKeysFile: path } = loadSettings(await context.settings(), ['SERVICE_KEYS_FILE'])
  if (path === undefined)
    throw new CommandFailure('Set SERVICE_KEYS_FILE to the file that is to hold the keys, or use --print-line.')
  const { keys, lacksLineEnd } = await withFileFault(readKeys(path), path, 'read')
  if (keys.some((key) => key.name === name))
    throw new CommandFailure(`${path} has a key called ${name}. Choose another name, or delete its line first.`)
  const newKey = newServiceKey(name, grant)
  const text = `${lacksLineEnd ? '\n' : ''}${newKey.line}\n`
  await withFileFault(appendWhole(path, text), path, 'written')
  return newKey
}

const restartHint = 'A running service knows the key after a restart, or after SIGHUP if it has no terminal.'

export const serviceKeyAdd = commandWithoutRooms({
  summary: 'Make a key with which another program may ask /api/service/',
  help: `latchkey service-key add NAME [--scope SCOPES] [--expires WHEN] [--print-line] [--json]

Makes a key, adds its hash to the file that SERVICE_KEYS_FILE names (which is made if there is none), and prints the key. It is
not kept anywhere and cannot be printed again. The event service_key_added is recorded if the database can be used; the key works
without it. NAME stands in the log for each request with the key. Send SIGHUP to the service to make the key work without a
restart. To remove a key, delete its line and send SIGHUP.

  --scope       what the key is for, with commas between: users:read (find and list users), users:write (disable and enable
                users, write their profile fields), sessions:end (sign users out), revocations:read (the list of ended
                sessions, for @latchkey/verify), tokens:read (access tokens of applications, for @latchkey/verify),
                invitations, groups. Without it: ${defaultScopes.join(', ')}.
  --expires     90d, 2027-01-31 (the beginning of that day, UTC) or 2027-01-31T12:00:00Z. From then on the key is refused;
                doctor warns 14 days before. Without it, the key does not expire.
  --print-line  for a file that cannot be written here, such as a Secret of Kubernetes: writes nothing, and prints the key and
                below it the line for the file`,
  json: '{"name": …, "key": …, "scopes": […], "expiresAt": … or null}, with --print-line also "line"',
  printsOnce: true,
  args: ['NAME'],
  options: { scope: { type: 'string' }, expires: { type: 'string' }, 'print-line': { type: 'boolean' } },
  run: async ({ args: [name], values, context }) => {
    if (!isKeyName(name))
      throw new UsageFault(
        'NAME has 1 to 64 letters, digits, dots, dashes and underscores, and begins with a letter or digit.',
      )
    const grant = { scopes: scopesFrom(values.scope), expiresAt: expiryFrom(values.expires) }
    const printsLine = values['print-line'] ?? false
    const { key, line } = printsLine ? newServiceKey(name, grant) : await addToFile(name, grant, context)
    // The event is recorded before the key is shown, because no program can use the key until then.
    const recordFault = await recordEvent(name, context)
    if (recordFault !== undefined)
      await print(context.stderr, `The key was made, but no event could be recorded: ${recordFault}`)
    const { scopes = defaultScopes, expiresAt = null } = grant
    return {
      json: { name, key, scopes, expiresAt, ...(printsLine && { line }) },
      text: printsLine ? `${key}\n${line}` : key,
      notes: printsLine ? [] : [restartHint],
    }
  },
})

const expiryOf = ({ expiresAt }: ServiceKey) => {
  if (!expiresAt) return 'never'
  return `${expiresAt.toISOString()}${expiresAt <= systemClock.now() ? ' (expired)' : ''}`
}

const asJson = (key: ServiceKey) => {
  const { name, scopes, expiresAt = null } = key
  return { name, id: keyIdOf(key), scopes, expiresAt }
}

const keyTable = (keys: readonly ServiceKey[]) =>
  asTable([
    ['NAME', 'ID', 'SCOPES', 'EXPIRES'],
    ...keys.map((key) => [key.name, keyIdOf(key), key.scopes.join(','), expiryOf(key)]),
  ])

export const serviceKeyList = commandWithoutRooms({
  summary: 'List the keys with which other programs may ask /api/service/',
  help: `latchkey service-key list [--json]

Lists the keys in the file that SERVICE_KEYS_FILE names: their names and ids, what they are for, and when they expire. The file
has no key, only hashes. To remove a key, delete its line and send SIGHUP to the service.

  --json      one JSON object on each line, for programs`,
  json: { inHelp: 'one JSON object on each line: {"name", "id", "scopes", "expiresAt"}' },
  run: async ({ context }) => {
    const { serviceKeysFile: path } = loadSettings(await context.settings(), ['SERVICE_KEYS_FILE'])
    if (path === undefined) throw new CommandFailure('SERVICE_KEYS_FILE is not set: there are no keys.')
    return listOf(await readServiceKeys(path), { asJson, asTable: keyTable, none: 'There are no keys.' })
  },
})

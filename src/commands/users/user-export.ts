import type { FieldValues } from '../../contract/profile-fields.js'
import { builtInProviderIds, isProviderId, type ProviderId } from '../../contract/providers.js'
import { builtInFieldNames } from '../../contract/schemas.js'
import { countText } from '../../lib/text.js'
import { builtInFieldReaders } from '../../users/built-in-fields.js'
import { type BulkUsers, fieldColumn, identityColumn, type ListedUser } from '../../users/bulk.js'
import {
  type CommandContext,
  type CommandRooms,
  command,
  operator,
  print,
  requireUser,
  UsageFault,
  write,
} from '../command.js'
import { csvLine, guardFormula } from '../import/input.js'
import { printableJson, unprintable } from '../terminal/printing.js'

type Value = string | boolean | Date | readonly string[] | FieldValues | null
type Column = { name: string; of: (user: ListedUser) => Value }

type FieldLookups = CommandRooms['profileFields']

/**
 * A CSV file has a column for each profile field. JSON lines have all fields in one object. Values that the present PROFILE_FIELDS_FILE
 * does not accept are left out.
 */
const fieldColumnsFor = {
  csv: ({ definitions, knownValues }: FieldLookups): Column[] =>
    definitions.map(({ key }) => ({ name: fieldColumn(key), of: ({ fields }) => knownValues(fields)[key] ?? null })),
  jsonl: ({ definitions, knownValues }: FieldLookups): Column[] =>
    definitions.length === 0 ? [] : [{ name: 'fields', of: ({ fields }) => knownValues(fields) }],
}

const columnsWith = (providers: readonly ProviderId[], fieldColumns: readonly Column[]): readonly Column[] => [
  { name: 'id', of: ({ id }) => id },
  { name: 'email', of: ({ email }) => email },
  { name: 'username', of: ({ username }) => username },
  ...builtInFieldNames.map((name) => ({
    name,
    of: (user: ListedUser) => builtInFieldReaders[name].exported(user[name]),
  })),
  // The provider with which the account was created. Its identities at all providers follow.
  { name: 'provider', of: ({ provider }) => provider },
  ...providers.map((provider) => ({
    name: identityColumn(provider),
    of: ({ identities }: ListedUser) => identities[provider] ?? null,
  })),
  { name: 'groups', of: ({ groups }) => groups },
  ...fieldColumns,
  { name: 'created_at', of: ({ createdAt }) => createdAt },
  { name: 'disabled', of: ({ disabled }) => disabled },
]
const hashColumn: Column = { name: 'password_hash', of: ({ passwordHash }) => passwordHash ?? null }

const asText = (value: Value) => (value instanceof Date ? value.toISOString() : value === null ? '' : String(value))

/** CSV has no escapes, so characters that a terminal would obey are replaced by U+FFFD. */
const asCell = (value: Value) => guardFormula(asText(value).replaceAll(unprintable, '\ufffd'))

const formats = {
  jsonl: {
    head: () => '',
    line: (user: ListedUser, columns: readonly Column[]) =>
      `${printableJson(Object.fromEntries(columns.map(({ name, of }) => [name, of(user)])))}\n`,
  },
  csv: {
    head: (columns: readonly Column[]) => csvLine(columns.map(({ name }) => name)),
    line: (user: ListedUser, columns: readonly Column[]) => csvLine(columns.map(({ of }) => asCell(of(user)))),
  },
}

const formatFrom = (name: string): keyof typeof formats => {
  if (name !== 'jsonl' && name !== 'csv') throw new UsageFault('--format takes jsonl or csv.')
  return name
}

/** Tells operators that second factors are not exported with the users. */
const factorsSentence = async (bulkUsers: BulkUsers) => {
  const users = await bulkUsers.countWithSecondFactor()
  if (users === 0) return ''
  return ` ${countText(users, 'user')} of them ${users === 1 ? 'has' : 'have'} a second step or a passkey, which ${users === 1 ? 'is' : 'are'} not in the file.`
}

const exportAll = async (
  { bulkUsers, events, profileFields }: CommandRooms,
  formatName: keyof typeof formats,
  withHashes: boolean,
  context: CommandContext,
) => {
  // The event is recorded before the first row, because a reader that closes the pipe early (`… | head`) has seen rows, too.
  const what = `all users${withHashes ? ' with password hashes' : ''}`
  await events.record({ kind: 'users_exported', reason: what }, operator(context))
  // Providers that are no longer configured may still have identities, so they get columns, too.
  const storedProviders = (await bulkUsers.providers()).filter(isProviderId)
  const providers = [...new Set<ProviderId>([...builtInProviderIds, ...storedProviders])]
  const columns = columnsWith(providers, fieldColumnsFor[formatName](profileFields))
  const exportedColumns = withHashes ? [...columns, hashColumn] : columns
  const { head, line } = formats[formatName]
  let count = 0
  await write(context.stdout, head(exportedColumns))
  for await (const users of bulkUsers.allPages()) {
    await write(context.stdout, users.map((user) => line(user, exportedColumns)).join(''))
    count += users.length
  }
  await print(context.stderr, `Exported ${countText(count, 'user')}.${await factorsSentence(bulkUsers)}`)
  return 0
}

export const userExport = command({
  summary: 'Write all users to standard output, or the data of one',
  help: `latchkey user export [--format jsonl|csv] [--with-password-hashes] > FILE
latchkey user export USER > FILE

Without USER, writes every user, a line each, in the form that \`latchkey user import\` reads. Authenticator apps, recovery codes and
passkeys are not in the file and do not move: their users sign in with their password alone until they add a second step again.
The last line on standard error says how many they are.

With USER (a username, an email or an id), writes everything that is stored about that user as one JSON object, as the user could
download it from the account page: for a request of someone who cannot sign in. Make sure that the request is theirs.

  --format FORMAT           jsonl (default): one JSON object on each line; csv: with a header line, and an apostrophe before
                            what a spreadsheet would read as a formula (the import removes it again)
  --with-password-hashes    also the bcrypt hashes. With them, passwords can be guessed offline:
                            protect the file like a private key`,
  json: 'the same as --format jsonl',
  args: ['[USER]'],
  options: {
    format: { type: 'string' },
    'with-password-hashes': { type: 'boolean' },
    json: { type: 'boolean' },
  },
  read: ({ args: [userName], values }) => {
    if (userName !== undefined && (values.format !== undefined || values['with-password-hashes']))
      throw new UsageFault(
        'The data of one user is JSON without a hash: leave out --format and --with-password-hashes.',
      )
    const format = formatFrom(values.format ?? 'jsonl')
    if (userName === undefined && values.json && format !== 'jsonl')
      throw new UsageFault('--json is the same as --format jsonl: leave one of them out.')
    return { format, withHashes: values['with-password-hashes'] ?? false }
  },
  run: async (rooms, { args: [userName], format, withHashes, context, operator }) => {
    if (userName === undefined) return exportAll(rooms, format, withHashes, context)
    const user = await requireUser(rooms, userName)
    await rooms.events.record({ kind: 'users_exported', userId: user.id, reason: 'data of this user' }, operator)
    await print(context.stdout, printableJson(await rooms.accountData(user)))
    return 0
  },
})

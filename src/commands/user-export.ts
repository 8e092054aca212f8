import type { ListedUser } from '../domain/users/bulk.js'
import { csvLine } from '../lib/csv.js'
import { type Command, operator, print, readArguments, UsageFault, withStores, write } from './command.js'

const columns = [
  'id',
  'email',
  'username',
  'name',
  'provider',
  'provider_a_id',
  'provider_b_id',
  'created_at',
  'disabled',
] as const satisfies (keyof ListedUser)[]
type Column = (typeof columns)[number] | 'password_hash'

const asText = (value: string | boolean | Date | null) =>
  value instanceof Date ? value.toISOString() : value === null ? '' : String(value)

const formats = {
  jsonl: {
    head: () => '',
    line: (user: ListedUser, wanted: readonly Column[]) =>
      `${JSON.stringify(Object.fromEntries(wanted.map((column) => [column, user[column]])))}\n`,
  },
  csv: {
    head: (wanted: readonly Column[]) => csvLine(wanted),
    line: (user: ListedUser, wanted: readonly Column[]) => csvLine(wanted.map((column) => asText(user[column]))),
  },
}

const formatNamed = (name: string) => {
  if (name !== 'jsonl' && name !== 'csv') throw new UsageFault('--format takes jsonl or csv.')
  return formats[name]
}

export const userExport: Command = {
  summary: 'Write all users to standard output',
  help: `latchkey user export [--format jsonl|csv] [--with-password-hashes] > FILE

Writes every user, a line each, in the form that \`latchkey user import\` reads.

  --format FORMAT           jsonl (default): one JSON object a line; csv: with a header line
  --with-password-hashes    also the bcrypt hashes. Whoever has them can try to guess passwords at leisure:
                            keep the file where you would keep a key`,

  run: async (args, context) => {
    const { values } = readArguments(
      args,
      { format: { type: 'string', default: 'jsonl' }, 'with-password-hashes': { type: 'boolean' } },
      [],
    )
    const format = formatNamed(values.format)
    const wanted: readonly Column[] = values['with-password-hashes'] ? [...columns, 'password_hash'] : columns

    return withStores(context, 'service', async ({ bulkUsers, events }) => {
      let count = 0
      await write(context.stdout, format.head(wanted))
      for await (const users of bulkUsers.everyone()) {
        await write(context.stdout, users.map((user) => format.line(user, wanted)).join(''))
        count += users.length
      }
      const what = `${count} users${values['with-password-hashes'] ? ' with password hashes' : ''}`
      await events.record({ kind: 'users_exported', reason: what }, operator())
      await print(context.stderr, `Exported ${count.toLocaleString('en')} users.`)
      return 0
    })
  },
}

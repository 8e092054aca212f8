import type { ListedUser } from '../domain/users/bulk.js'
import { displayName } from '../domain/users/display-name.js'
import { type Command, operator, print, readArguments, UsageFault, withStores, write } from './command.js'
import { csvLine } from './csv.js'
import { guardFormula } from './csv-formulas.js'
import { printableJson } from './printable-json.js'

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

/** CSV has no escapes, so what a terminal would act on is shown as the sign for a character that cannot be shown. */
const asCell = (value: string | boolean | Date | null) =>
  guardFormula(asText(value).replaceAll(/[\p{C}\u2028\u2029]/gu, '\ufffd'))

/** Names of long ago may hold what no name may hold now, and the import refuses it. */
const cleaned = (user: ListedUser): ListedUser => ({ ...user, name: displayName(user.name) })

const formats = {
  jsonl: {
    head: () => '',
    line: (user: ListedUser, wanted: readonly Column[]) =>
      `${printableJson(Object.fromEntries(wanted.map((column) => [column, user[column]])))}\n`,
  },
  csv: {
    head: (wanted: readonly Column[]) => csvLine(wanted),
    line: (user: ListedUser, wanted: readonly Column[]) => csvLine(wanted.map((column) => asCell(user[column]))),
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

  --format FORMAT           jsonl (default): one JSON object a line; csv: with a header line, and an apostrophe before
                            what a spreadsheet would take for a formula (the import takes it off again)
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
        await write(context.stdout, users.map((user) => format.line(cleaned(user), wanted)).join(''))
        count += users.length
      }
      const what = `${count} users${values['with-password-hashes'] ? ' with password hashes' : ''}`
      await events.record({ kind: 'users_exported', reason: what }, operator(context))
      await print(context.stderr, `Exported ${count.toLocaleString('en')} users.`)
      return 0
    })
  },
}

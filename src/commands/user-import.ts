import { isRefused, refuse } from '../contract/outcome.js'
import { type ImportedUser, identityColumns, readImportedUser } from '../domain/users/imported-user.js'
import {
  type Command,
  type CommandContext,
  operator,
  print,
  readArguments,
  type Stores,
  UsageFault,
  withStores,
} from './command.js'
import { counted } from './counted.js'
import { type Input, openInput } from './input.js'
import { createProgress } from './progress.js'
import type { UserFormat, UserRecord } from './user-records.js'

const batchSize = 1_000

type Counts = { added: number; existed: number; refused: number }
type Fault = { line: number; reason: string }
type Waiting = { line: number; user: ImportedUser }

const formatFrom = (text: string | undefined): UserFormat | undefined => {
  if (text === undefined || text === 'csv' || text === 'jsonl') return text
  throw new UsageFault('--format takes csv or jsonl.')
}

const summary = ({ added, existed, refused }: Counts, dryRun: boolean) =>
  [
    `${dryRun ? 'Would add' : 'Added'} ${counted(added, 'user')}`,
    `${existed.toLocaleString('en')} existed already`,
    `${counted(refused, 'row was', 'rows were')} refused.`,
  ].join('; ')

/** Collects users into batches and writes each batch with one statement. Faults are reported in the order of their lines. */
const createImporter = ({ bulkUsers, clock }: Stores, dryRun: boolean, report: (fault: Fault) => Promise<void>) => {
  const counts: Counts = { added: 0, existed: 0, refused: 0 }
  let waiting: Waiting[] = []
  let faults: Fault[] = []

  const flush = async () => {
    const lines = new Map(waiting.map(({ line, user }) => [user, line]))
    const users = waiting.map(({ user }) => user)
    const batch = users.length > 0 ? await (dryRun ? bulkUsers.tryOut(users) : bulkUsers.add(users)) : undefined
    for (const { user, reason } of batch?.refused ?? []) faults.push({ line: lines.get(user) ?? 0, reason })
    faults.sort((left, right) => left.line - right.line)
    for (const fault of faults) await report(fault)
    counts.added += batch?.added ?? 0
    counts.existed += batch?.existed ?? 0
    counts.refused += faults.length
    waiting = []
    faults = []
  }

  const take = async (record: UserRecord) => {
    const read =
      'fault' in record ? refuse('unusable_row', { reason: record.fault }) : readImportedUser(record.row, clock.now())
    if (isRefused(read)) faults.push({ line: record.line, reason: read.reason })
    else waiting.push({ line: record.line, user: read })
    if (waiting.length + faults.length >= batchSize) await flush()
  }

  return { take, flush, counts }
}

/** Also when it is interrupted: what was added stays, and the next run continues. */
const reportCounts = async (counts: Counts, { events }: Stores, dryRun: boolean, context: CommandContext) => {
  const { added, existed, refused } = counts
  const what = `${added} added, ${existed} existed, ${refused} refused`
  if (!dryRun) await events.record({ kind: 'users_imported', reason: what }, operator(context))
  await print(context.stdout, summary(counts, dryRun))
}

/** At the first Ctrl-C or SIGTERM the reading stops. The second one ends the process at once. */
const watchForInterruption = (input: Input) => {
  let received: 'SIGINT' | 'SIGTERM' | undefined
  const stop = (signal: 'SIGINT' | 'SIGTERM') => {
    received = signal
    forget()
    input.stop()
  }
  const forget = () => void process.off('SIGINT', stop).off('SIGTERM', stop)
  process.on('SIGINT', stop).on('SIGTERM', stop)
  return { signal: () => received, forget }
}

/** What a shell reports for a program that a signal has ended. */
const exitCodes = { SIGINT: 130, SIGTERM: 143 }

const importAll = async (
  stores: Stores,
  input: Input,
  format: UserFormat | undefined,
  dryRun: boolean,
  context: CommandContext,
) => {
  const { readUserRecords } = await import('./user-records.js')
  const progress = createProgress(context.stderr, input.size)
  const importer = createImporter(stores, dryRun, async ({ line, reason }) => {
    progress.clear()
    await print(context.stderr, `line ${line}: ${reason}`)
  })
  let bytesRead = 0
  let rows = 0
  let isDone = false
  const interruption = watchForInterruption(input)
  try {
    for await (const { records, bytes } of readUserRecords(input, format)) {
      for (const record of records) {
        if (interruption.signal()) break
        await importer.take(record)
        rows += 1
        progress.draw(bytesRead, rows)
      }
      bytesRead += bytes
    }
    await importer.flush()
    isDone = true
  } catch (error) {
    if (!interruption.signal()) throw error
  } finally {
    interruption.forget()
    progress.clear()
    // Nothing was imported from input that is empty or has no columns, so there is nothing to count.
    if (rows > 0 || isDone) await reportCounts(importer.counts, stores, dryRun, context)
  }
  return { ...importer.counts, interruptedBy: interruption.signal() }
}

export const userImport: Command = {
  summary: 'Add users from a CSV or JSON lines file',
  help: `latchkey user import FILE [--format csv|jsonl] [--dry-run]

Adds users with the bcrypt hashes that another system made, so that their passwords keep working. FILE may be - for
standard input. It must be UTF-8 text. A CSV file has commas between its columns, and their names in the first line; a
JSON lines file has one object on each line. The fields:

  email            required; unique, compared without case
  username         without it, the part of the email before the at-sign
  name             the name to show
  password_hash    bcrypt: $2a$, $2b$ or $2y$, cost 4 to 15; without it, the user signs in with a provider, or asks for a
                   reset mail to set a password
  provider, ${identityColumns.join(', ')}, id, created_at, disabled
                   as \`latchkey user export\` writes them

Other fields are ignored. A row that breaks a rule is reported on standard error with its line number and skipped; the
other rows are imported. A user whose email already exists is not changed, so an interrupted import can be run again.

  --dry-run          show what would happen and write nothing
  --format FORMAT    csv or jsonl (without it: jsonl if the file begins with {, otherwise csv)

The exit code is 0 if every row was valid, and 1 if some were refused. Ctrl-C stops the import; what was added stays.`,

  run: async (args, context) => {
    const { values, positionals } = readArguments(
      args,
      { format: { type: 'string' }, 'dry-run': { type: 'boolean' } },
      ['FILE'],
    )
    const format = formatFrom(values.format)
    const input = await openInput(positionals[0] ?? '', context)
    return withStores(context, 'service', async (stores) => {
      const dryRun = values['dry-run'] ?? false
      const { refused, interruptedBy } = await importAll(stores, input, format, dryRun, context)
      if (!interruptedBy) return refused === 0 ? 0 : 1
      await print(context.stderr, 'Interrupted: run the same command again to import the rest.')
      return exitCodes[interruptedBy]
    })
  },
}

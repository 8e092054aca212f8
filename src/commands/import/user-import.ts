import { readFile } from 'node:fs/promises'
import { isRefused, refuse } from '../../contract/outcome.js'
import { builtInProviderIds } from '../../contract/providers.js'
import { builtInFieldNames } from '../../contract/schemas.js'
import { countText } from '../../lib/text.js'
import { type FirebaseParameters, type HashForms, saltedHexForms } from '../../passwords/hashes.js'
import type { AdminRoles } from '../../sessions/administrators.js'
import { loadConfig } from '../../settings/config.js'
import {
  type FindImportField,
  type ImportedUser,
  identityColumn,
  importFieldFinder,
  readImportedUser,
} from '../../users/bulk.js'
import { displayName } from '../../users/names.js'
import {
  type CommandContext,
  CommandFailure,
  type CommandRooms,
  command,
  operator,
  print,
  UsageFault,
} from '../command.js'
import { printableJson, printableText } from '../terminal/printing.js'
import { createProgress, exitCodes, watchForInterruption } from '../terminal/progress.js'
import { cannotRead, type Input, openInput } from './input.js'
import type { UserFormat, UserRecord } from './user-records.js'

/** The value of a parameter in the text that Firebase shows (`rounds: 8,`), or in the same text as JSON. */
const parameterIn = (text: string, name: string) =>
  new RegExp(String.raw`(?:^|[\s{,])"?${name}"?\s*:\s*"?([A-Za-z0-9+/_-]*={0,2})"?\s*(?:[,}\n]|$)`).exec(text)?.[1]

export const readFirebaseParameters = (text: string): FirebaseParameters => {
  const requireParameter = (name: string) => {
    const value = parameterIn(text, name)
    if (value === undefined) throw new CommandFailure(`The Firebase parameters have no ${name}.`)
    return value
  }
  const rounds = Number(requireParameter('rounds'))
  const memoryCost = Number(requireParameter('mem_cost'))
  const signerKey = Buffer.from(requireParameter('base64_signer_key'), 'base64')
  if (!(rounds >= 1 && rounds <= 8) || !(memoryCost >= 1 && memoryCost <= 14) || signerKey.length < 16)
    throw new CommandFailure(
      'The Firebase parameters must have rounds of 1 to 8, mem_cost of 1 to 14, and a signer key.',
    )
  return {
    signerKey,
    saltSeparator: Buffer.from(requireParameter('base64_salt_separator'), 'base64'),
    rounds,
    memoryCost,
  }
}

/** The parameters are in a file because the signer key is a secret, and other users of the machine can read the options of a command. */
const loadFirebaseParameters = async (path: string) => {
  const text = await readFile(path, 'utf8').catch((error: unknown) => {
    throw cannotRead(path, error)
  })
  return readFirebaseParameters(text)
}

/** The most that is read to find the end of the parameters, which have a few hundred bytes. */
const maxBytes = 64 * 1024

/** White space, or a second closing brace: as JSON, the parameters are an object in an object. */
const isSeparator = (byte: number) => /[\s}]/.test(String.fromCharCode(byte))

async function* afterParameters(head: Buffer, chunks: AsyncIterator<Buffer | string>) {
  let hasBegun = false
  for (let next: Buffer | undefined = head; next; ) {
    const start: number = hasBegun ? 0 : next.findIndex((byte) => !isSeparator(byte))
    hasBegun = start >= 0
    if (hasBegun) yield next.subarray(start)
    const { value, done } = await chunks.next()
    next = done ? undefined : Buffer.from(value)
  }
}

/** The parameters at the beginning of the input, up to their closing brace, and what comes after them. */
const splitFirebaseParameters = async (input: Input) => {
  const chunks = input.bytes[Symbol.asyncIterator]()
  let head = Buffer.alloc(0)
  let end = -1
  while (end < 0 && head.length < maxBytes) {
    const { value, done } = await chunks.next()
    if (done) break
    head = Buffer.concat([head, Buffer.from(value)])
    end = head.indexOf('}')
  }
  if (end < 0) throw new CommandFailure('Standard input does not begin with the Firebase parameters, as { … }.')
  const firebase = readFirebaseParameters(head.subarray(0, end + 1).toString())
  const rest: Input = { ...input, bytes: afterParameters(head.subarray(end + 1), chunks) }
  return { firebase, rest }
}

const batchSize = 1_000

/**
 * `groups` are the groups of the users who were added. `newGroups` are those among them that did not exist before. `administrators` are the
 * users in ADMIN_GROUP or SUPPORT_GROUP, with these groups.
 */
type Counts = {
  added: number
  existed: number
  refused: number
  withPassword: number
  unknownHashes: number
  groups: string[]
  newGroups: string[]
  administrators: { username: string; groups: string[] }[]
}
/** Says why a row was refused, or warns about a row that was added. */
type Remark = { line: number; text: string }
type Plan = {
  format: UserFormat | undefined
  forms: HashForms
  withAdministrators: boolean
  dryRun: boolean
  json: boolean
}
type WaitingUser = { line: number; user: ImportedUser }

const formatFrom = (text: string | undefined): UserFormat | undefined => {
  if (text === undefined || text === 'csv' || text === 'jsonl') return text
  throw new UsageFault('--format takes csv or jsonl.')
}

const saltedHexFrom = (text = 'better-auth'): HashForms['saltedHex'] => {
  const form = saltedHexForms.find((each) => each === text)
  if (form === undefined) throw new UsageFault(`--salted-hex takes ${saltedHexForms.join(' or ')}.`)
  return form
}

/** Says how many users get a password. If the column `password_hash` is misspelt, the operator notices it here. */
const passwordsText = ({ added, withPassword, unknownHashes }: Counts) => {
  const none = `without a password: ${(added - withPassword).toLocaleString('en')}`
  const why =
    unknownHashes === 0
      ? ''
      : `, of them with a hash of a kind that is not known: ${unknownHashes.toLocaleString('en')}`
  return `With a password: ${withPassword.toLocaleString('en')}; ${none}${why}.`
}

const administratorsText = ({ administrators }: Counts, dryRun: boolean) => {
  const names = administrators.map(({ username, groups }) => `${printableText(username)} (${groups.join(', ')})`)
  return `${dryRun ? 'Would make' : 'Made'} administrators or support: ${names.join(', ')}.`
}

const summary = (counts: Counts, ignored: ReadonlySet<string>, dryRun: boolean) => {
  const { added, existed, refused, groups, newGroups } = counts
  const countsSentence = [
    `${dryRun ? 'Would add' : 'Added'} ${countText(added, 'user')}`,
    `${existed.toLocaleString('en')} existed already`,
    `${countText(refused, 'row was', 'rows were')} refused.`,
  ].join('; ')
  return [
    countsSentence,
    ...(added > 0 ? [passwordsText(counts)] : []),
    ...(groups.length > 0 ? [`Groups: ${groups.join(', ')}.`] : []),
    ...(newGroups.length > 0 ? [`${dryRun ? 'Would make' : 'Made'} the groups ${newGroups.join(', ')}.`] : []),
    ...(counts.administrators.length > 0 ? [administratorsText(counts, dryRun)] : []),
    ...(ignored.size > 0 ? [`Ignored columns: ${[...ignored].join(', ')}.`] : []),
  ].join('\n')
}

const makesAdministrator =
  'groups has ADMIN_GROUP or SUPPORT_GROUP: with --with-administrators, the user becomes an administrator or support'

const maxIgnored = 20

/** Collects the names of columns that are ignored. JSON lines may have any number of names, so only the first ones are kept. */
const collectIgnored = (findField: FindImportField) => {
  const ignored = new Set<string>()
  const findFieldAndNoteIgnored: FindImportField = (name) => {
    const field = findField(name)
    if (field === undefined && ignored.size < maxIgnored) ignored.add(displayName(name, 60) ?? '(no name)')
    return field
  }
  return { findField: findFieldAndNoteIgnored, ignored }
}

/** Collects users into batches and writes each batch with one statement. Remarks are reported in the order of their lines. */
const createImporter = (
  rooms: CommandRooms,
  { forms, withAdministrators, dryRun }: Plan,
  { knownGroups, roleOf }: { knownGroups: ReadonlySet<string> } & Pick<AdminRoles, 'roleOf'>,
  report: (remark: Remark) => Promise<void>,
) => {
  const { bulkUsers, tokens, clock, profileFields, configuredProviders: providers } = rooms
  const write = dryRun ? bulkUsers.createTrial() : bulkUsers.add
  const counts: Counts = {
    added: 0,
    existed: 0,
    refused: 0,
    withPassword: 0,
    unknownHashes: 0,
    groups: [],
    newGroups: [],
    administrators: [],
  }
  let waiting: WaitingUser[] = []
  let refusedRows: Remark[] = []

  const administratorIn = ({ username: { username }, groups }: ImportedUser) => {
    const ruling = groups.filter((name) => roleOf(name) !== undefined)
    return ruling.length > 0 ? [{ username, groups: ruling }] : []
  }

  const flush = async () => {
    const lines = new Map(waiting.map(({ line, user }) => [user, line]))
    const remark = (user: ImportedUser, text: string): Remark => ({ line: lines.get(user) ?? 0, text })
    const { added, existed, refused } = await write(waiting.map(({ user }) => user))
    const warnings = added.flatMap((user) => (user.warning === undefined ? [] : remark(user, user.warning)))
    const remarks = [...refusedRows, ...refused.map(({ user, reason }) => remark(user, reason)), ...warnings]
    remarks.sort((left, right) => left.line - right.line)
    for (const each of remarks) await report(each)
    counts.added += added.length
    counts.existed += existed
    counts.refused += refusedRows.length + refused.length
    counts.withPassword += added.filter(({ passwordHash }) => passwordHash !== null).length
    counts.unknownHashes += warnings.length
    const groupNames = new Set([...counts.groups, ...added.flatMap(({ groups }) => groups)])
    counts.groups = [...groupNames].sort()
    counts.administrators.push(...added.flatMap(administratorIn))
    counts.newGroups = counts.groups.filter((name) => !knownGroups.has(name))
    waiting = []
    refusedRows = []
  }

  const fitsToken = ({ username: { username }, email: { email }, groups }: ImportedUser) =>
    groups.length === 0 || tokens.fits({ username, email, groups })

  const take = async (record: UserRecord) => {
    const user =
      'fault' in record
        ? refuse('unusable_row', { reason: record.fault })
        : readImportedUser(record.row, { forms, providers, profileFields }, clock.now())
    if (isRefused(user)) refusedRows.push({ line: record.line, text: user.reason })
    else if (!withAdministrators && administratorIn(user).length > 0)
      refusedRows.push({ line: record.line, text: makesAdministrator })
    else if (!fitsToken(user))
      refusedRows.push({ line: record.line, text: 'with these groups, an access token would be too long' })
    else waiting.push({ line: record.line, user })
    if (waiting.length + refusedRows.length >= batchSize) await flush()
  }

  return { take, flush, counts }
}

/** Records and prints the counts, also after an interruption: the users who were added stay, and the next run continues. */
const reportCounts = async (
  counts: Counts,
  ignored: ReadonlySet<string>,
  { dryRun, json }: Plan,
  { events }: CommandRooms,
  context: CommandContext,
) => {
  const { added, existed, refused, groups, administrators } = counts
  const inGroups = groups.length > 0 ? `, groups ${groups.join(',')}` : ''
  const ofAdministrators = administrators.length > 0 ? `, administrators ${administrators.length}` : ''
  const what = `${added} added, ${existed} existed, ${refused} refused${inGroups}${ofAdministrators}`
  if (!dryRun) await events.record({ kind: 'users_imported', reason: what }, operator(context))
  const asJson = () => printableJson({ ...counts, ignoredColumns: [...ignored], dryRun })
  await print(context.stdout, json ? asJson() : summary(counts, ignored, dryRun))
}

const importAll = async (rooms: CommandRooms, input: Input, plan: Plan, context: CommandContext) => {
  const { readUserRecords } = await import('./user-records.js')
  const progress = createProgress(context.stderr, input.size)
  const knownGroups = new Set((await rooms.groups.list()).map(({ name }) => name))
  const { roleOf } = await rooms.administrators.roles()
  const importer = createImporter(rooms, plan, { knownGroups, roleOf }, async ({ line, text }) => {
    progress.clear()
    await print(context.stderr, `line ${line}: ${text}`)
  })
  const { findField, ignored } = collectIgnored(
    importFieldFinder(rooms.configuredProviders, rooms.profileFields.definitions),
  )
  let bytesRead = 0
  let rows = 0
  let isDone = false
  const interruption = watchForInterruption(input.stop)
  try {
    for await (const { records, bytes } of readUserRecords(input, findField, plan.format)) {
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
    interruption.stopWatching()
    progress.clear()
    // Input that is empty or has no columns fails before its first row: then there are no counts to report.
    if (rows > 0 || isDone) await reportCounts(importer.counts, ignored, plan, rooms, context)
  }
  return { ...importer.counts, interruptedBy: interruption.signal() }
}

const openFiles = async (file: string, parameters: string | undefined, context: CommandContext) => {
  if (parameters === '-') {
    const { firebase, rest } = await splitFirebaseParameters(await openInput('-', context))
    return { firebase, input: file === '-' ? rest : await openInput(file, context) }
  }
  const firebase = parameters === undefined ? undefined : await loadFirebaseParameters(parameters)
  return { firebase, input: await openInput(file, context) }
}

const otherFields = builtInFieldNames.filter((name) => name !== 'name')

export const userImport = command({
  summary: 'Add users from a CSV or JSON lines file',
  help: `latchkey user import FILE [--format csv|jsonl] [--firebase-config FILE] [--salted-hex better-auth|node] [--with-administrators]
                     [--dry-run] [--json]

Adds users with the password hashes that another system made, so that their passwords keep working. REGISTRATION and
REGISTRATION_DOMAINS do not matter here. FILE may be - for standard input. It must be UTF-8 text. A CSV file has commas between
its columns, and their names in the first line; a JSON lines file has one object on each line. The fields:

  email            required; unique, compared without case
  username         without it, made from the part of the email before the at-sign
  name             the name to show
  password_hash    one of the forms below; without it, the user signs in with a provider, or asks for a reset mail to set
                   a password
  password_salt    (or salt) the user's salt, for hashes of Firebase
  groups           names with commas between them, or an array; groups that are not there are made. A row with ADMIN_GROUP or
                   SUPPORT_GROUP is refused without --with-administrators
  provider, ${builtInProviderIds.map(identityColumn).join(', ')}, id, created_at, disabled, ${otherFields.join(', ')}
                   as \`latchkey user export\` writes them; for each provider in PROVIDERS there is a field
                   such as provider_microsoft_id
  fields.KEY       a profile field (PROFILE_FIELDS_FILE); in JSON lines also an object: "fields": {"KEY": …}

Hashes:

  $2b$12$…                                    bcrypt ($2a$, $2b$ or $2y$), cost 4 to 14, or to BCRYPT_COST if that is higher
  $argon2id$v=19$m=65536,t=3,p=4$salt$hash    argon2id
  $scrypt$ln=14,r=8,p=1$salt$hash             scrypt; N is 2 to the power of ln, salt and hash are base64
  salt:hash                                   Better Auth: 32 and 128 hexadecimal digits. With --salted-hex node: the same
                                              digits, made with the defaults of Node's scrypt
  base64, with a salt                         Firebase, with --firebase-config

Hashes other than bcrypt are replaced by bcrypt at the first sign-in. A hash may need at most 128 MiB of memory, and its
memory times its passes may be at most 512 MiB. With a hash of another kind, the user is added without a password, and a
warning says so.

Other fields are ignored, and named at the end. A row that breaks a rule is reported on standard error with its line number and
skipped; the other rows are imported. A user whose email already exists is not changed, so an interrupted import can be run
again. The summary says how many users get a password: look at it in a dry run first, because a second import adds no passwords.

  --dry-run                 show what would happen and write nothing
  --json                    the summary as one JSON object; refused rows are still lines on standard error
  --format FORMAT           csv or jsonl (without it: jsonl if the file begins with {, otherwise csv)
  --firebase-config FILE    the password hash parameters, as the Firebase console shows them. With - for both files, they stand
                            at the beginning of standard input, before the users
  --with-administrators     also add members of ADMIN_GROUP and SUPPORT_GROUP: the output names them. Their second factors do not
                            move, so they sign in with the password alone, and add a new factor
  --salted-hex SYSTEM       who made hashes of the form salt:hash: better-auth (the default) or node

The exit code is 0 if every row was valid, and 1 if some were refused. Ctrl-C stops the import; what was added stays.`,
  json: { inHelp: '{"imported", "skipped", "failed", …}' },
  args: ['FILE'],
  options: {
    format: { type: 'string' },
    'firebase-config': { type: 'string' },
    'salted-hex': { type: 'string' },
    'with-administrators': { type: 'boolean' },
    'dry-run': { type: 'boolean' },
  },
  read: async ({ args: [file], values, context }) => {
    const format = formatFrom(values.format)
    const saltedHex = saltedHexFrom(values['salted-hex'])
    const { bcryptCost } = loadConfig(await context.settings())
    const { input, firebase } = await openFiles(file, values['firebase-config'], context)
    return { input, format, forms: { firebase, saltedHex, bcryptCost } }
  },
  run: async (rooms, { values, input, format, forms, context }) => {
    const plan = {
      format,
      forms,
      withAdministrators: values['with-administrators'] ?? false,
      dryRun: values['dry-run'] ?? false,
      json: values.json ?? false,
    }
    const { refused, interruptedBy } = await importAll(rooms, input, plan, context)
    if (!interruptedBy) return refused === 0 ? 0 : 1
    await print(context.stderr, 'Interrupted: run the same command again to import the rest.')
    return exitCodes[interruptedBy]
  },
})

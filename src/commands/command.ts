import type { Readable, Writable } from 'node:stream'
import { type ParseArgsConfig, parseArgs } from 'node:util'
import type { AdminRoom } from '../admin/open-admin.js'
import { isGroupName } from '../contract/groups.js'
import type { UsernameRefusal } from '../contract/names.js'
import { isRefused, type Refused } from '../contract/outcome.js'
import { refusals } from '../contract/refusals.js'
import { operatorClient } from '../http/request-origin.js'
import type { Clock } from '../lib/clock.js'
import { OperatorError } from '../lib/operator-error.js'
import type { PageAddress } from '../messages/letters.js'
import type { Database } from '../platform/database/database.js'
import { accountName } from '../platform/database/postgres-address.js'
import type { Rooms } from '../service/open-rooms.js'
import type { Environment } from '../settings/config.js'
import type { BulkUsers } from '../users/bulk.js'
import { type EmailRefusal, readEmail } from '../users/names.js'

/** The password functions that commands need: the rules, and the hash. */
export type CommandPasswords = {
  /** The messages of the rules that the password breaks; an empty list if it breaks none. */
  faults(password: string, about: { username: string; email: string; name: string | null }): Promise<string[]>
  hash(password: string): Promise<string>
}

/** The nouns of the service, and parts that only commands need. */
export type CommandNouns = Omit<Rooms, 'passwords'> &
  AdminRoom & {
    database: Database
    clock: Clock
    bulkUsers: BulkUsers
    secondFactor: 'optional' | 'required'
    passwords: CommandPasswords
    /** Whether the service may send logout notices to an IP address. */
    backchannelMayReach(address: string): boolean
    /** Makes the URL of one of our pages, for links. */
    pageAddress: PageAddress
    close(): Promise<void>
  }

export type Terminal = {
  stdin: Readable & { isTTY?: boolean; setRawMode?(mode: boolean): unknown }
  stdout: Writable & { isTTY?: boolean }
  stderr: Writable & { isTTY?: boolean; columns?: number }
}

/** The service's own role, or the owner of the tables. */
export type DatabaseRole = 'service role' | 'table owner'

export type CommandContext = Terminal & {
  environment: Environment
  /** Which names of a `.env` file count, and which are left to other programs. */
  envFileRemarks: readonly string[]
  /** The settings of the running service, if one has its own database open; otherwise those of `environment`. */
  settings(): Promise<Environment>
  /** Opens the database in this role, and migrates it. A command calls this at most once. */
  openNouns(role: DatabaseRole): Promise<CommandNouns>
}

/** `run` returns the exit code: 0 for success, 1 if something failed, 2 for wrong arguments. */
export type Command = {
  summary: string
  help: string
  /** The output cannot be shown again, so the command fails if it could not be written. */
  printsOnce?: true
  run(args: string[], context: CommandContext): Promise<number>
}

/** The command was called wrongly. */
export class UsageFault extends Error {
  override name = 'UsageFault'
}

/** The command could not be done for a reason that is no bug: no such user, no such file. */
export class CommandFailure extends OperatorError {
  override name = 'CommandFailure'
}

type Options = NonNullable<ParseArgsConfig['options']>

/**
 * Keeps only the first sentence of Node's message: the others do not fit our commands. A name that begins with a dash looks like an
 * option, so the message says how to write such a name.
 */
const parseFault = (error: unknown, args: readonly string[]) => {
  const [sentence] = error instanceof Error ? error.message.split(/\.\s|\.?\n/) : []
  const message = `${sentence ?? 'The arguments were not understood'}.`
  const isValueFault = error instanceof Error && 'code' in error && error.code === 'ERR_PARSE_ARGS_INVALID_OPTION_VALUE'
  const [, option] = /'(?:-\w, )?(--[\w-]+)/.exec(message) ?? []
  if (isValueFault && option && message.includes('ambiguous'))
    return `${message} Write a value with a leading dash as ${option}=VALUE.`
  return args.some((arg) => /^-[^-]/.test(arg))
    ? `${message} If a name begins with a dash, write it last, after --.`
    : message
}

/** `positionals` are the names of the arguments. One in brackets, such as `[USER]`, may be left out. */
export const readArguments = <CommandOptions extends Options>(
  args: string[],
  options: CommandOptions,
  positionals: readonly string[],
) => {
  const parse = () => {
    try {
      return parseArgs({ args, options, allowPositionals: true, strict: true, tokens: true })
    } catch (error) {
      throw new UsageFault(parseFault(error, args))
    }
  }
  const result = parse()
  const optionNames = result.tokens.flatMap((token) =>
    token.kind === 'option' && !options[token.name]?.multiple ? [token.name] : [],
  )
  const repeatedOption = optionNames.find((name, index) => optionNames.indexOf(name) !== index)
  if (repeatedOption !== undefined) throw new UsageFault(`--${repeatedOption} is given twice.`)
  const missingArgument = positionals.find((name, index) => {
    const given = result.positionals[index]
    return given === undefined ? !name.startsWith('[') : given.trim() === ''
  })
  if (missingArgument) throw new UsageFault(`${missingArgument.replaceAll(/[[\]]/g, '')} is missing.`)
  const extraArgument = result.positionals[positionals.length]
  if (extraArgument !== undefined) throw new UsageFault(`There is one argument too many: ${extraArgument}.`)
  return result
}

/** The failure for a username or an email address that the operator has typed. */
export const inputFault = ({ refused }: Refused<EmailRefusal | UsernameRefusal>) =>
  new CommandFailure(`${refusals[refused].message}.`)

export const emailFrom = (text: string) => {
  const email = readEmail(text)
  if (isRefused(email)) throw inputFault(email)
  return email
}

/** The value of --limit. */
export const limitFrom = (text: string, max: number) => {
  const limit = Number(text)
  if (!/^\d+$/.test(text) || limit < 1 || limit > max) throw new UsageFault(`--limit takes a number from 1 to ${max}.`)
  return limit
}

/** The system account that runs the command, or its number if it has no name; with sudo, also the account that called sudo. */
export const operatorName = (env: Environment, account = accountName() ?? '') => {
  const ownName = account || `uid ${process.getuid?.() ?? 'unknown'}`
  return env.SUDO_USER && env.SUDO_USER !== ownName ? `${env.SUDO_USER} as ${ownName}` : ownName
}

/** The operator, as the client whom the events and mails of a command name. */
export const operator = ({ environment }: CommandContext) => operatorClient(operatorName(environment))

/** Opens the database, gives its nouns to `work`, and closes the database, also if `work` fails. */
export const withNouns = async <Result>(
  context: CommandContext,
  role: DatabaseRole,
  work: (nouns: CommandNouns) => Promise<Result>,
) => {
  const nouns = await context.openNouns(role)
  try {
    return await work(nouns)
  } finally {
    await nouns.close()
  }
}

/** These codes mean that the reader has closed the pipe. */
const closedPipeCodes = new Set<unknown>(['EPIPE', 'ERR_STREAM_DESTROYED'])

/** The output of a command could not be written. */
export class OutputFailure extends Error {
  override name = 'OutputFailure'
  readonly stream: Writable
  readonly isPipeClosed: boolean
  constructor(stream: Writable, cause: Error) {
    super(cause.message, { cause })
    this.stream = stream
    this.isPipeClosed = 'code' in cause && closedPipeCodes.has(cause.code)
  }
}

/** Waits until the text is written, so that an export into a slow pipe does not fill the memory. */
export const write = (stream: Writable, text: string) =>
  new Promise<void>((resolve, reject) => {
    stream.write(text, (error) => (error ? reject(new OutputFailure(stream, error)) : resolve()))
  })

export const print = (stream: Writable, line: string) => write(stream, `${line}\n`)

/** The user with this username, email or id. Throws if it is the id of one user and the username of another, who chose it. */
export const findUser = async ({ users }: Pick<CommandNouns, 'users'>, userName: string) => {
  const user = await users.findNamed(userName)
  const namesake = user && (await users.findByLogin(userName))
  if (namesake && namesake.id !== user.id)
    throw new CommandFailure(
      `${userName} is the id of ${user.username}, and ${namesake.email} has chosen it as username: name the user by email.`,
    )
  return user
}

export const requireUser = async (nouns: Pick<CommandNouns, 'users'>, userName: string) => {
  const user = await findUser(nouns, userName)
  if (!user) throw new CommandFailure(`There is no user ${JSON.stringify(userName)}.`)
  return user
}

/** Returns the outcome of a change, or throws if the user was deleted after the command had found them. */
export const throwIfDeleted = <Outcome>(outcome: Outcome, username: string) => {
  if (isRefused(outcome) && outcome.refused === 'no_user')
    throw new CommandFailure(`${username} was deleted in the meantime.`)
  return outcome as Exclude<Outcome, Refused<'no_user'>>
}

export const groupNameFrom = (text: string) => {
  if (!isGroupName(text))
    throw new UsageFault(
      'A group has 1 to 32 characters: small letters, digits, dots, underscores and hyphens, with a letter or a digit first.',
    )
  return text
}

/** Fails if one of the groups does not exist, for example after a typing error. */
export const requireGroups = async ({ database, groups }: CommandNouns, names: readonly string[]) => {
  const existing = await database.transaction((sql) => groups.hold(sql, names))
  const unknown = names.find((name) => !existing.includes(name))
  if (unknown !== undefined)
    throw new CommandFailure(`There is no group ${unknown}. \`latchkey group list\` names all groups.`)
}

import type { Readable, Writable } from 'node:stream'
import { type ParseArgsConfig, parseArgs } from 'node:util'
import type { AdminRoom } from '../admin/open-admin.js'
import { isGroupName } from '../contract/groups.js'
import { isRefused, type Refused } from '../contract/outcome.js'
import { refusals } from '../contract/refusals.js'
import type { UsernameRefusal } from '../contract/usernames.js'
import { operatorClient } from '../http/request-origin.js'
import { codeOf } from '../lib/caught.js'
import type { Clock } from '../lib/clock.js'
import { OperatorError } from '../lib/operator-error.js'
import type { PageAddress } from '../messages/letters.js'
import type { Database } from '../platform/database/database.js'
import { accountName } from '../platform/database/postgres-address.js'
import type { Rooms } from '../service/open-rooms.js'
import type { Environment } from '../settings/config.js'
import type { BulkUsers } from '../users/bulk.js'
import { type EmailRefusal, readEmail } from '../users/names.js'
import { inColumn, printableJson } from './terminal/printing.js'

/** The password functions that commands need: the rules, and the hash. */
export type CommandPasswords = {
  /** The messages of the rules that the password breaks; an empty list if it breaks none. */
  faults(password: string, about: { username: string; email: string; name: string | null }): Promise<string[]>
  hash(password: string): Promise<string>
}

/** The rooms of the service, and parts that only commands need. */
export type CommandRooms = Omit<Rooms, 'passwords'> &
  AdminRoom & {
    database: Database
    clock: Clock
    bulkUsers: BulkUsers
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
  openRooms(role: DatabaseRole): Promise<CommandRooms>
}

type OptionTypes = NonNullable<ParseArgsConfig['options']>

/** What --json prints. Every command has it, or says why not. */
type JsonShape = string | { inHelp: string } | { none: string }

const hasJson = (json: JsonShape) => typeof json === 'string' || 'inHelp' in json

/** `run` returns the exit code: 0 for success, 1 if something failed, 2 for wrong arguments, 3 for a plan that has changes. */
export type Command = {
  summary: string
  help: string
  /** The names of the arguments, and the options but --json. */
  args: readonly string[]
  options: OptionTypes
  json: JsonShape
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

/**
 * Keeps only the first sentence of Node's message: the others do not fit our commands. A name that begins with a dash looks like an
 * option, so the message says how to write such a name.
 */
const parseFault = (error: unknown, args: readonly string[]) => {
  const [sentence] = error instanceof Error ? error.message.split(/\.\s|\.?\n/) : []
  const message = `${sentence ?? 'The arguments were not understood'}.`
  const isValueFault = codeOf(error) === 'ERR_PARSE_ARGS_INVALID_OPTION_VALUE'
  const [, option] = /'(?:-\w, )?(--[\w-]+)/.exec(message) ?? []
  if (isValueFault && option && message.includes('ambiguous'))
    return `${message} Write a value with a leading dash as ${option}=VALUE.`
  return args.some((arg) => /^-[^-]/.test(arg))
    ? `${message} If a name begins with a dash, write it last, after --.`
    : message
}

/** `positionals` are the names of the arguments. One in brackets, such as `[USER]`, may be left out. */
export const readArguments = <CommandOptions extends OptionTypes>(
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

/** Opens the rooms on the database, and closes them, also if `work` fails. */
export const withRooms = async <Result>(
  context: CommandContext,
  role: DatabaseRole,
  work: (rooms: CommandRooms) => Promise<Result>,
) => {
  const rooms = await context.openRooms(role)
  try {
    return await work(rooms)
  } finally {
    await rooms.close()
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

const jsonOption = { json: { type: 'boolean' } } as const

type NoOptions = Record<never, never>

type Arguments<Names extends readonly string[]> = {
  [At in keyof Names]: Names[At] extends `[${string}` ? string | undefined : string
}

/** What the operator has typed. */
type Given<Names extends readonly string[], Options extends OptionTypes> = {
  args: Arguments<Names>
  values: ReturnType<typeof readArguments<Options & typeof jsonOption>>['values']
  context: CommandContext
}

/** The result of a command. With `lines`, --json prints an object on each line. */
export type Output = ({ json: object } | { lines: readonly object[] }) & {
  text: string | undefined
  /** For standard error, so that they do not mix with what a program reads. */
  notes?: readonly string[]
  /** 0 if it is not named. */
  code?: number
}

type Description<Names extends readonly string[], Options extends OptionTypes> = {
  summary: string
  /** Ends with the options: the line of --json is added below them. */
  help: string
  /** The shape that --json prints. `inHelp`: the help has the option in its own words. `none`: why there is no such option. */
  json: JsonShape
  printsOnce?: true
  /** The names of the arguments. One in brackets, such as `[USER]`, may be left out. */
  args?: Names
  options?: Options
}

type RoomsDescription<Names extends readonly string[], Options extends OptionTypes, Read> = Description<
  Names,
  Options
> & {
  role?: DatabaseRole
  /** Reads what can be wrong in the arguments, before a database is opened. `run` gets the result with the rest. */
  read?(given: Given<Names, Options>): Read | Promise<Read>
  /** A number is the exit code of a command that has printed by itself. */
  run(rooms: CommandRooms, given: Given<Names, Options> & Read & { operator: Operator }): Promise<Output | number>
}

export type Operator = ReturnType<typeof operator>

/** In the column of the other options, or of what else the help lists. */
const withJsonHelp = (help: string, json: JsonShape) => {
  if (typeof json !== 'string') return help
  const column = /^ {2}\S.*? {2,}(?=\S)/m.exec(help)?.[0].length ?? '  --json    '.length
  return `${help}${/^ {2}--/m.test(help) ? '\n' : '\n\n'}${'  --json'.padEnd(column)}${json.includes('\n') ? json : inColumn(json, column)}`
}

const printOutput = async ({ stdout, stderr }: CommandContext, asJson: boolean, output: Output | number) => {
  if (typeof output === 'number') return output
  const { text, notes = [], code = 0 } = output
  if (asJson)
    for (const each of 'lines' in output ? output.lines : [output.json]) await print(stdout, printableJson(each))
  else if (text !== undefined) await print(stdout, text)
  for (const note of notes) await print(stderr, note)
  return code
}

/** The frame of every command: its arguments, its help, and how its result is printed. */
const framed = <const Names extends readonly string[], const Options extends OptionTypes>(
  { summary, help, json, printsOnce, args, options }: Description<Names, Options>,
  work: (given: Given<Names, Options>, finish: (output: Output | number) => Promise<number>) => Promise<number>,
): Command => ({
  summary,
  help: withJsonHelp(help, json),
  args: args ?? [],
  options: options ?? {},
  json,
  ...(printsOnce && { printsOnce }),
  run: async (typed, context) => {
    const { positionals, values } = readArguments(
      typed,
      { ...options, ...(hasJson(json) && jsonOption) } as Options & typeof jsonOption,
      args ?? [],
    )
    const given = { args: positionals as unknown as Arguments<Names>, values, context }
    return work(given, (output) => printOutput(context, 'json' in values && values.json === true, output))
  },
})

/** A command that opens the rooms of the service, works in them and closes them. */
export const command = <
  const Names extends readonly string[] = [],
  const Options extends OptionTypes = NoOptions,
  Read extends object = object,
>({
  role = 'service role',
  read,
  run,
  ...description
}: RoomsDescription<Names, Options, Read>): Command =>
  framed(description, async (given, finish) => {
    const whatWasRead = (await read?.(given)) as Read
    return withRooms(given.context, role, async (rooms) =>
      finish(await run(rooms, { ...given, ...whatWasRead, operator: operator(given.context) })),
    )
  })

/** A command that needs no database. */
export const commandWithoutRooms = <
  const Names extends readonly string[] = [],
  const Options extends OptionTypes = NoOptions,
>({
  run,
  ...description
}: Description<Names, Options> & { run(given: Given<Names, Options>): Promise<Output | number> }): Command =>
  framed(description, async (given, finish) => finish(await run(given)))

/** The user with this username, email or id. Throws if it is the id of one user and the username of another, who chose it. */
export const findUser = async ({ users }: CommandRooms, userName: string) => {
  const user = await users.findNamed(userName)
  const namesake = user && (await users.findByLogin(userName))
  if (namesake && namesake.id !== user.id)
    throw new CommandFailure(
      `${userName} is the id of ${user.username}, and ${namesake.email} has chosen it as username: name the user by email.`,
    )
  return user
}

export const requireUser = async (rooms: CommandRooms, userName: string) => {
  const user = await findUser(rooms, userName)
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
export const requireGroups = async ({ database, groups }: CommandRooms, names: readonly string[]) => {
  const existing = await database.transaction((sql) => groups.hold(sql, names))
  const unknown = names.find((name) => !existing.includes(name))
  if (unknown !== undefined)
    throw new CommandFailure(`There is no group ${unknown}. \`latchkey group list\` names all groups.`)
}

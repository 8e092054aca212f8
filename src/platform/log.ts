import { type DestinationStream, pino } from 'pino'
import { escapeTerminalControls } from '../lib/text.js'

const isRecord = (value: unknown): value is Record<string, unknown> => typeof value === 'object' && value !== null

const inOneLine = (text: string) => text.replaceAll(/\p{Cc}/gu, ' ')

/** Writes words and numbers as they are, and everything else as JSON, so that what a user sent cannot look like another field. */
const asText = (value: unknown) =>
  typeof value === 'string' && /^[\w./:@+-]+$/.test(value) ? value : JSON.stringify(value)

/** The stack of an error. Its lines are indented, so that none of them looks like a line of the log. */
const stackOf = (err: unknown) => {
  const text = isRecord(err) ? String(err.stack ?? err.message) : ''
  const lines = text.split('\n').map((line) => `\n    ${inOneLine(line)}`)
  return text === '' ? '' : lines.join('')
}

/** One readable line from one JSON line of the log: `07:40:12 info  message name=value`. */
const plainLine = (line: string) => {
  const { time, level, msg, err, ...fields }: Record<string, unknown> = JSON.parse(line)
  const rest = Object.entries(fields).map(([name, value]) => ` ${name}=${asText(value)}`)
  const text = `${String(level).padEnd(5)} ${inOneLine(String(msg))}${rest.join('')}`
  return `${String(time).slice(11, 19)} ${text}${stackOf(err)}\n`
}

export type Log = ReturnType<typeof createLog>

/** Names of fields that may hold a secret. Secrets should never be logged, so this is a safety net. */
const secretNames = ['password', 'token', 'secret', 'cookie', 'authorization', 'set-cookie']

// A `code` at the top level is a secret; inside an error it is the kind of the error.
const redactedPaths = ['code', ...secretNames.flatMap((name) => [`["${name}"]`, `*["${name}"]`, `*.*["${name}"]`])]

/** An error without the extra fields of its library, because parameters, queries and details may hold what users typed. */
const describeError = (error: unknown): object => {
  if (!(error instanceof Error)) return { message: typeof error }
  const code = 'code' in error && typeof error.code === 'string' ? { code: error.code } : {}
  const cause = error.cause === undefined ? {} : { cause: describeError(error.cause) }
  return { type: error.name, message: error.message, ...code, stack: error.stack, ...cause }
}

const maxUnwrittenBytes = 1_000_000

type LogFormat = 'json' | 'plain'

type LogOptions = {
  level: string
  format?: LogFormat
  destination?: DestinationStream | undefined
  /** Adds the process id to each line, if several processes write one log. */
  withPid?: boolean
}

/** A log that cannot be written, because its terminal is closed or its disk is full, must not end the service. */
const standardOutput = () => {
  const output = pino.destination({ sync: true, maxLength: maxUnwrittenBytes })
  output.on('error', () => undefined)
  return output
}

/** Each line is one JSON object, so that what users send is escaped. Plain lines for a terminal are made from these lines. */
export const createLog = ({ level, format = 'json', destination, withPid = false }: LogOptions) =>
  pino(
    {
      level,
      base: withPid ? { pid: process.pid } : undefined,
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
      redact: { paths: redactedPaths, censor: '[hidden]' },
      serializers: { err: describeError },
      hooks: {
        streamWrite: (line) => escapeTerminalControls(format === 'plain' ? plainLine(line) : line),
      },
    },
    destination ?? standardOutput(),
  )

/** The log of a command. Warnings go to standard error, because the output of the command may go to a file. */
export const commandLog = () => createLog({ level: 'warn', format: 'plain', destination: process.stderr })

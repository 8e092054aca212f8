import { type DestinationStream, pino } from 'pino'
import { escapeTerminalControls } from '../lib/text.js'
import { plainLine } from './plain-lines.js'

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

import { type DestinationStream, pino } from 'pino'

export type Log = ReturnType<typeof createLog>

/** Names under which something secret could ever reach a log line; none should, and these make sure. */
const secretNames = ['password', 'token', 'code', 'secret', 'cookie', 'authorization', 'set-cookie']
const redacted = secretNames.flatMap((name) => [`["${name}"]`, `*["${name}"]`, `*.*["${name}"]`])

/** An error without what its library attached to it: parameters, queries and details may hold what users typed. */
const describe = (error: unknown): object => {
  if (!(error instanceof Error)) return { message: typeof error }
  const code = 'code' in error && typeof error.code === 'string' ? { code: error.code } : {}
  const cause = error.cause === undefined ? {} : { cause: describe(error.cause) }
  return { type: error.name, message: error.message, ...code, stack: error.stack, ...cause }
}

/** One JSON object a line: what users send is escaped by that alone. */
export const createLog = ({ level, destination }: { level: string; destination?: DestinationStream | undefined }) =>
  pino(
    {
      level,
      base: undefined,
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
      redact: { paths: redacted, censor: '[hidden]' },
      serializers: { err: describe },
    },
    destination ?? pino.destination({ sync: true }),
  )

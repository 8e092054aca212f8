import type { Duplex } from 'node:stream'
import postgres from 'postgres'
import { columnTypes } from './column-types.js'
import { StoreUnavailable } from './database.js'
import { explainFailure } from './failures.js'

/** One connection. Statements run one at a time; a connection that broke or hung is never used again. */
export type Session = {
  query<Row>(text: string, parameters?: readonly unknown[]): Promise<Row[]>
  /** Several statements in one text. Answers with the last one's command tag, such as COMMIT. */
  script(text: string): Promise<string>
  isOpen(): boolean
  readonly openedAt: number
  end(): Promise<void>
  destroy(reason: Error): void
}

type Options = {
  /** A connected stream that speaks PostgreSQL's protocol: a socket, or the pipe to the embedded database. */
  stream: Duplex
  user: string
  password: string
  database: string
  parameters: Record<string, string | number>
  deadlineMs: number
  onClosed(session: Session, hung: boolean): void
}

export const createSession = ({ stream, onClosed, deadlineMs, ...credentials }: Options): Session => {
  const client = createClient(stream, credentials)
  let open = true
  let hung = false
  let last: Promise<unknown> = Promise.resolve()
  let abandon: ((reason: Error) => void) | undefined

  // The driver attaches its own listeners a moment later, and an error that nobody listens for ends the process.
  stream.on('error', () => undefined)
  const closed = new Promise<void>((resolve) => {
    stream.once('close', () => {
      open = false
      abandon?.(new StoreUnavailable('The connection to the database broke'))
      onClosed(session, hung)
      resolve()
    })
  })

  const giveUp = () => {
    hung = true
    session.destroy(new StoreUnavailable('The database did not answer in time'))
  }

  // Whatever the driver does or forgets to do, a statement settles: by its answer, the deadline or the connection's end.
  const run = <Result>(statement: () => Promise<Result>) =>
    new Promise<Result>((resolve, reject) => {
      if (!open) return reject(new StoreUnavailable('The connection to the database is closed'))
      const deadline = afterArrivals(giveUp, deadlineMs)
      const settle = () => {
        deadline.clear()
        abandon = undefined
      }
      abandon = (reason) => {
        settle()
        reject(reason)
      }
      statement().then(
        (result) => {
          settle()
          resolve(result)
        },
        (thrown: unknown) => {
          settle()
          const { error, connectionIsSpent } = explainFailure(thrown, open)
          if (connectionIsSpent) session.destroy(new StoreUnavailable('The connection to the database is spent'))
          reject(error)
        },
      )
    })

  // In turn, because the driver blames the wrong statement when a parameter cannot be written while others are under way.
  const inTurn = <Result>(statement: () => Promise<Result>): Promise<Result> => {
    const turn = last.then(() => run(statement))
    last = turn.catch(() => undefined)
    return turn
  }

  const session: Session = {
    query: (text, parameters = []) => inTurn(() => execute(client, text, parameters)),
    script: (text) => inTurn(async () => commandOf(await client.unsafe(text).simple())),
    isOpen: () => open,
    openedAt: performance.now(),
    end: async () => {
      open = false
      await client.end({ timeout: 5 })
      stream.destroy()
      await closed
    },
    destroy: (reason) => {
      open = false
      abandon?.(reason)
      stream.destroy(reason)
    },
  }
  return session
}

/**
 * Fires after the answers that have already arrived were read. When this process itself was busy for longer than the
 * deadline, timers come before the network, and healthy connections would be taken for hung ones.
 */
const afterArrivals = (fire: () => void, ms: number) => {
  let immediate: NodeJS.Immediate | undefined
  const timer = setTimeout(() => {
    immediate = setImmediate(fire)
  }, ms)
  return {
    clear: () => {
      clearTimeout(timer)
      if (immediate) clearImmediate(immediate)
    },
  }
}

type Client = ReturnType<typeof createClient>

const createClient = (stream: Duplex, { user, password, database, parameters }: Credentials) => {
  let taken = false
  const options: postgres.Options<typeof columnTypes> & { socket(): Duplex } = {
    host: 'session',
    user,
    password,
    database,
    connection: parameters,
    types: columnTypes,
    max: 1,
    // The pool decides about lifetimes and reconnects; the driver only speaks the protocol over the stream it is given.
    idle_timeout: 0,
    max_lifetime: 0,
    connect_timeout: 0,
    ssl: false,
    fetch_types: false,
    onnotice: () => undefined,
    socket: () => {
      if (taken) throw new StoreUnavailable('The connection to the database broke')
      taken = true
      return stream
    },
  }
  return postgres(options)
}

type Credentials = Pick<Options, 'user' | 'password' | 'database' | 'parameters'>

// Type 0 leaves every parameter's type to the server, so that a statement is prepared once whatever its values are.
const execute = async <Row>(client: Client, text: string, parameters: readonly unknown[]): Promise<Row[]> => {
  if (parameters.includes(undefined)) throw new TypeError('A parameter is undefined: pass null for nothing')
  const typed = parameters.map((value) => client.typed(value as never, 0))
  const options: { prepare: boolean; simple: boolean } = { prepare: true, simple: false }
  // The driver's result is an array with more on it; what goes on is the array.
  return Array.from(await client.unsafe<(Row & object)[]>(text, typed, options))
}

const commandOf = (result: { command?: string }[] | { command?: string }) => {
  const last = Array.isArray(result) && !('command' in result) ? result.at(-1) : result
  return (last as { command?: string } | undefined)?.command ?? ''
}

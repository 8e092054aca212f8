import { createHash } from 'node:crypto'
import { Client, type ClientConfig } from 'pg'
import { withTimeout } from '../../lib/with-timeout.js'
import { cancelStatement, keyOf } from './cancel-statement.js'
import { StoreUnavailable } from './database.js'
import { explainFailure } from './failures.js'
import { columnTypes, writeParameters } from './values.js'

/** One connection. Statements run one at a time; a connection that broke or hung is never used again. */
export type Connection = {
  query<Row>(text: string, parameters?: readonly unknown[]): Promise<Row[]>
  /** Several statements in one text. Answers with the last one's command tag, such as COMMIT. */
  script(text: string): Promise<string>
  /** From here on the server may keep prepared statements for this connection. */
  keepStatements(): void
  isOpen(): boolean
  /** The number of the server's process, as it was told when the connection was made. */
  readonly processId: number | null
  readonly openedAt: number
  end(): Promise<void>
  destroy(reason: Error): void
  /** For a server that does not answer in time. It is asked to end what it is doing. */
  giveUp(): void
}

export type OnClosed = (connection: Connection, hung: boolean) => void

type Dependencies = {
  client: ClientConfig
  /** Past this a server that has not answered is taken for hung. Its own timeouts come first. */
  deadlineMs: number
  onClosed: OnClosed
}

const endMs = 5_000

export const openConnection = async ({ client: config, deadlineMs, onClosed }: Dependencies): Promise<Connection> => {
  const client = new Client({ ...config, types: columnTypes })
  let isKnown = false
  let open = false
  let hung = false
  let keeps = false
  let last: Promise<unknown> = Promise.resolve()

  // Told before the statement under way fails, so that whoever comes next already knows.
  const tell = () => {
    open = false
    if (isKnown) onClosed(connection, hung)
    isKnown = false
  }
  const destroy = (reason: Error) => {
    tell()
    client.connection.stream.destroy(reason)
  }
  const giveUp = () => {
    hung = true
    cancelStatement(client, config)
    destroy(new StoreUnavailable('The database did not answer in time'))
  }
  // The driver tells every statement under way. An error event that nobody listens for would end the process.
  client.on('error', destroy)
  const closed = new Promise<void>((resolve) => {
    client.on('end', () => {
      tell()
      resolve()
    })
  })

  const run = async <Result>(statement: () => Promise<Result>): Promise<Result> => {
    if (!open) throw new StoreUnavailable('The connection to the database is closed')
    const result = statement()
    try {
      return await withTimeout(result, deadlineMs, () => {
        giveUp()
        return result
      })
    } catch (thrown) {
      const { error, connectionIsSpent } = explainFailure(thrown, open)
      if (connectionIsSpent) destroy(new StoreUnavailable('The connection to the database is spent'))
      throw error
    }
  }

  const inTurn = <Result>(statement: () => Promise<Result>): Promise<Result> => {
    const turn = last.then(() => run(statement))
    last = turn.catch(() => undefined)
    return turn
  }

  const connection: Connection = {
    query: (text, parameters = []) => inTurn(() => execute(client, text, parameters, keeps)),
    script: (text) => inTurn(async () => commandOf(await client.query(text))),
    keepStatements: () => {
      keeps = true
    },
    isOpen: () => open,
    get processId() {
      return keyOf(client).processID
    },
    openedAt: performance.now(),
    end: async () => {
      open = false
      // A hung server never says goodbye.
      const ended = client.end().then(() => closed)
      await withTimeout(ended, endMs, () => {
        client.connection.stream.destroy()
        return ended
      })
    },
    destroy,
    giveUp,
  }

  try {
    await client.connect()
    isKnown = true
    open = true
    return connection
  } catch (error) {
    client.connection.stream.destroy()
    throw error
  }
}

// "extended" also without parameters, so that one text is one statement.
const execute = async <Row>(client: Client, text: string, parameters: readonly unknown[], keeps: boolean) => {
  const name = keeps && !readsAnyColumns.test(text) ? nameOf(text) : undefined
  const statement = { name, text, values: writeParameters(text, parameters), queryMode: 'extended' }
  const { rows } = await client.query<Row & object>(statement)
  return rows
}

// A migration may change what these answer, and then the server refuses the statement as it was prepared.
const readsAnyColumns = /(select|returning)\s+(\w+\.)?\*/i

const names = new Map<string, string>()

/** The same text has the same name everywhere: who meets another's prepared statement meets the same statement. */
const nameOf = (text: string) => {
  const known = names.get(text) ?? createHash('sha256').update(text).digest('base64url')
  names.set(text, known)
  return known
}

const commandOf = (result: { command: string } | { command: string }[]) =>
  (Array.isArray(result) ? result.at(-1) : result)?.command ?? ''

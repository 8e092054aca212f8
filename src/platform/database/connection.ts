import { createHash } from 'node:crypto'
import { Client, type ClientConfig } from 'pg'
import { withTimeout } from '../../lib/with-timeout.js'
import { cancelStatement, keyOf } from './cancel-statement.js'
import { StoreUnavailable } from './database.js'
import { explainFailure } from './failures.js'
import { columnTypes, writeParameters } from './values.js'

/** One connection. Statements run one at a time. A connection that broke or hung is not used again. */
export type Connection = {
  query<Row>(text: string, parameters?: readonly unknown[]): Promise<Row[]>
  /** Several statements in one text. Returns the command tag of the last one, such as COMMIT. */
  script(text: string): Promise<string>
  /** From here on the server may keep prepared statements for this connection. */
  keepStatements(): void
  isOpen(): boolean
  /** The id of the server's process, from the start of the connection. */
  readonly processId: number | null
  readonly openedAt: number
  end(): Promise<void>
  destroy(reason: Error): void
  /** For a server that does not answer in time. It is also asked to cancel the statement. */
  giveUp(): void
}

export type OnClosed = (connection: Connection, hung: boolean) => void

type Dependencies = {
  client: ClientConfig
  /** After this time without an answer the server counts as hung. Its own timeouts are shorter. */
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

  // Reported before the statement under way fails, so that the next caller gets another connection.
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
  // The driver rejects every statement under way. An error event without a listener would end the process.
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
      const { error, connectionIsUnusable } = explainFailure(thrown, open)
      if (connectionIsUnusable) destroy(new StoreUnavailable('The connection to the database cannot be used any more'))
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
      // A hung server never closes the connection.
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

// A migration may change the columns of these, and then the server refuses the prepared statement.
const readsAnyColumns = /(select|returning)\s+(\w+\.)?\*/i

const names = new Map<string, string>()

/** The same text has the same name everywhere: a name that another client has prepared is the same statement. */
const nameOf = (text: string) => {
  const known = names.get(text) ?? createHash('sha256').update(text).digest('base64url')
  names.set(text, known)
  return known
}

const commandOf = (result: { command: string } | { command: string }[]) =>
  (Array.isArray(result) ? result.at(-1) : result)?.command ?? ''

import { createHash } from 'node:crypto'
import { Client, type ClientConfig, type Submittable } from 'pg'
import { withTimeout } from '../../lib/with-timeout.js'
import { withProcessKey } from './cancel-statement.js'
import { createConnectionLife } from './connection-life.js'
import { StoreUnavailable } from './database.js'
import { explainFailure } from './failures.js'
import { columnTypes, jsonParametersOf, writeParameters } from './values.js'

/** One connection. Statements run one at a time. A connection that broke or hung is not used again. */
export type Connection = {
  query<Row>(text: string, parameters?: readonly unknown[]): Promise<Row[]>
  /** Several statements in one text. Returns the command tag of the last one, such as COMMIT. */
  script(text: string): Promise<string>
  /** Starts a query of another package, such as a COPY that streams. Nothing else may use the connection until it has ended. */
  submit<Query extends Submittable>(query: Query): Query
  /** From now on, statements of this connection are prepared once and kept by the server. */
  keepStatements(): void
  /**
   * Brings the connection back to its state after opening: everything that was set, prepared, locked or created for this session is gone.
   */
  reset(): Promise<void>
  isOpen(): boolean
  /** The id of the server's process, as the server (or a pooler in front of it) named it when the connection was opened. */
  readonly processId: number | null
  readonly openedAt: number
  end(): Promise<void>
  destroy(reason: Error): void
  /** Closes the connection to a server that does not answer in time, and asks the server to cancel the statement. */
  giveUp(): void
}

export type OnClosed = (connection: Connection, hung: boolean) => void

type Dependencies = {
  client: ClientConfig
  /** After this time without an answer the server counts as hung. Its own timeouts are shorter. */
  deadlineMs: number
  onClosed: OnClosed
}

export const openConnection = async ({ client: config, deadlineMs, onClosed }: Dependencies): Promise<Connection> => {
  const client = new Client({ ...config, types: columnTypes })
  const life = createConnectionLife(client, config, (hung) => onClosed(connection, hung))
  let keepsStatements = false
  let lastStatement: Promise<unknown> = Promise.resolve()

  const run = async <Result>(statement: () => Promise<Result>): Promise<Result> => {
    if (!life.isOpen()) throw new StoreUnavailable('The connection to the database is closed')
    const result = statement()
    try {
      return await withTimeout(result, deadlineMs, () => {
        life.giveUp()
        return result
      })
    } catch (thrown) {
      const { error, connectionIsUnusable } = explainFailure(thrown, life.isOpen())
      if (connectionIsUnusable)
        life.destroy(new StoreUnavailable('The connection to the database cannot be used any more'))
      throw error
    }
  }

  const inTurn = <Result>(statement: () => Promise<Result>): Promise<Result> => {
    const turn = lastStatement.then(() => run(statement))
    lastStatement = turn.catch(() => undefined)
    return turn
  }

  const connection: Connection = {
    query: (text, parameters = []) => inTurn(() => execute(client, text, parameters, keepsStatements)),
    script: (text) => inTurn(async () => commandOf(await client.query(text))),
    submit: (query) => client.query(query),
    keepStatements: () => {
      keepsStatements = true
    },
    reset: () =>
      inTurn(async () => {
        // `discard all` of the embedded database does not reset the role of the session, because it does not know who opened it.
        await client.query(`set session authorization ${client.escapeIdentifier(client.user ?? '')}`)
        await client.query('discard all')
        forgetPrepared(client)
      }),
    isOpen: life.isOpen,
    get processId() {
      return withProcessKey(client).processID
    },
    openedAt: performance.now(),
    end: life.end,
    destroy: life.destroy,
    giveUp: life.giveUp,
  }

  try {
    await client.connect()
    life.markOpened()
    return connection
  } catch (error) {
    client.connection.stream.destroy()
    throw error
  }
}

// The extended protocol is used without parameters, too, because it allows only one statement in a text.
const execute = async <Row>(client: Client, text: string, parameters: readonly unknown[], keepsStatements: boolean) => {
  const { name, jsonParameters } = readStatement(text)
  const values = writeParameters(parameters, jsonParameters)
  const statement = { name: keepsStatements ? name : undefined, text, values, queryMode: 'extended' }
  const { rows } = await client.query<Row & object>(statement)
  return rows
}

/** Empties the driver's lists of prepared statements, so that it prepares them again. The lists are not in its types. */
const forgetPrepared = ({ connection }: Client) =>
  Object.assign(connection, { parsedStatements: {}, submittedNamedStatements: {} })

// Such a statement is not prepared: a migration may change its columns, and then the server would refuse it.
const readsAnyColumns = /(select|returning)\s+(\w+\.)?\*/i

/** The name is a hash of the text, so a name that another client has prepared stands for the same statement. */
const nameOf = (text: string) =>
  readsAnyColumns.test(text) ? undefined : createHash('sha256').update(text).digest('base64url')

type Statement = { name: string | undefined; jsonParameters: ReadonlySet<number> }

const statements = new Map<string, Statement>()

/** Reads facts about a statement from its text, once for each text: a refresh would spend more time on that than on its parameters. */
const readStatement = (text: string): Statement => {
  const known = statements.get(text) ?? { name: nameOf(text), jsonParameters: jsonParametersOf(text) }
  statements.set(text, known)
  return known
}

const commandOf = (result: { command: string } | { command: string }[]) =>
  (Array.isArray(result) ? result.at(-1) : result)?.command ?? ''

import { createHash } from 'node:crypto'
import { Client, type ClientConfig } from 'pg'
import { withTimeout } from '../../lib/with-timeout.js'
import { keyOf } from './cancel-statement.js'
import { createConnectionLife } from './connection-life.js'
import { StoreUnavailable } from './database.js'
import { explainFailure } from './failures.js'
import { columnTypes, jsonParametersOf, writeParameters } from './values.js'

/** One connection. Statements run one at a time. A connection that broke or hung is not used again. */
export type Connection = {
  query<Row>(text: string, parameters?: readonly unknown[]): Promise<Row[]>
  /** Several statements in one text. Returns the command tag of the last one, such as COMMIT. */
  script(text: string): Promise<string>
  /** From here on the server may keep prepared statements for this connection. */
  keepStatements(): void
  /**
   * Brings the connection back to its state after opening: nothing stays that was set, prepared, locked or created for this session only.
   */
  reset(): Promise<void>
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
    keepStatements: () => {
      keepsStatements = true
    },
    reset: () =>
      inTurn(async () => {
        // The embedded database does not know who opened its session, and does not reset that by itself.
        await client.query(`set session authorization ${client.escapeIdentifier(client.user ?? '')}`)
        await client.query('discard all')
        forgetPrepared(client)
      }),
    isOpen: life.isOpen,
    get processId() {
      return keyOf(client).processID
    },
    openedAt: performance.now(),
    end: life.end,
    destroy: life.destroy,
    giveUp: life.giveUp,
  }

  try {
    await client.connect()
    life.opened()
    return connection
  } catch (error) {
    client.connection.stream.destroy()
    throw error
  }
}

// "extended" also without parameters, so that one text is one statement.
const execute = async <Row>(client: Client, text: string, parameters: readonly unknown[], keepsStatements: boolean) => {
  const { name, json } = readStatement(text)
  const values = writeParameters(parameters, json)
  const statement = { name: keepsStatements ? name : undefined, text, values, queryMode: 'extended' }
  const { rows } = await client.query<Row & object>(statement)
  return rows
}

/** The driver has these, but not in its types. Without them it prepares a statement again. */
const forgetPrepared = ({ connection }: Client) =>
  Object.assign(connection, { parsedStatements: {}, submittedNamedStatements: {} })

// A migration may change the columns of these, and then the server refuses the prepared statement.
const readsAnyColumns = /(select|returning)\s+(\w+\.)?\*/i

/** The same text has the same name everywhere: a name that another client has prepared is the same statement. */
const nameOf = (text: string) =>
  readsAnyColumns.test(text) ? undefined : createHash('sha256').update(text).digest('base64url')

type Statement = { name: string | undefined; json: ReadonlySet<number> }

const statements = new Map<string, Statement>()

/** Reads the facts about a statement from its text. Once: a refresh would spend more time on that than on its parameters. */
const readStatement = (text: string): Statement => {
  const known = statements.get(text) ?? { name: nameOf(text), json: jsonParametersOf(text) }
  statements.set(text, known)
  return known
}

const commandOf = (result: { command: string } | { command: string }[]) =>
  (Array.isArray(result) ? result.at(-1) : result)?.command ?? ''

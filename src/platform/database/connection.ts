import { createHash } from 'node:crypto'
import { connect } from 'node:net'
import { Client, type ClientConfig, DatabaseError, Query, type Submittable, types } from 'pg'
import { withTimeout } from '../../lib/timing.js'
import { StoreUnavailable } from './database.js'

/**
 * One connection. Its statements run in the order in which they were called. In a transaction that has begun, one is sent without waiting for
 * the answers to those before it, so statements that wait together take one round trip. If one of them fails, the server refuses those after
 * it. A connection that broke or hung is not used again.
 */
export type Connection = {
  query<Row>(text: string, parameters?: readonly unknown[]): Promise<Row[]>
  /** The same inside a transaction, which it begins if none is open, without a round trip of its own. */
  queryInTransaction<Row>(text: string, parameters?: readonly unknown[]): Promise<Row[]>
  /** False also after a statement has failed that should have begun a transaction. */
  isInTransaction(): boolean
  /** Several statements in one text. Returns the command tag of the last one, such as COMMIT. */
  script(text: string): Promise<string>
  /** Starts a query of another package, such as a COPY that streams. Nothing else may use the connection until it has ended. */
  submit<Query extends Submittable>(query: Query): Query
  /** From now on, statements of this connection are prepared once and kept by the server. */
  keepStatements(): void
  isOpen(): boolean
  /** The id of the server's process, as the server (or a pooler in front of it) named it when the connection was opened. */
  readonly processId: number | null
  readonly openedAt: number
  /** Called once when the connection ends in another way than by `end`, and before the current statement fails. */
  onClosed(isHung: boolean): void
  end(): Promise<void>
  destroy(reason: Error): void
  /** Closes the connection to a server that does not answer in time, and asks the server to cancel the statement. */
  giveUp(): void
}

type Dependencies = {
  client: ClientConfig
  /** After this time without an answer the server counts as hung. Its own timeouts are shorter. */
  deadlineMs: number
  /** Only a server that proves that it knows the password gets a statement, and none gets the password. */
  requiresScram: boolean
}

const endTimeoutMs = 5_000

export const openConnection = async ({
  client: config,
  deadlineMs,
  requiresScram,
}: Dependencies): Promise<Connection> => {
  const client = new Client({ ...config, types: columnTypes, pipeline: true })
  const proof = requiresScram ? watchForProof(client) : undefined
  const life = createLife(client, config, (isHung) => connection.onClosed(isHung))
  let prepared: Prepared | undefined
  const inTurn = createTurns(client, life, deadlineMs)

  const connection: Connection = {
    query: (text, parameters = []) => inTurn(() => execute(client, prepared, text, parameters)),
    queryInTransaction: (text, parameters = []) =>
      inTurn(() => executeInTransaction(client, prepared, text, parameters)),
    isInTransaction: () => isInTransaction(client),
    script: (text) => inTurn(async () => commandOf(await client.query(text))),
    submit: (query) => {
      // The driver refuses such queries as long as it might send others behind them.
      Object.assign(client, { pipeline: false })
      return client.query(query)
    },
    keepStatements: () => {
      prepared = { columns: new Map(), undescribed: withoutDescriptions(client) }
    },
    isOpen: life.isOpen,
    get processId() {
      return withProcessKey(client).processID
    },
    openedAt: performance.now(),
    onClosed: () => undefined,
    end: life.end,
    destroy: life.destroy,
    giveUp: life.giveUp,
  }

  try {
    await client.connect()
    if (proof && !proof.isGiven()) throw new StoreUnavailable(impostorText)
    life.markOpened()
    return connection
  } catch (error) {
    client.connection.stream.destroy()
    throw error
  }
}

type Life = ReturnType<typeof createLife>

/** Sends statements in the order in which they were called. */
const createTurns = (client: Client, life: Life, deadlineMs: number) => {
  // A statement that comes alone, as most do, waits for neither: each wait is a round of microtasks.
  let lastTurn: Promise<void> | undefined
  let lastAnswer: Promise<unknown> | undefined

  /** In a transaction, the turn of a statement ends when it is sent, otherwise when it is answered. */
  const run = async <Result>(
    statement: () => Promise<Result>,
    turn: Promise<void> | undefined,
    before: Promise<unknown> | undefined,
    endTurn: () => void,
  ) => {
    if (turn) await turn
    if (!life.isOpen()) {
      endTurn()
      throw new StoreUnavailable('The connection to the database is closed')
    }
    const hasBegun = isInTransaction(client)
    if (hasBegun) holdUntilAllAreCalled(client)
    const answer = statement()
    answer.then(endTurn, endTurn)
    if (hasBegun) endTurn()
    // The server works on one after the other, and has its time for each.
    if (before) await before
    try {
      return await withTimeout(answer, deadlineMs, () => {
        life.giveUp()
        return answer
      })
    } catch (thrown) {
      const { error, connectionIsUnusable } = explainFailure(thrown, life.isOpen())
      if (connectionIsUnusable)
        life.destroy(new StoreUnavailable('The connection to the database cannot be used any more'))
      throw error
    }
  }

  return <Result>(statement: () => Promise<Result>): Promise<Result> => {
    let resolveTurn = () => {}
    const turn = new Promise<void>((resolve) => {
      resolveTurn = resolve
    })
    const endTurn = () => {
      if (lastTurn === turn) lastTurn = undefined
      resolveTurn()
    }
    const [turnBefore, answerBefore] = [lastTurn, lastAnswer]
    lastTurn = turn
    const result = run(statement, turnBefore, answerBefore, endTurn)
    const end = () => {
      if (lastAnswer === answered) lastAnswer = undefined
    }
    const answered = result.then(end, end)
    lastAnswer = answered
    return result
  }
}

const impostorText = 'Something else than our own PostgreSQL answers at its place'

/** The driver checks what the server says at the end of SCRAM. To another kind of question it would send the password. */
const watchForProof = ({ connection }: Client) => {
  let isGiven = false
  connection.on('authenticationSASLFinal', () => {
    isGiven = true
  })
  for (const question of ['authenticationCleartextPassword', 'authenticationMD5Password'])
    connection.on(question, () => connection.stream.destroy(new StoreUnavailable(impostorText)))
  return { isGiven: () => isGiven }
}

/** Knows whether a connection is open, and ends it. */
const createLife = (client: Client, config: ClientConfig, onClosed: (isHung: boolean) => void) => {
  let isOpen = false
  let isHung = false

  const reportClosed = () => {
    if (!isOpen) return
    isOpen = false
    onClosed(isHung)
  }
  const destroy = (reason: Error) => {
    reportClosed()
    client.connection.stream.destroy(reason)
  }
  // The driver itself rejects the current statements. An error event without a listener would end the process.
  client.on('error', destroy)
  const closed = new Promise<void>((resolve) => {
    client.on('end', () => {
      reportClosed()
      resolve()
    })
  })

  return {
    isOpen: () => isOpen,
    markOpened: () => {
      isOpen = true
    },
    end: async () => {
      isOpen = false
      // A hung server never closes the connection, so it is destroyed after a timeout.
      const ending = client.end().then(() => closed)
      await withTimeout(ending, endTimeoutMs, () => {
        client.connection.stream.destroy()
        return ending
      })
    },
    destroy,
    giveUp: () => {
      isHung = true
      cancelStatement(client, config)
      destroy(new StoreUnavailable('The database did not answer in time'))
    },
  }
}

type Column = { name: string; read: (text: string) => unknown }
type Answered = {
  handleRowDescription(message: { fields: readonly { name: string; dataTypeID: number }[] }): void
  handleDataRow(message: { fields: readonly (string | null)[] }): void
  handleCommandComplete(): void
}

/** The statements that the server keeps for this connection: the columns of each, by its name. */
type Prepared = { columns: Map<string, readonly Column[]>; undescribed: Client['connection'] }

/** The driver asks for a description of the columns with every statement. What is sent with this does not ask. */
const withoutDescriptions = ({ connection }: Client): Client['connection'] =>
  Object.assign(Object.create(connection), { describe: () => undefined })

/**
 * Reads the rows of an answer in place of the driver, which would make a list of columns anew for each. A statement that the server keeps has
 * the same columns as long as it is kept: the server refuses to run it otherwise. So they are described only once, which saves 15 µs of a
 * refresh.
 */
const createReader = <Row>(name: string | undefined, prepared: Prepared | undefined) => {
  let columns = name === undefined ? undefined : prepared?.columns.get(name)
  const rows: Row[] = []
  let fault: Error | undefined

  const readRow = (values: readonly (string | null)[]) => {
    const row: Record<string, unknown> = {}
    columns?.forEach(({ name, read }, place) => {
      const value = values[place] ?? null
      row[name] = value === null ? null : read(value)
    })
    return row as Row
  }

  const handlers: Answered = {
    handleRowDescription: ({ fields }) => {
      columns = fields.map(({ name, dataTypeID }) => ({ name, read: columnTypes.getTypeParser(dataTypeID, 'text') }))
    },
    handleDataRow: ({ fields }) => {
      try {
        rows.push(readRow(fields))
      } catch (thrown) {
        // The rest of the answer has to be read, too.
        fault ??= new Error('A column cannot be read', { cause: thrown })
      }
    },
    handleCommandComplete: () => undefined,
  }
  return {
    rows,
    handlers,
    isDescribed: columns !== undefined,
    fault: () => fault,
    keepColumns: () => {
      if (name !== undefined) prepared?.columns.set(name, columns ?? [])
    },
  }
}

const execute = async <Row>(
  client: Client,
  prepared: Prepared | undefined,
  text: string,
  parameters: readonly unknown[],
  begins = false,
): Promise<Row[]> => {
  const { name, jsonParameters } = readStatement(text)
  const values = writeParameters(parameters, jsonParameters)
  const { rows, handlers, isDescribed, fault, keepColumns } = createReader<Row>(name, prepared)
  await new Promise<void>((resolve, reject) => {
    const query = new Query(text, values, (error) => {
      const failure = error ?? fault()
      if (failure) reject(failure)
      else resolve()
    })
    // The driver would take 7 µs to copy an object with all of it. The extended protocol is used without parameters, too, because it
    // allows only one statement in a text.
    Object.assign(query, { name: prepared && name, queryMode: 'extended', ...handlers })
    if (begins) sendBeginWith(query)
    if (prepared && isDescribed) sendBy(prepared.undescribed, query)
    client.query(query)
  })
  keepColumns()
  return rows
}

const sendBy = (connection: Client['connection'], query: Query) => {
  const { submit } = query
  query.submit = () => submit.call(query, connection)
}

const executeInTransaction = async <Row>(
  client: Client,
  prepared: Prepared | undefined,
  text: string,
  parameters: readonly unknown[],
): Promise<Row[]> => {
  if (isInTransaction(client)) return await execute(client, prepared, text, parameters)
  const { name } = readStatement(text)
  // The driver takes any answer to a preparation for one to this statement. So a statement that is still to be prepared goes alone.
  const isPrepared = !prepared || name === undefined || prepared.columns.has(name)
  if (!isPrepared) await client.query('begin')
  return await execute(client, prepared, text, parameters, isPrepared)
}

/** What is sent in this turn of the event loop leaves in one piece. */
const holdUntilAllAreCalled = ({ connection: { stream } }: Client) => {
  stream.cork()
  process.nextTick(() => stream.uncork())
}

const isInTransaction = (client: Client) => client.getTransactionStatus() !== 'I'

/** If `begin` fails, the server skips the statement, because both are sent without a point of synchronisation in between. */
const sendBeginWith = (query: Query) => {
  const { submit } = query
  query.submit = (connection) => {
    connection.stream.cork()
    connection.parse({ name: '', text: 'begin', types: [] }, true)
    connection.bind({}, true)
    connection.execute({}, true)
    submit.call(query, connection)
    connection.stream.uncork()
  }
}

const star = /(?:select|returning)\s+(?:\w+\.)?\*(?:\s+from\s+(\w+))?/i

/** The text with a # for all that stands in parentheses. */
const outsideOfParentheses = (text: string): string => {
  const shorter = text.replaceAll(/\([^()]*\)/g, '#')
  return shorter === text ? text : outsideOfParentheses(shorter)
}

/** True if the result has whatever columns a table has, and not those of a part that `with` has named. */
const hasAnyColumns = (text: string) => {
  const outside = outsideOfParentheses(text)
  const found = star.exec(outside)
  return found !== null && !new RegExp(`\\b${found[1]} as (materialized )?#`).test(outside)
}

/**
 * The name is a hash of the text, so a name that another client has prepared stands for the same statement. A statement with any columns is
 * not prepared: a migration may change them, and then the server would refuse it.
 */
const nameOf = (text: string) =>
  hasAnyColumns(text) ? undefined : createHash('sha256').update(text).digest('base64url')

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

/** The code of a CancelRequest in PostgreSQL's protocol. */
const cancelRequest = 80_877_102
const cancelTimeoutMs = 3_000

/** The client with the id and the secret of the server's process. The driver has them, but not in its types. */
const withProcessKey = (client: Client) => client as Client & Record<'processID' | 'secretKey', number | null>

/**
 * Asks the server to cancel the statement of an abandoned connection. Otherwise each commit that waits for a standby would keep its
 * connection on the server occupied, until the server accepts no further connections.
 */
const cancelStatement = (client: Client, { host = '', port = 5432 }: ClientConfig) => {
  const { processID, secretKey } = withProcessKey(client)
  if (processID === null || secretKey === null) return
  const request = Buffer.alloc(16)
  for (const [place, number] of [16, cancelRequest, processID, secretKey].entries()) {
    request.writeInt32BE(number, place * 4)
  }
  const socket = host.startsWith('/') ? connect(`${host}/.s.PGSQL.${port}`) : connect(port, host)
  socket.unref().on('error', () => undefined)
  socket.setTimeout(cancelTimeoutMs, () => socket.destroy())
  socket.end(request)
}

// Classes of SQLSTATE: connection exceptions, insufficient resources (disk, memory, connections) and operator intervention (shutdown,
// cannot connect now, cancelled by a timeout).
const unavailableClasses = new Set(['08', '53', '57'])
const unavailableCodes = new Set([
  '25006', // read-only: this server has become a standby
  '25P03', // idle in a transaction for too long
  '25P04', // the transaction took too long
  '40P01', // two transactions waited for each other, and this one was chosen to give up
  '55P03', // a lock was not free in time
  '58030', // input or output error
])

// Errors about the connection itself, after which the next statement on it would fail, too.
const breaksConnection = (code: string) =>
  code === '25006' ||
  code === '25P03' ||
  code.startsWith('08') ||
  code.startsWith('57P') ||
  lostStatementCodes.has(code)

// A prepared statement is missing or exists already, because a pooler has given the connection another server process.
const lostStatementCodes = new Set(['26000', '42P05'])

// The prepared statement is missing on the server, or a migration has changed its table since. It is not repeated here, but the next call
// prepares it again.
const isStale = ({ code = '', routine }: DatabaseError) =>
  lostStatementCodes.has(code) || (code === '0A000' && routine === 'RevalidateCachedQuery')

type Failure = { error: unknown; connectionIsUnusable: boolean }

/** Failures of the store become StoreUnavailable; errors of the statement itself stay as they are. */
export const explainFailure = (error: unknown, connectionIsOpen: boolean): Failure => {
  if (error instanceof StoreUnavailable) return { error, connectionIsUnusable: true }
  if (error instanceof DatabaseError) return explainAnswer(error)
  if (connectionIsOpen) return { error, connectionIsUnusable: false }
  return {
    error: new StoreUnavailable('The connection to the database broke', { cause: error }),
    connectionIsUnusable: true,
  }
}

const explainAnswer = (answer: DatabaseError): Failure => {
  const error = withoutValues(answer)
  const code = answer.code ?? ''
  if (isStale(answer)) {
    const sentence = 'A prepared statement is out of date; the next try prepares it again'
    return { error: new StoreUnavailable(sentence, { cause: error }), connectionIsUnusable: true }
  }
  const isUnavailable = unavailableCodes.has(code) || unavailableClasses.has(code.slice(0, 2))
  return {
    error: isUnavailable ? new StoreUnavailable(`The database gave up: ${answer.message}`, { cause: error }) : error,
    connectionIsUnusable: breaksConnection(code),
  }
}

/** An error of a statement without its values. Errors are logged, and the server quotes values in `detail`, `where` and `hint`. */
class PostgresError extends Error {
  override name = 'PostgresError'
}

export const withoutValues = (error: unknown): unknown => {
  if (!(error instanceof DatabaseError)) return error
  const { severity, code = '', schema, table, column, constraint, routine } = error
  // 22: data exceptions quote the offending value at the end of the message.
  const message = code.startsWith('22') ? error.message.replace(/: ".*/s, '') : error.message
  const names = { schema_name: schema, table_name: table, column_name: column, constraint_name: constraint }
  return Object.assign(new PostgresError(message), { severity, code, ...names, routine })
}

// PostgreSQL's ids of its types; a plural is the type of arrays. All other types are read by the driver.
const typeIds = { bigint: 20, bigints: 1016, numerics: 1231, texts: 1009 }

/** A count is a bigint in PostgreSQL. It becomes a number if a number holds it exactly. */
const readInteger = (text: string) => (Number.isSafeInteger(Number(text)) ? Number(text) : BigInt(text))

const readTexts: (text: string) => (string | null)[] = types.getTypeParser(typeIds.texts)

const readers = new Map<number, (text: string) => unknown>([
  [typeIds.bigint, readInteger],
  [typeIds.bigints, (text) => readTexts(text).map((item) => (item === null ? null : readInteger(item)))],
  [typeIds.numerics, readTexts],
])

const columnTypes = {
  getTypeParser: (type: number, format?: 'text' | 'binary') => readers.get(type) ?? types.getTypeParser(type, format),
}

/** The numbers of the parameters that are JSON, as the text of the statement says (`$2::jsonb`). */
const jsonParametersOf = (text: string): ReadonlySet<number> =>
  new Set(Array.from(text.matchAll(/\$(\d+)::jsonb?(?![\w[])/g), ([, number]) => Number(number)))

/** Writes the values in the form that the driver needs. */
const writeParameters = (parameters: readonly unknown[], jsonParameters: ReadonlySet<number>) =>
  parameters.map((value, place) => {
    if (value === undefined) throw new TypeError('A parameter is undefined: pass null for nothing')
    return value !== null && jsonParameters.has(place + 1) ? JSON.stringify(value) : writeDates(value)
  })

// `toISOString` throws for an invalid date, which the driver would send. It writes UTC, whatever the time zone of this machine.
const writeDates = (value: unknown): unknown => {
  if (typeof value !== 'object') return value
  if (value instanceof Date) return value.toISOString()
  return Array.isArray(value) ? value.map(writeDates) : value
}

/**
 * Throws `StoreUnavailable` if the database cannot commit. To find out, it commits a message in PostgreSQL's write-ahead log, which
 * changes no table. A read is not enough, because a primary whose synchronous standby is down answers reads, but finishes no commit. A
 * read-only transaction may write this message too, so the query also looks at `transaction_read_only`. A connection that was opened as
 * read-only stays read-only, so it is closed.
 */
export const proveCommit = async (connection: Connection) => {
  const [row] = await connection.query<{ writable: boolean }>(
    `select writable, case when writable then pg_logical_emit_message(true, 'latchkey', '') end as position
     from (select current_setting('transaction_read_only') = 'off' as writable) as setting`,
  )
  if (row?.writable) return
  const refusal = new StoreUnavailable(
    'The database accepts no writes: it is a standby, or default_transaction_read_only is on',
  )
  connection.destroy(refusal)
  throw refusal
}

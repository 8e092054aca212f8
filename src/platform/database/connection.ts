import { createHash } from 'node:crypto'
import { connect } from 'node:net'
import { Client, type ClientConfig, DatabaseError, Query, type Submittable, types } from 'pg'
import { withTimeout } from '../../lib/timing.js'
import { StoreUnavailable } from './database.js'

/**
 * One connection. Its statements run in the order in which they were called. In a transaction, one is sent without waiting for the answers
 * to those before it, so statements that wait together take one round trip. If one of them fails, the server refuses those after it. Until it
 * is known that the transaction has begun, only reads are sent: a change would stay if it had not. A connection that broke or hung is not
 * used again.
 */
export type Connection = {
  query<Row>(text: string, parameters?: readonly unknown[]): Promise<Row[]>
  /** The same inside a transaction, which it begins if none is open, without a round trip of its own. */
  queryInTransaction<Row>(transaction: Beginning, text: string, parameters?: readonly unknown[]): Promise<Row[]>
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
  let prepared: Set<string> | undefined
  const begin: Begin = { underWay: undefined }
  const inTurn = createTurns(client, life, begin, deadlineMs)

  const connection: Connection = {
    query: (text, parameters = []) => {
      const statement = readStatement(text, parameters)
      return inTurn(() => execute(client, prepared, statement))
    },
    queryInTransaction: (transaction, text, parameters = []) => {
      const statement = readStatement(text, parameters)
      return inTurn(() => executeInTransaction(client, prepared, begin, transaction, statement), statement.isRead)
    },
    isInTransaction: () => isInTransaction(client),
    script: (text) => inTurn(async () => commandOf(await client.query(text))),
    submit: (query) => {
      // The driver refuses such queries as long as it might send others behind them.
      Object.assign(client, { pipeline: false })
      return client.query(query)
    },
    keepStatements: () => {
      prepared = new Set()
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

/** Why a transaction could not begin. The statements that wait behind its first one must not begin another. */
export type Beginning = { fault: Error | undefined }

export const asError = (thrown: unknown) => (thrown instanceof Error ? thrown : new Error(String(thrown)))

/** `underWay`: resolves as soon as it is known whether the transaction has begun. */
type Begin = { underWay: Promise<void> | undefined }

type Turn = { before: Promise<unknown>; end: () => void; isRead: boolean }

/** Sends statements in the order in which they were called. */
const createTurns = (client: Client, life: Life, begin: Begin, deadlineMs: number) => {
  let nextTurn: Promise<unknown> = Promise.resolve()
  let lastAnswer: Promise<unknown> = Promise.resolve()

  /** In a transaction, the turn of a statement ends when it is sent, otherwise when it is answered. */
  const send = async <Result>(statement: () => Promise<Result>, turn: Turn) => {
    await turn.before
    if (!turn.isRead) await begin.underWay
    if (!life.isOpen()) {
      turn.end()
      throw new StoreUnavailable('The connection to the database is closed')
    }
    const hasBegun = isInTransaction(client)
    holdUntilAllAreCalled(client)
    const answer = statement()
    answer.catch(() => undefined)
    if (hasBegun || begin.underWay) turn.end()
    else answer.then(turn.end, turn.end)
    return { answer }
  }

  const run = async <Result>(statement: () => Promise<Result>, turn: Turn) => {
    const before = lastAnswer
    const { answer } = await send(statement, turn)
    // The server works on one after the other, and has its time for each.
    await before
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

  return <Result>(statement: () => Promise<Result>, isRead = false): Promise<Result> => {
    const before = nextTurn
    let end = () => {}
    nextTurn = new Promise<void>((resolve) => {
      end = resolve
    })
    const result = run(statement, { before, end, isRead })
    lastAnswer = result.catch(() => undefined)
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

/** `prepared` has the names of the statements that the server keeps for this connection. */
const execute = async <Row>(
  client: Client,
  prepared: Set<string> | undefined,
  { text, name, values }: Statement,
  begins = false,
): Promise<Row[]> => {
  const rows = await new Promise<Row[]>((resolve, reject) => {
    const query = new Query<Row & object>(text, values, (error, result) => {
      if (error) reject(error)
      else resolve(rowsOf<Row>(result))
    })
    // The driver would take 7 µs to copy an object with all of it. The extended protocol is used without parameters, too, because it
    // allows only one statement in a text.
    Object.assign(query, { name: prepared && name, queryMode: 'extended' })
    if (begins) sendBeginWith(query)
    client.query(query)
  })
  if (name !== undefined) prepared?.add(name)
  return rows
}

/** There are two results if the statement has begun a transaction. */
const rowsOf = <Row>(result: { rows: Row[] } | { rows: Row[] }[]) =>
  (Array.isArray(result) ? result.at(-1) : result)?.rows ?? []

const executeInTransaction = async <Row>(
  client: Client,
  prepared: Set<string> | undefined,
  begin: Begin,
  transaction: Beginning,
  statement: Statement,
): Promise<Row[]> => {
  if (transaction.fault) throw transaction.fault
  if (isInTransaction(client) || begin.underWay) return await execute(client, prepared, statement)
  // The driver takes any answer to a preparation for one to this statement. So a statement that is still to be prepared goes alone.
  const isPrepared = !prepared || statement.name === undefined || prepared.has(statement.name)
  if (!isPrepared) {
    await client.query('begin').catch((fault: unknown) => {
      transaction.fault = asError(fault)
      throw transaction.fault
    })
    return await execute(client, prepared, statement)
  }
  const answer = execute<Row>(client, prepared, statement, true)
  begin.underWay = answer
    .catch((fault: unknown) => {
      transaction.fault = asError(fault)
    })
    .then(() => {
      begin.underWay = undefined
    })
  return await answer
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

/** Whether the statement changes nothing. Of our functions, those that do are called in statements of their own, and in no transaction. */
const isRead = (text: string) => /^\s*select\b/i.test(text)

type StatementFacts = { name: string | undefined; jsonParameters: ReadonlySet<number>; isRead: boolean }
type Statement = StatementFacts & { text: string; values: unknown[] }

const statements = new Map<string, StatementFacts>()

/** Reads facts about a statement from its text, once for each text: a refresh would spend more time on that than on its parameters. */
const readStatement = (text: string, parameters: readonly unknown[]): Statement => {
  const known = statements.get(text) ?? {
    name: nameOf(text),
    jsonParameters: jsonParametersOf(text),
    isRead: isRead(text),
  }
  statements.set(text, known)
  return { ...known, text, values: writeParameters(parameters, known.jsonParameters) }
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

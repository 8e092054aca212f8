import { setTimeout as wait } from 'node:timers/promises'
import type { ClientConfig } from 'pg'
import { codeOf } from '../../lib/caught.js'
import { withTimeout } from '../../lib/timing.js'
import { type TlsFault, tlsFaultOf, tlsFaultWords } from '../invalid-address.js'
import { type Connection, openConnection, proveCommit, withoutValues } from './connection.js'
import { StoreUnavailable } from './database.js'
import type { PostgresAddress, Tls } from './postgres-address.js'

export type Host = PostgresAddress['hosts'][number]
export type ConnectTo = (host: Host, timeoutMs: number) => Promise<Connection>
type Log = { warn(details: object, message: string): void }
type Search = { hosts: Host[]; connect: ConnectTo; timeoutMs: number; log?: Log | undefined }

type Dependencies = Search & {
  /** With several hosts, how long a primary is used before all hosts are asked again. */
  holdsMs: number
}

export type Primary = ReturnType<typeof createPrimary>

/**
 * Opens connections to the primary. If the primary is not known, or was lost, one search asks all hosts. After a failed search there is
 * a pause, in which every caller is refused at once. The pause is twice as long after each failure.
 */
export const createPrimary = (options: Dependencies) => {
  let primary: Host | undefined
  let lastFoundPrimary: Host | undefined
  let foundAt = 0
  let usableFrom = 0
  let search: Promise<Connection> | undefined
  const pause = createSearchPause(options.log)

  const searchAll = async () => {
    const { host, connection } = await findPrimary(options)
    // An old primary may still answer after another host was promoted. What is written to the old one is lost.
    if (lastFoundPrimary && lastFoundPrimary !== host) usableFrom = connection.openedAt
    lastFoundPrimary = host
    primary = host
    foundAt = performance.now()
    pause.reset()
    return connection
  }

  const startSearch = () => {
    search = searchAll()
      .catch((error: Error) => {
        pause.begin(error)
        throw error
      })
      .finally(() => {
        search = undefined
      })
    return search
  }

  const openKnown = async () => {
    const host = primary
    if (!host || (options.hosts.length > 1 && foundAt + options.holdsMs < performance.now())) return undefined
    try {
      const { connection } = await askHost(options, host)
      return connection
    } catch {
      // The search that follows reports the reason.
    }
    if (primary === host) primary = undefined
    return undefined
  }

  return {
    open: async (): Promise<Connection> => {
      const knownConnection = await openKnown()
      if (knownConnection) return knownConnection
      const failure = pause.failure()
      if (failure && (search || !pause.isOver())) throw failure
      if (!search) return await startSearch()
      await search
      const foundConnection = await openKnown()
      if (!foundConnection) throw new StoreUnavailable('The primary was found and lost again')
      return foundConnection
    },
    /** If a connection hangs, the other connections to the same server hang as well. */
    retireAll: () => {
      primary = undefined
      usableFrom = performance.now()
    },
    /** Connections that were opened before the primary changed, or hung, are not used again. */
    isCurrent: ({ openedAt }: Connection) => openedAt >= usableFrom,
  }
}

const firstPauseMs = 100
const longestPauseMs = 1_000

// There is at most one warning in this time.
const warningPauseMs = 5_000

/** The pause after a search that found no primary. It is twice as long after each failed search. */
const createSearchPause = (log: Log | undefined) => {
  let failure: Error | undefined
  let pauseMs = firstPauseMs
  let endsAt = 0
  let quietUntil = 0

  return {
    begin: (error: Error) => {
      failure = error
      if (performance.now() >= quietUntil) {
        quietUntil = performance.now() + warningPauseMs
        log?.warn({}, error.message)
      }
      // The pause is random, so that not all instances ask at the same moment.
      endsAt = performance.now() + pauseMs * (0.75 + Math.random() / 2)
      pauseMs = Math.min(pauseMs * 2, longestPauseMs)
    },
    reset: () => {
      failure = undefined
      pauseMs = firstPauseMs
    },
    isOver: () => performance.now() >= endsAt,
    /** The reason why the last search found no primary. */
    failure: () => failure,
  }
}

type Claim = { writable: boolean; timeline: string; pid: number }
type Candidate = { host: Host; connection: Connection; claim: Claim }

// A promotion starts a new timeline. Its number is the first eight digits in the name of the current file of the write-ahead log.
const timeline = `case when pg_is_in_recovery() then '' else substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8) end`

const claimQuery = ({ hosts }: Search) =>
  `select not pg_is_in_recovery() and current_setting('transaction_read_only') = 'off' as writable,
          ${hosts.length > 1 ? timeline : `''`} as timeline, pg_backend_pid() as pid`

/** Connects to a host and asks whether it accepts writes. If there is only one host, it is used in any case. */
const askHost = async (search: Search, host: Host): Promise<Candidate> => {
  const deadline = performance.now() + search.timeoutMs
  const connection = await search.connect(host, search.timeoutMs)
  try {
    const [claim] = await within(deadline - performance.now(), connection, () =>
      connection.query<Claim>(claimQuery(search)),
    )
    if (!claim) throw new Error(`${hostName(host)} gave no answer`)
    if (!claim.writable && search.hosts.length > 1) throw new Error(`${hostName(host)} is a standby or read-only`)
    // A pooler invents the id of the process, and may give every transaction another connection, on which a prepared
    // statement does not exist.
    if (claim.pid === connection.processId) connection.keepStatements()
    return { host, connection, claim }
  } catch (error) {
    endQuietly(connection)
    throw error
  }
}

/** Asks every host and returns the newest primary that can commit. Rejects with one sentence that names each reason. */
export const findPrimary = async (search: Search): Promise<Candidate> => {
  let primary: Candidate | undefined
  const { candidates, failures } = await askAll(search)
  for (const candidate of leadersOf(candidates, search.log)) {
    try {
      // A single host is used even if it is a standby or read-only. It cannot commit, so commits are not tested.
      if (candidate.claim.writable)
        await within(search.timeoutMs, candidate.connection, () => proveCommit(candidate.connection))
      primary = candidate
      break
    } catch (cause) {
      failures.push(
        new Error(`${hostName(candidate.host)} finishes no commit: is its synchronous standby down?`, { cause }),
      )
    }
  }
  for (const candidate of candidates) if (candidate !== primary) endQuietly(candidate.connection)
  if (!primary) throw unreachableError(search.hosts, failures)
  return primary
}

// How long to wait for the other hosts once a host says that it is the primary, because another host may be a newer primary.
const graceMs = 500

const askAll = async (search: Search) => {
  const candidates: Candidate[] = []
  const failures: unknown[] = []
  let isOver = false
  const asks = search.hosts.map(async (host) => {
    const candidate = await askHost(search, host)
    if (isOver) endQuietly(candidate.connection)
    else candidates.push(candidate)
  })
  for (const each of asks) each.catch((error: unknown) => failures.push(error))
  const firstAnswer = Promise.any(asks).then(() => wait(graceMs, undefined, { ref: false }))
  await Promise.race([Promise.allSettled(asks), firstAnswer.catch(() => Promise.allSettled(asks))])
  isOver = true
  return { candidates, failures }
}

/**
 * If two servers accept writes, the server with the older timeline was replaced by a promotion, and what is written there is lost. It
 * is not used, even if the newer server cannot commit.
 */
const leadersOf = (candidates: Candidate[], log: Log | undefined) => {
  const newest = candidates
    .map(({ claim }) => claim.timeline)
    .sort()
    .at(-1)
  const leaders = candidates.filter(({ claim }) => claim.timeline === newest)
  if (candidates.length > 1) {
    const all = candidates.map(
      ({ host, claim }) => `${hostName(host)} (timeline ${Number.parseInt(claim.timeline, 16)})`,
    )
    const names = leaders.map(({ host }) => hostName(host)).join(' or ')
    log?.warn({}, `Several servers say that they are the primary: ${all.join(', ')}. Using ${names}, the newest`)
  }
  return leaders
}

/** Runs `work`. After the timeout the connection is given up, which makes `work` fail. */
const within = async <Result>(ms: number, connection: Connection, work: () => Promise<Result>) => {
  const result = work()
  return await withTimeout(result, Math.max(1, ms), () => {
    connection.giveUp()
    return result
  })
}

const endQuietly = (connection: Connection) => {
  connection.end().catch(() => undefined)
}

export const hostName = ({ host, port }: Host) => `${host}:${port}`

const unreachableError = (hosts: Host[], failures: unknown[]) => {
  const reasons = new Set(failures.map(reasonOf))
  return new StoreUnavailable(
    `PostgreSQL at ${hosts.map(hostName).join(', ')} cannot be used: ${[...reasons].join('; ')}`,
    {
      cause: failures.at(-1),
    },
  )
}

export const reasonOf = (failure: unknown): string => {
  if (!(failure instanceof Error)) return 'unknown failure'
  // Node reports a host with several addresses as one error without a message of its own.
  if (failure instanceof AggregateError && !failure.message) return failure.errors.map(reasonOf).join(', ')
  return failure.message
}

type Timeouts = { statementTimeoutMs: number; lockTimeoutMs: number }
type ConnectOptions = Timeouts & { address: PostgresAddress; applicationName: string }

// Our timeout is longer than the server's by this much. After a timeout of the server the connection can still be used; ours is for a
// server that hangs.
const slackMs = 300

/** Connects to one host, encrypted as the address says. Our settings are left out if a pooler refuses them. */
export const createConnect = ({ address, applicationName, ...timeouts }: ConnectOptions): ConnectTo => {
  const settings = settingsFor(address, timeouts)
  let acceptsSettings = true

  return async ({ host, port }, timeoutMs) => {
    const deadline = performance.now() + timeoutMs
    let ssl = sslOptions(address.tls, host)
    const attempt = () =>
      openConnection({
        client: {
          host,
          port,
          ssl,
          user: address.user,
          // A function, because the driver treats an empty password as none and looks for one elsewhere.
          password: () => address.password,
          database: address.database,
          application_name: applicationName,
          ...(acceptsSettings && { options: settings }),
          keepAlive: true,
          keepAliveInitialDelayMillis: 30_000,
          connectionTimeoutMillis: Math.max(1, Math.ceil(deadline - performance.now())),
        },
        deadlineMs: timeouts.statementTimeoutMs + slackMs,
        requiresScram: address.requiresScram,
      })
    for (;;) {
      try {
        return await attempt()
      } catch (error) {
        const message = error instanceof Error ? error.message : ''
        if (ssl && encryptionRefusal.test(message) && address.tls.mode === 'prefer') ssl = false
        else if (acceptsSettings && settingsRefusal.test(message) && isEmpty(address.parameters))
          acceptsSettings = false
        else throw explainConnectError(error, message)
      }
    }
  }
}

const isEmpty = (parameters: object) => Object.keys(parameters).length === 0

const encryptionRefusal = /does not support SSL/
// How PgBouncer and other poolers refuse settings that come with the connection.
const settingsRefusal = /unsupported startup parameter|command-line options/

const sentences = [
  { when: encryptionRefusal, sentence: 'The database does not offer encryption, and sslmode requires it' },
  {
    when: /password must be a (non-empty )?string/,
    sentence: 'The database asks for a password, and its address has none',
  },
  { when: /^timeout expired$/, sentence: 'The database did not accept the connection in time' },
  {
    when: settingsRefusal,
    sentence:
      'A connection pooler does not accept settings from the database address: remove them there, and set them on the role (alter role … set …)',
  },
]

const tlsAdvice: Readonly<Record<TlsFault, string>> = {
  'unknown authority': 'name the file of its authority with sslrootcert',
  'other name': 'write the name that is in the certificate as the host, or set sslmode=verify-ca',
  expired: 'renew it',
  'not valid yet': 'check the clocks of both machines',
  'no TLS': 'check the host and the port',
}

const explainConnectError = (error: unknown, message: string) => {
  const code = codeOf(error)
  const tlsFault = tlsFaultOf(code, message)
  if (tlsFault) return new Error(`${tlsFaultWords[tlsFault]}; ${tlsAdvice[tlsFault]} (${code})`, { cause: error })
  const knownFailure = sentences.find(({ when }) => when.test(message))
  return knownFailure ? new Error(knownFailure.sentence, { cause: withoutValues(error) }) : withoutValues(error)
}

const settingsFor = ({ parameters }: PostgresAddress, { statementTimeoutMs, lockTimeoutMs }: Timeouts) =>
  Object.entries({
    statement_timeout: statementTimeoutMs,
    lock_timeout: lockTimeoutMs,
    idle_in_transaction_session_timeout: lockTimeoutMs * 2,
    // Times must not depend on the server's own time zone.
    timezone: 'UTC',
    ...parameters,
  })
    .map(([name, value]) => `-c ${`${name}=${value}`.replace(/[\\ ]/g, '\\$&')}`)
    .join(' ')

const sslOptions = ({ mode, ca, cert, key }: Tls, host: string): ClientConfig['ssl'] => {
  if (mode === 'disable' || host.startsWith('/')) return false
  return {
    rejectUnauthorized: mode === 'verify-ca' || mode === 'verify-full',
    ...(mode === 'verify-ca' && { checkServerIdentity: () => undefined }),
    ...(ca && { ca }),
    ...(cert && { cert, key }),
  }
}

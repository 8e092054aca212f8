import { setTimeout as wait } from 'node:timers/promises'
import { withTimeout } from '../../lib/with-timeout.js'
import { proveCommit } from './commit-proof.js'
import type { Connection, OnClosed } from './connection.js'
import { StoreUnavailable } from './database.js'
import type { ConnectTo, Host } from './postgres-host.js'

type Log = { warn(details: object, message: string): void }
export type Search = { hosts: Host[]; connect: ConnectTo; timeoutMs: number; log?: Log | undefined }

type Claim = { writable: boolean; timeline: string; pid: number }
type Candidate = { host: Host; connection: Connection; claim: Claim }

// A promotion starts a new timeline. Its number is the first eight digits in the name of the current file of the write-ahead log.
const timeline = `case when pg_is_in_recovery() then '' else substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8) end`

const claimQuery = ({ hosts }: Search) =>
  `select not pg_is_in_recovery() and current_setting('transaction_read_only') = 'off' as writable,
          ${hosts.length > 1 ? timeline : `''`} as timeline, pg_backend_pid() as pid`

/** Connects to a host and asks whether it accepts writes. If there is only one host, it is used in any case. */
export const askHost = async (search: Search, host: Host, onClosed: OnClosed): Promise<Candidate> => {
  const deadline = performance.now() + search.timeoutMs
  let isAccepted = false
  const connection = await search.connect(
    host,
    search.timeoutMs,
    (closed, isHung) => isAccepted && onClosed(closed, isHung),
  )
  try {
    const [claim] = await within(deadline - performance.now(), connection, () =>
      connection.query<Claim>(claimQuery(search)),
    )
    if (!claim) throw new Error(`${hostName(host)} gave no answer`)
    if (!claim.writable && search.hosts.length > 1) throw new Error(`${hostName(host)} is a standby or read-only`)
    // A pooler invents the id of the process, and may give every transaction another connection, on which a prepared
    // statement does not exist.
    if (claim.pid === connection.processId) connection.keepStatements()
    isAccepted = true
    return { host, connection, claim }
  } catch (error) {
    endQuietly(connection)
    throw error
  }
}

/** Asks every host and returns the newest primary that can commit. Rejects with one sentence that names each reason. */
export const findPrimary = async (search: Search, onClosed: OnClosed): Promise<Candidate> => {
  let primary: Candidate | undefined
  const onEnd: OnClosed = (connection, isHung) => connection === primary?.connection && onClosed(connection, isHung)
  const { candidates, failures } = await askAll(search, onEnd)
  for (const candidate of leadersOf(candidates, search.log)) {
    try {
      // A single host is used even if it is a standby or read-only. It cannot commit, so commits are not tested.
      if (candidate.claim.writable) await commitWithin(search.timeoutMs, candidate.connection)
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

const commitWithin = (ms: number, connection: Connection) => within(ms, connection, () => proveCommit(connection))

// How long to wait for the other hosts once a host says that it is the primary, because another host may be a newer primary.
const graceMs = 500

const askAll = async (search: Search, onClosed: OnClosed) => {
  const candidates: Candidate[] = []
  const failures: unknown[] = []
  let isOver = false
  const asks = search.hosts.map(async (host) => {
    const candidate = await askHost(search, host, onClosed)
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

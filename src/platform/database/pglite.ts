import { once } from 'node:events'
import { mkdir } from 'node:fs/promises'
import { dirname, resolve } from 'node:path'
import { setFlagsFromString } from 'node:v8'
import { Worker } from 'node:worker_threads'
import { builtFile } from '../../lib/home.js'
import { withTimeout } from '../../lib/with-timeout.js'
import { openConnection } from './connection.js'
import { type Database, StoreUnavailable } from './database.js'
import { DataDirectoryUnwritable, type HolderKind } from './directory-faults.js'
import { lockDirectory } from './directory-lock.js'
import { createPool, type Pool } from './embedded-pool.js'
import type { Open } from './opening-connections.js'
import { whyNotOpened } from './pglite-fault.js'
import { createPipe, type Pipe } from './pglite-pipe.js'
import { createPgliteServer } from './pglite-server.js'
import { createPooledDatabase } from './transactions.js'

export type PgliteOptions = {
  directory: string
  /** A packed database with the current schema (scripts/embedded-template.mjs). Without it the first start takes several seconds. */
  templateFile?: string
  /** PGlite ignores statement_timeout, so its thread is stopped and started again after this time. */
  statementTimeoutMs?: number
  /** The settings of a service. Commands on this machine use the database through the service, and get these settings from it. */
  settingsForCommands?: Readonly<Record<string, string | undefined>> | undefined
  /** Other processes are told that a process of this kind has the database open. */
  kind?: HolderKind
  log?: Record<'info' | 'warn', (details: object, message: string) => void>
}

// Opening includes the recovery after a crash and, without a template, the creation of the whole directory.
const openTimeoutMs = 120_000
const waitingLimit = 1_000
const closeGraceMs = 5_000

/**
 * WebAssembly is compiled quickly and not optimised. Optimising takes two seconds of processor time at each start and 100 MB,
 * and makes a statement a fifth faster, which does not matter in development.
 */
const compileQuickly = () => {
  setFlagsFromString('--no-wasm-tier-up')
  setFlagsFromString('--no-wasm-dynamic-tiering')
}

/** PostgreSQL in this process: a thread that speaks the same protocol as a server, over a pipe instead of a socket. */
export const createPglite = async (options: PgliteOptions): Promise<Database> => {
  const directory = resolve(options.directory)
  const statementTimeoutMs = options.statementTimeoutMs ?? 30_000
  const lock = await lockData(directory, options.kind ?? 'command')
  compileQuickly()
  const thread = createThread({ ...options, directory, statementTimeoutMs })
  const pool = createPool({
    open: thread.open,
    size: 1,
    waitingLimit,
    waitMs: openTimeoutMs + statementTimeoutMs,
    noAnswerText: 'The embedded database does not answer',
    idleMs: Number.POSITIVE_INFINITY,
    lifetimeMs: Number.POSITIVE_INFINITY,
  })
  const database = createPooledDatabase({ pool, idleInTransactionMs: statementTimeoutMs, closeGraceMs })
  const upkeep = startUpkeep(pool)
  const commands = createPgliteServer({
    pool,
    exchange: thread.exchange,
    statementTimeoutMs,
    settings: options.settingsForCommands ?? {},
  })
  const close = async () => {
    upkeep.stop()
    commands.refuseMore()
    await database.close()
    await thread.ended()
    await commands.close()
    await lock.release()
  }
  try {
    await database.ping()
    if (options.settingsForCommands) lock.admit(commands.serve)
  } catch (error) {
    await close()
    throw error
  }
  return { ...database, close }
}

const lockData = async (directory: string, kind: HolderKind) => {
  try {
    await mkdir(dirname(directory), { recursive: true, mode: 0o700 })
  } catch (cause) {
    throw new DataDirectoryUnwritable(dirname(directory), { cause })
  }
  return await lockDirectory(directory, kind)
}

// PGlite does not have the background processes of a server. Without this upkeep the log would grow until the next start, and the space
// of deleted rows would never be reused.
const upkeepMs = 60_000
const upkeepBytes = 16 * 1024 * 1024

const startUpkeep = (pool: Pool) => {
  let lastPosition: string | undefined
  const run = () =>
    pool.use(async (connection) => {
      const [walPosition] = await connection.query<{ now: string; enough: boolean }>(
        'select lsn::text as now, pg_wal_lsn_diff(lsn, $1::pg_lsn) > $2 as enough from pg_current_wal_lsn() as lsn',
        [lastPosition ?? '0/0', upkeepBytes],
      )
      if (lastPosition !== undefined && walPosition?.enough) {
        await connection.script('vacuum (analyze)')
        await connection.script('checkpoint')
      }
      if (lastPosition === undefined || walPosition?.enough) lastPosition = walPosition?.now
    })
  const timer = setInterval(() => {
    run().catch(() => undefined)
  }, upkeepMs)
  timer.unref()
  return { stop: () => clearInterval(timer) }
}

type ThreadOptions = PgliteOptions & { statementTimeoutMs: number }

const createThread = ({ directory, templateFile, statementTimeoutMs, log }: ThreadOptions) => {
  // Two threads on one directory would destroy it, so a thread starts only after the one before it has ended.
  let ended: Promise<unknown> = Promise.resolve()
  let pipe: Pipe | undefined
  const open: Open = async (onClosed) => {
    await ended
    const worker = new Worker(builtFile('platform/database/pglite.worker.js'), {
      workerData: { directory, templateFile },
      name: 'embedded-database',
    })
    ended = new Promise((resolve) => worker.once('exit', resolve))
    await waitUntilReady(worker, directory)
    const newPipe = createPipe(worker)
    pipe = newPipe
    const connection = await openConnection({
      client: { stream: () => newPipe.stream, host: 'embedded', user: 'postgres', password: () => '', ssl: false },
      deadlineMs: statementTimeoutMs,
    })
    connection.onClosed = (isHung) => {
      if (isHung) log?.warn({}, 'The embedded database did not answer in time and is restarted')
      onClosed(connection, isHung)
    }
    connection.keepStatements()
    return connection
  }
  /** Sends bytes of the protocol past the driver. Only the holder of the connection may call this, while the driver is idle. */
  const exchange = (bytes: Buffer) =>
    pipe?.exchange(bytes) ?? Promise.reject(new StoreUnavailable('The embedded database is not open'))
  return { open, exchange, ended: () => ended }
}

const waitUntilReady = async (worker: Worker, directory: string) => {
  const listening = new AbortController()
  const { signal } = listening
  const ended = once(worker, 'exit', { signal }).then(() => {
    throw new Error('its thread ended')
  })
  ended.catch(() => undefined)
  try {
    // `once` rejects if the thread reports an error instead.
    const ready = once(worker, 'message', { signal })
    await withTimeout(Promise.race([ready, ended]), openTimeoutMs, () => {
      throw new Error('it took too long')
    })
    listening.abort()
  } catch (cause) {
    worker.terminate().catch(() => undefined)
    throw new StoreUnavailable(`The embedded database does not open: ${await whyNotOpened(cause, directory)}`, {
      cause,
    })
  }
}

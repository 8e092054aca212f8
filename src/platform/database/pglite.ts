import { once } from 'node:events'
import { mkdir } from 'node:fs/promises'
import { dirname, resolve } from 'node:path'
import { Duplex } from 'node:stream'
import { setFlagsFromString } from 'node:v8'
import { Worker } from 'node:worker_threads'
import { builtFile } from '../../lib/home.js'
import { withTimeout } from '../../lib/with-timeout.js'
import { openConnection } from './connection.js'
import { type Database, StoreUnavailable } from './database.js'
import { DataDirectoryUnwritable, lockDirectory } from './directory-lock.js'
import type { Open } from './opening-connections.js'
import { createPool, type Pool } from './pool.js'
import { createPooledDatabase } from './pooled-database.js'

export { DataDirectoryInUse, DataDirectoryUnwritable } from './directory-lock.js'

export type PgliteOptions = {
  directory: string
  /** A packed, empty database (scripts/embedded-template.mjs). Without it the first start takes several seconds. */
  templateFile?: string
  /** PGlite ignores statement_timeout: after this time its thread is stopped and started again. */
  statementTimeoutMs?: number
  log?: { warn(details: object, message: string): void }
}

// Opening includes the recovery after a crash, and without a template the creation of the whole directory.
const openMs = 120_000
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
  const lock = await lockData(directory)
  compileQuickly()
  const thread = createThread({ ...options, directory, statementTimeoutMs })
  const pool = createPool({
    open: thread.open,
    size: 1,
    waitingLimit,
    waitMs: openMs + statementTimeoutMs,
    noAnswer: 'The embedded database does not answer',
    idleMs: Number.POSITIVE_INFINITY,
    lifetimeMs: Number.POSITIVE_INFINITY,
  })
  const database = createPooledDatabase({ pool, idleInTransactionMs: statementTimeoutMs, closeGraceMs })
  const upkeep = startUpkeep(pool)
  const close = async () => {
    upkeep.stop()
    await database.close()
    await thread.ended()
    await lock.release()
  }
  try {
    await database.ping()
  } catch (error) {
    await close()
    throw error
  }
  return { ...database, close }
}

const lockData = async (directory: string) => {
  try {
    await mkdir(dirname(directory), { recursive: true })
  } catch (cause) {
    throw new DataDirectoryUnwritable(dirname(directory), { cause })
  }
  return await lockDirectory(directory)
}

// The work of a server's background processes, which PGlite does not have: without it the log grows until the next start,
// and the space of deleted rows is never reused.
const upkeepMs = 60_000
const upkeepBytes = 16 * 1024 * 1024

const startUpkeep = (pool: Pool) => {
  let last: string | undefined
  const run = () =>
    pool.use(async (connection) => {
      const [written] = await connection.query<{ now: string; enough: boolean }>(
        'select lsn::text as now, pg_wal_lsn_diff(lsn, $1::pg_lsn) > $2 as enough from pg_current_wal_lsn() as lsn',
        [last ?? '0/0', upkeepBytes],
      )
      if (last !== undefined && written?.enough) {
        await connection.script('vacuum (analyze)')
        await connection.script('checkpoint')
      }
      if (last === undefined || written?.enough) last = written?.now
    })
  const timer = setInterval(() => {
    run().catch(() => undefined)
  }, upkeepMs)
  timer.unref()
  return { stop: () => clearInterval(timer) }
}

type ThreadOptions = PgliteOptions & { statementTimeoutMs: number }

const createThread = ({ directory, templateFile, statementTimeoutMs, log }: ThreadOptions) => {
  // Two threads on one directory would destroy it: the next one starts only after the last one has ended.
  let ended: Promise<unknown> = Promise.resolve()
  const open: Open = async (onClosed) => {
    await ended
    const worker = new Worker(builtFile('platform/database/pglite.worker.js'), {
      workerData: { directory, templateFile },
      name: 'embedded-database',
    })
    ended = new Promise((resolve) => worker.once('exit', resolve))
    await ready(worker)
    const connection = await openConnection({
      client: { stream: () => createPipe(worker), host: 'embedded', user: 'postgres', password: () => '', ssl: false },
      deadlineMs: statementTimeoutMs,
      onClosed: (closed, hung) => {
        if (hung) log?.warn({}, 'The embedded database did not answer in time and is restarted')
        onClosed(closed, hung)
      },
    })
    connection.keepStatements()
    return connection
  }
  return { open, ended: () => ended }
}

const ready = async (worker: Worker) => {
  const listening = new AbortController()
  const { signal } = listening
  const ended = once(worker, 'exit', { signal }).then(() => {
    throw new Error('its thread ended')
  })
  ended.catch(() => undefined)
  try {
    // Rejects when the thread reports an error instead.
    const opened = once(worker, 'message', { signal })
    await withTimeout(Promise.race([opened, ended]), openMs, () => {
      throw new Error('it took too long')
    })
    listening.abort()
  } catch (cause) {
    worker.terminate().catch(() => undefined)
    const reason = cause instanceof Error ? cause.message : 'unknown failure'
    throw new StoreUnavailable(`The embedded database does not open: ${reason}`, { cause })
  }
}

const startupGreeting = Buffer.concat([
  Buffer.from([0x52, 0, 0, 0, 8, 0, 0, 0, 0]), // R: authenticated
  Buffer.from([0x5a, 0, 0, 0, 5, 0x49]), // Z: ready, idle
])
const terminateMessage = 'X'.charCodeAt(0)

/** Makes the thread look like a socket for the driver. The thread has no sign-in: the greeting is sent from here. */
const createPipe = (worker: Worker): Duplex => {
  let greeted = false
  const ended = new Promise((resolve) => worker.once('exit', resolve))
  const send = (bytes: Uint8Array<ArrayBuffer>) => {
    if (!greeted) {
      greeted = true
      // Later: the driver does not expect an answer while it is still writing.
      setImmediate(() => pipe.push(startupGreeting))
    } else if (bytes[0] !== terminateMessage) worker.postMessage(bytes, [bytes.buffer])
  }
  const pipe = new Duplex({
    read: () => undefined,
    // Copied to its exact size: a Buffer is a view of a larger block, all of which would be sent.
    write: (chunk: Buffer, _encoding, done) => {
      send(new Uint8Array(chunk))
      done()
    },
    // One message to the thread for everything that belongs to a statement.
    writev: (chunks, done) => {
      send(new Uint8Array(Buffer.concat(chunks.map(({ chunk }) => chunk as Buffer))))
      done()
    },
    final: (done) => {
      worker.postMessage('close')
      ended.then(() => done(), done)
    },
    destroy: (error, done) => {
      worker.terminate().then(() => done(error), done)
    },
  })
  worker.on('message', (bytes: Uint8Array) => pipe.push(Buffer.from(bytes.buffer)))
  worker.once('error', (error) => pipe.destroy(error))
  worker.once('exit', () => {
    if (!pipe.writableEnded) pipe.destroy(new Error('The thread of the embedded database ended'))
    else pipe.push(null)
  })
  return Object.assign(pipe, {
    setNoDelay: () => undefined,
    connect: () => process.nextTick(() => pipe.emit('connect')),
  })
}

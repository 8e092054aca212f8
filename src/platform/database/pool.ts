import { EventEmitter } from 'node:events'
import { type ClientBase, Pool as PgPool } from 'pg'
import { withTimeout } from '../../lib/with-timeout.js'
import type { Connection } from './connection.js'
import { StoreUnavailable } from './database.js'
import type { Primary } from './primary.js'

export type Pool = {
  use<Result>(work: (connection: Connection) => Promise<Result>): Promise<Result>
  stats(): { open: number; busy: number; waiting: number }
  /** Lets running statements finish within the grace time, then closes every connection. */
  close(graceMs: number): Promise<void>
}

type Dependencies = {
  primary: Primary
  size: number
  /** How long a statement waits for a connection. */
  waitMs: number
  /** The message if no connection could be opened within `waitMs`. */
  noAnswerText: string
}

const lifetimeSeconds = 30 * 60
const idleMs = 60_000
/** How many statements may wait for each connection. The next one is refused. */
const waitersPerConnection = 100
/** How long a server that refuses more connections is asked for none, while there are some. */
const refusalHoldsMs = 1_000

/** A pool of connections to the primary. pg.Pool hands them out; which of them may be used, and how long a caller waits, is decided here. */
export const createPool = ({ primary, size, waitMs, noAnswerText }: Dependencies): Pool => {
  const open = new Set<Connection>()
  const Client = createPooledClient(primary, open)
  const pool = new PgPool({
    // The type of a client of the driver has much more than pg.Pool uses.
    Client: Client as unknown as new () => ClientBase,
    max: size,
    idleTimeoutMillis: idleMs,
    maxLifetimeSeconds: lifetimeSeconds,
  })
  // An idle connection has ended. pg.Pool has removed it.
  pool.on('error', () => undefined)
  let waiting = 0
  let underWay = 0
  let onLastEnded = () => {}
  let closing: Promise<void> | undefined

  const connect = async (): Promise<PooledClient> => {
    try {
      return (await pool.connect()) as unknown as PooledClient
    } catch (error) {
      if (pool.ending) throw new StoreUnavailable('The database is closed')
      if (open.size === 0) throw error
      // The server may have no room for more connections. An open one becomes free in time.
      pool.options.max = open.size
      setTimeout(() => {
        pool.options.max = size
      }, refusalHoldsMs).unref()
      return await connect()
    }
  }

  const connectToPrimary = async (): Promise<PooledClient> => {
    const client = await connect()
    if (client.isUsable()) return client
    client.release(true)
    return await connectToPrimary()
  }

  const acquire = async () => {
    if (waiting >= size * waitersPerConnection)
      throw new StoreUnavailable('Too many statements wait for a connection to the database')
    waiting += 1
    try {
      const client = connectToPrimary()
      return await withTimeout(client, waitMs, () => {
        client.then(
          (late) => late.release(),
          () => undefined,
        )
        throw new StoreUnavailable(open.size > 0 ? 'No connection to the database became free in time' : noAnswerText)
      })
    } finally {
      waiting -= 1
    }
  }

  const closeAll = async (graceMs: number) => {
    const lastEnded = new Promise<void>((resolve) => {
      onLastEnded = resolve
    })
    if (underWay > 0) await withTimeout(lastEnded, graceMs, () => undefined)
    const ends = [...open].map((connection) => connection.end().catch(() => undefined))
    // This resolves too early for those that are idle, and too late if a transaction never ends.
    void pool.end()
    await Promise.all(ends)
  }

  return {
    use: async (work) => {
      if (closing) throw new StoreUnavailable('The database is closed')
      underWay += 1
      try {
        const client = await acquire()
        try {
          return await work(client.connection)
        } finally {
          client.release(!client.isUsable())
        }
      } finally {
        underWay -= 1
        if (underWay === 0) onLastEnded()
      }
    },
    stats: () => ({ open: open.size, busy: underWay - waiting, waiting }),
    close: (graceMs) => {
      closing ??= closeAll(graceMs)
      return closing
    },
  }
}

type PooledClient = {
  readonly connection: Connection
  isUsable(): boolean
  /** Gives the client back to the pool, which closes it if `isBroken`. */
  release(isBroken?: boolean): void
}

/** The class of what pg.Pool keeps. Each stands for one connection, which the search for the primary opens. */
const createPooledClient = (primary: Primary, open: Set<Connection>) =>
  class extends EventEmitter {
    // pg.Pool asks by these names whether it may keep a client.
    _queryable = true
    readonly _ending = false
    opened: Connection | undefined

    get connection() {
      if (!this.opened) throw new Error('pg.Pool gave away a client that is not connected')
      return this.opened
    }

    connect(done: (error?: unknown) => void) {
      // An error event without a listener would end the process. The statement under way reports the error.
      this.on('error', () => undefined)
      primary.open().then((connection) => {
        this.opened = connection
        open.add(connection)
        connection.onClosed = (isHung) => {
          if (isHung) primary.retireAll()
          this.forget()
          // By this pg.Pool removes a client that is idle. One that is in use it removes when that is released.
          this.emit('error', new Error('The connection has ended'))
        }
        done()
      }, done)
    }

    isUsable() {
      return this.connection.isOpen() && primary.isCurrent(this.connection)
    }

    forget() {
      this._queryable = false
      open.delete(this.connection)
      this.emit('end')
    }

    /** Does not wait for the end: the pool may open another connection in the meantime. */
    end(done?: () => void) {
      if (this.opened) {
        this.forget()
        this.opened.end().catch(() => undefined)
      }
      done?.()
    }
  }

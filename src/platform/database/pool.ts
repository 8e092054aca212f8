import { EventEmitter } from 'node:events'
import { type ClientBase, Pool as PgPool } from 'pg'
import { withTimeout } from '../../lib/timing.js'
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

/** A pool of connections to the primary: who waits for one, and for how long. */
export const createPool = ({ primary, size, waitMs, noAnswerText }: Dependencies): Pool => {
  const clients = createClients(primary, size)
  let waiting = 0
  let underWay = 0
  let onLastEnded = () => {}
  let closing: Promise<void> | undefined

  const takeInTime = async () => {
    if (waiting >= size * waitersPerConnection)
      throw new StoreUnavailable('Too many statements wait for a connection to the database')
    waiting += 1
    try {
      const client = clients.take()
      return await withTimeout(client, waitMs, () => {
        client.then(clients.giveBack, () => undefined)
        const hasSome = clients.open.size > 0
        throw new StoreUnavailable(hasSome ? 'No connection to the database became free in time' : noAnswerText)
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
    await clients.end()
  }

  return {
    use: async (work) => {
      if (closing) throw new StoreUnavailable('The database is closed')
      let client: PooledClient | undefined
      underWay += 1
      try {
        client = await (clients.hasIdle() ? clients.take() : takeInTime())
        return await work(client.connection)
      } finally {
        if (client) clients.giveBack(client)
        underWay -= 1
        if (underWay === 0) onLastEnded()
      }
    },
    stats: () => ({ open: clients.open.size, busy: underWay - waiting, waiting }),
    close: (graceMs) => {
      closing ??= closeAll(graceMs)
      return closing
    },
  }
}

/** pg.Pool hands the connections out. Here is decided which of them may be used. */
const createClients = (primary: Primary, size: number) => {
  const open = new Set<PooledClient>()
  const Client = createPooledClient(primary, open)
  const pool = new PgPool({
    // The type of a client of the driver has much more than pg.Pool uses.
    Client: Client as unknown as new () => ClientBase,
    max: size,
    // With this, pg.Pool would set and clear a timer for each statement, which costs a twentieth of the statements in a second.
    idleTimeoutMillis: 0,
    maxLifetimeSeconds: lifetimeSeconds,
  })
  // pg.Pool tells of every idle client that it has removed.
  pool.on('error', () => undefined)
  const reaper = setInterval(() => {
    const now = performance.now()
    for (const client of open) if (client.usedAt + idleMs < now) client.removeIfIdle()
  }, idleMs / 2)
  reaper.unref()

  return {
    open,
    hasIdle: () => pool.idleCount > pool.waitingCount,
    take: async (): Promise<PooledClient> => {
      for (;;) {
        try {
          const client = (await pool.connect()) as unknown as PooledClient
          if (client.isUsable()) return client
          client.release(true)
        } catch (error) {
          if (pool.ending) throw new StoreUnavailable('The database is closed')
          if (open.size === 0) throw error
          // The server may have no room for more connections. An open one becomes free in time.
          pool.options.max = open.size
          setTimeout(() => {
            pool.options.max = size
          }, refusalHoldsMs).unref()
        }
      }
    },
    giveBack: (client: PooledClient) => {
      client.usedAt = performance.now()
      client.release(!client.isUsable() || client.connection.isInTransaction())
    },
    end: async () => {
      clearInterval(reaper)
      const ends = [...open].map(({ connection }) => connection.end().catch(() => undefined))
      // This resolves too early for those that are idle, and too late if a transaction never ends.
      void pool.end()
      await Promise.all(ends)
    },
  }
}

type PooledClient = {
  readonly connection: Connection
  /** When it was last given back. */
  usedAt: number
  isUsable(): boolean
  /** Gives the client back to the pool, which closes it if `isBroken`. */
  release(isBroken?: boolean): void
  removeIfIdle(): void
}

/** The class of what pg.Pool keeps. Each stands for one connection, which the search for the primary opens. */
const createPooledClient = (primary: Primary, open: Set<PooledClient>) =>
  class extends EventEmitter {
    /** pg.Pool asks by this name whether it may keep a client. */
    readonly _queryable = true
    /** pg.Pool sets this whenever it gives the client away. */
    declare release: PooledClient['release']
    usedAt = performance.now()
    opened: Connection | undefined

    get connection() {
      if (!this.opened) throw new Error('pg.Pool gave away a client that is not connected')
      return this.opened
    }

    isUsable() {
      return this.connection.isOpen() && primary.isCurrent(this.connection)
    }

    connect(done: (error?: unknown) => void) {
      // An error event without a listener would end the process. The statement under way reports the error.
      this.on('error', () => undefined)
      primary.open().then((connection) => {
        this.opened = connection
        open.add(this)
        connection.onClosed = (isHung) => {
          if (isHung) primary.retireAll()
          open.delete(this)
          this.removeIfIdle()
        }
        done()
      }, done)
    }

    /** pg.Pool listens to the errors of idle clients only, and ends them. */
    removeIfIdle() {
      this.emit('error', new Error('The connection has ended or is not needed'))
    }

    /** Called by pg.Pool. It does not wait for the server, so that another connection may be opened at once. */
    end(done?: () => void) {
      open.delete(this)
      this.opened?.end().catch(() => undefined)
      this.emit('end')
      done?.()
    }
  }

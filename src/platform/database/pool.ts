import { withTimeout } from '../../lib/with-timeout.js'
import type { Connection, OnClosed } from './connection.js'
import { StoreUnavailable } from './database.js'

/** `retire` stops the use of all connections that were opened before a moment: they go to the old primary. */
export type Open = (onClosed: OnClosed, retire: (before: number) => void) => Promise<Connection>

type Dependencies = {
  open: Open
  size: number
  /** How many statements may wait for a connection; the next one is refused. */
  waitingLimit: number
  waitMs: number
  /** What is said when no connection could be opened in that time. */
  noAnswer: string
  idleMs: number
  lifetimeMs: number
}

type Waiter = { resolve(connection: Connection): void; reject(error: unknown): void; timer: NodeJS.Timeout }

export type Pool = ReturnType<typeof createPool>

export const createPool = ({ open, size, waitingLimit, waitMs, noAnswer, idleMs, lifetimeMs }: Dependencies) => {
  const connections = new Set<Connection>()
  // The newest is used first, so that the others are idle for long enough to be closed.
  const idle: { connection: Connection; since: number }[] = []
  const waiters = new Set<Waiter>()
  const opening = new Set<Promise<void>>()
  let oldest = 0
  let closing = false
  let drained = () => {}

  const reaper = setInterval(
    () => {
      const now = performance.now()
      while (idle[0] && idle[0].since + idleMs < now) discard(idle[0].connection)
    },
    Math.min(idleMs, 30_000),
  )
  reaper.unref()

  const forget = (connection: Connection) => {
    connections.delete(connection)
    const place = idle.findIndex((entry) => entry.connection === connection)
    if (place >= 0) idle.splice(place, 1)
  }

  const discard = (connection: Connection) => {
    forget(connection)
    if (connection.isOpen()) connection.end().catch(() => undefined)
  }

  const retire = (before: number) => {
    oldest = before
    for (const { connection } of [...idle]) if (connection.openedAt < oldest) discard(connection)
  }

  const onClosed = (connection: Connection, hung: boolean) => {
    forget(connection)
    // If one connection hangs, the others to the same server hang as well. Close them all instead of waiting for each.
    if (hung) retire(performance.now())
    grow()
  }

  const settle = (waiter: Waiter) => {
    clearTimeout(waiter.timer)
    waiters.delete(waiter)
  }

  const offer = (connection: Connection) => {
    const [waiter] = waiters
    if (waiter) {
      settle(waiter)
      waiter.resolve(connection)
    } else {
      idle.push({ connection, since: performance.now() })
      if (closing) drained()
    }
  }

  const refuse = (some: Iterable<Waiter>, error: unknown) => {
    for (const waiter of some) {
      settle(waiter)
      waiter.reject(error)
    }
  }

  const grow = () => {
    if (closing || waiters.size <= opening.size || connections.size + opening.size >= size) return
    const attempt: Promise<void> = open(onClosed, retire).then(
      (connection) => {
        opening.delete(attempt)
        connections.add(connection)
        if (connection.isOpen()) offer(connection)
        else forget(connection)
      },
      (error) => {
        opening.delete(attempt)
        // While a connection is open, it may still become free in time. Otherwise only as many keep waiting as there are
        // attempts left.
        if (connections.size === 0) refuse([...waiters].slice(opening.size), error)
      },
    )
    opening.add(attempt)
  }

  const acquire = (): Promise<Connection> => {
    if (closing) return Promise.reject(new StoreUnavailable('The database is closed'))
    const rested = idle.pop()
    if (rested) return Promise.resolve(rested.connection)
    if (waiters.size >= waitingLimit) {
      return Promise.reject(new StoreUnavailable('Too many statements wait for a connection to the database'))
    }
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => {
        settle(waiter)
        const isFull = connections.size > 0
        reject(new StoreUnavailable(isFull ? 'No connection to the database became free in time' : noAnswer))
      }, waitMs)
      const waiter: Waiter = { resolve, reject, timer }
      waiters.add(waiter)
      grow()
    })
  }

  const release = (connection: Connection) => {
    const youngEnough = connection.openedAt >= Math.max(oldest, performance.now() - lifetimeMs)
    if (connection.isOpen() && youngEnough) return offer(connection)
    discard(connection)
    if (closing) drained()
    grow()
  }

  const isBusy = () => connections.size > idle.length

  return {
    stats: () => ({ open: connections.size, busy: connections.size - idle.length, waiting: waiters.size }),
    use: async <Result>(work: (connection: Connection) => Promise<Result>): Promise<Result> => {
      const connection = await acquire()
      try {
        return await work(connection)
      } finally {
        release(connection)
      }
    },
    /** Lets statements under way finish within the grace time, then closes every connection. */
    close: async (graceMs: number) => {
      closing = true
      clearInterval(reaper)
      refuse([...waiters], new StoreUnavailable('The database is closed'))
      if (isBusy()) {
        const allIdle = new Promise<void>((resolve) => {
          drained = () => {
            if (!isBusy()) resolve()
          }
        })
        await withTimeout(allIdle, graceMs, () => undefined)
      }
      await Promise.all(opening)
      await Promise.all([...connections].map((connection) => connection.end().catch(() => undefined)))
    },
  }
}

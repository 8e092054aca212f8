import type { Connection } from './connection.js'
import { createConnectionWaiters } from './connection-waiters.js'
import { StoreUnavailable } from './database.js'
import { createOpenConnections } from './open-connections.js'
import { createOpeningConnections, type Open } from './opening-connections.js'

type Dependencies = {
  open: Open
  size: number
  /** How many statements may wait for a connection; the next one is refused. */
  waitingLimit: number
  waitMs: number
  /** The message if no connection could be opened within `waitMs`. */
  noAnswerText: string
  idleMs: number
  lifetimeMs: number
}

export type Pool = ReturnType<typeof createPool>

export const createPool = ({ open, size, waitingLimit, waitMs, noAnswerText, idleMs, lifetimeMs }: Dependencies) => {
  const connections = createOpenConnections({ idleMs, lifetimeMs })
  const waiters = createConnectionWaiters(waitMs, () =>
    connections.count() > 0 ? 'No connection to the database became free in time' : noAnswerText,
  )
  const offer = (connection: Connection) => {
    if (!waiters.serve(connection)) connections.addIdle(connection)
  }
  const opening = createOpeningConnections({ open, size, connections, waiters, offer })
  let isClosing = false

  const acquire = async () => {
    if (isClosing) throw new StoreUnavailable('The database is closed')
    const idle = connections.takeIdle()
    if (idle) return idle
    if (waiters.count() >= waitingLimit)
      throw new StoreUnavailable('Too many statements wait for a connection to the database')
    const waiting = waiters.wait()
    opening.grow()
    return waiting
  }

  const release = (connection: Connection) => {
    if (connections.isUsable(connection)) return offer(connection)
    connections.discard(connection)
    opening.grow()
  }

  return {
    stats: () => ({ open: connections.count(), busy: connections.busy(), waiting: waiters.count() }),
    use: async <Result>(work: (connection: Connection) => Promise<Result>): Promise<Result> => {
      const connection = await acquire()
      try {
        return await work(connection)
      } finally {
        release(connection)
      }
    },
    /** Lets running statements finish within the grace time, then closes every connection. */
    close: async (graceMs: number) => {
      isClosing = true
      opening.stop()
      waiters.refuseAfter(0, new StoreUnavailable('The database is closed'))
      await connections.waitUntilAllIdle(graceMs)
      await opening.waitForAttempts()
      await connections.endAll()
    },
  }
}

import type { Connection, OnClosed } from './connection.js'
import type { ConnectionWaiters } from './connection-waiters.js'
import type { OpenConnections } from './open-connections.js'

/** `retire` stops the use of all connections that were opened before a moment: they go to the old primary. */
export type Open = (onClosed: OnClosed, retire: (before: number) => void) => Promise<Connection>

type Dependencies = {
  open: Open
  size: number
  connections: OpenConnections
  waiters: ConnectionWaiters
  offer: (connection: Connection) => void
}

/** Opens connections while statements wait for one and there is room. */
export const createOpeningConnections = ({ open, size, connections, waiters, offer }: Dependencies) => {
  const attempts = new Set<Promise<void>>()
  let isStopped = false

  const onClosed: OnClosed = (connection, hung) => {
    connections.forget(connection)
    // If one connection hangs, the others to the same server hang as well. Close them all instead of waiting for each.
    if (hung) connections.retire(performance.now())
    grow()
  }

  const onOpened = (connection: Connection) => {
    if (!connection.isOpen()) return
    connections.add(connection)
    offer(connection)
  }

  // While a connection is open, it may still become free in time. Otherwise only as many keep waiting as there are attempts left.
  const onFailed = (error: unknown) => {
    if (connections.count() === 0) waiters.refuseAfter(attempts.size, error)
  }

  const grow = () => {
    const hasRoom = connections.count() + attempts.size < size
    if (isStopped || !hasRoom || waiters.count() <= attempts.size) return
    const attempt: Promise<void> = open(onClosed, connections.retire).then(
      (connection) => {
        attempts.delete(attempt)
        onOpened(connection)
      },
      (error) => {
        attempts.delete(attempt)
        onFailed(error)
      },
    )
    attempts.add(attempt)
  }

  return {
    grow,
    stop: () => {
      isStopped = true
    },
    /** Resolves when no attempt is under way. */
    settled: () => Promise.all(attempts),
  }
}

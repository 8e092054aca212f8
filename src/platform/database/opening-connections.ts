import type { Connection } from './connection.js'
import type { ConnectionWaiters } from './connection-waiters.js'
import type { OpenConnections } from './open-connections.js'

type OnClosed = (connection: Connection, hung: boolean) => void

/** `retire` is called when the primary has changed. It stops the use of connections that were opened before the given moment. */
export type Open = (onClosed: OnClosed, retire: (before: number) => void) => Promise<Connection>

type Dependencies = {
  open: Open
  size: number
  connections: OpenConnections
  waiters: ConnectionWaiters
  offer: (connection: Connection) => void
}

/** Opens connections while statements wait for a connection and the pool has room. */
export const createOpeningConnections = ({ open, size, connections, waiters, offer }: Dependencies) => {
  const attempts = new Set<Promise<void>>()
  let isStopped = false

  const onClosed: OnClosed = (connection, isHung) => {
    connections.forget(connection)
    // If a connection hangs, the other connections to the same server hang as well, so all of them are closed.
    if (isHung) connections.retire(performance.now())
    grow()
  }

  const onOpened = (connection: Connection) => {
    if (!connection.isOpen()) return
    connections.add(connection)
    offer(connection)
  }

  // An open connection may still become free in time. If there is none, only as many statements may wait as there are attempts left.
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
    waitForAttempts: () => Promise.all(attempts),
  }
}

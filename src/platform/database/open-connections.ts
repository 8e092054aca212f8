import { withTimeout } from '../../lib/with-timeout.js'
import type { Connection } from './connection.js'
import { createIdleConnections } from './idle-connections.js'

type Times = { idleMs: number; lifetimeMs: number }

export type OpenConnections = ReturnType<typeof createOpenConnections>

/** The open connections of a pool. Connections that are too old, or idle for too long, are closed. */
export const createOpenConnections = ({ idleMs, lifetimeMs }: Times) => {
  const all = new Set<Connection>()
  let usableFrom = 0
  let onAllIdle = () => {}

  const forget = (connection: Connection) => {
    all.delete(connection)
    idle.remove(connection)
  }

  const discard = (connection: Connection) => {
    forget(connection)
    reportIfAllIdle()
    if (connection.isOpen()) connection.end().catch(() => undefined)
  }

  const idle = createIdleConnections(idleMs, discard)
  const busyCount = () => all.size - idle.count()
  const reportIfAllIdle = () => {
    if (busyCount() === 0) onAllIdle()
  }

  return {
    count: () => all.size,
    busy: busyCount,
    add: (connection: Connection) => {
      all.add(connection)
    },
    forget,
    discard,
    takeIdle: idle.take,
    addIdle: (connection: Connection) => {
      idle.add(connection)
      reportIfAllIdle()
    },
    /** Connections that were opened before this moment are not used again. */
    retire: (before: number) => {
      usableFrom = before
      for (const connection of idle.openedBefore(usableFrom)) discard(connection)
    },
    isUsable: (connection: Connection) =>
      connection.isOpen() && connection.openedAt >= Math.max(usableFrom, performance.now() - lifetimeMs),
    /** Resolves when no connection is in use any more, or when the grace time is over. */
    waitUntilAllIdle: async (graceMs: number) => {
      if (busyCount() === 0) return
      const lastIsIdle = new Promise<void>((resolve) => {
        onAllIdle = resolve
      })
      await withTimeout(lastIsIdle, graceMs, () => undefined)
    },
    endAll: async () => {
      idle.stop()
      await Promise.all([...all].map((connection) => connection.end().catch(() => undefined)))
    },
  }
}

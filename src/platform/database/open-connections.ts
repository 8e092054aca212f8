import { withTimeout } from '../../lib/with-timeout.js'
import type { Connection } from './connection.js'
import { createIdleConnections } from './idle-connections.js'

type Times = { idleMs: number; lifetimeMs: number }

export type OpenConnections = ReturnType<typeof createOpenConnections>

/** The open connections of a pool. Those that are idle for too long, or too old, are closed. */
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
    checkIdle()
    if (connection.isOpen()) connection.end().catch(() => undefined)
  }

  const idle = createIdleConnections(idleMs, discard)
  const busy = () => all.size - idle.count()
  const checkIdle = () => {
    if (busy() === 0) onAllIdle()
  }

  return {
    count: () => all.size,
    busy,
    add: (connection: Connection) => {
      all.add(connection)
    },
    forget,
    discard,
    takeIdle: idle.take,
    addIdle: (connection: Connection) => {
      idle.add(connection)
      checkIdle()
    },
    /** No connection that was opened before this moment is used again. */
    retire: (before: number) => {
      usableFrom = before
      for (const connection of idle.openedBefore(usableFrom)) discard(connection)
    },
    isUsable: (connection: Connection) =>
      connection.isOpen() && connection.openedAt >= Math.max(usableFrom, performance.now() - lifetimeMs),
    /** Resolves when none is in use any more, or the grace time is over. */
    allIdle: async (graceMs: number) => {
      if (busy() === 0) return
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

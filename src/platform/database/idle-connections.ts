import type { Connection } from './connection.js'

/** Connections that are not in use. One that is idle for longer than `idleMs` is given to `onTooLong`, which must `remove` it. */
export const createIdleConnections = (idleMs: number, onTooLong: (connection: Connection) => void) => {
  // The newest is used first, so that the others are idle for long enough to be closed.
  const idle: { connection: Connection; since: number }[] = []

  const reaper = setInterval(
    () => {
      const now = performance.now()
      while (idle[0] && idle[0].since + idleMs < now) onTooLong(idle[0].connection)
    },
    Math.min(idleMs, 30_000),
  )
  reaper.unref()

  return {
    count: () => idle.length,
    add: (connection: Connection) => {
      idle.push({ connection, since: performance.now() })
    },
    take: () => idle.pop()?.connection,
    remove: (connection: Connection) => {
      const place = idle.findIndex((entry) => entry.connection === connection)
      if (place >= 0) idle.splice(place, 1)
    },
    openedBefore: (moment: number) =>
      idle.map(({ connection }) => connection).filter(({ openedAt }) => openedAt < moment),
    stop: () => clearInterval(reaper),
  }
}

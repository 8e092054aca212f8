import type { Connection } from './connection.js'
import { StoreUnavailable } from './database.js'

type Waiter = { resolve(connection: Connection): void; reject(error: unknown): void; timer: NodeJS.Timeout }

export type ConnectionWaiters = ReturnType<typeof createConnectionWaiters>

/** Statements that wait for a connection, the oldest first. `lateReason` says why a statement got no connection in time. */
export const createConnectionWaiters = (waitMs: number, lateReason: () => string) => {
  const waiters = new Set<Waiter>()

  const settle = (waiter: Waiter) => {
    clearTimeout(waiter.timer)
    waiters.delete(waiter)
  }

  return {
    count: () => waiters.size,
    wait: () =>
      new Promise<Connection>((resolve, reject) => {
        const timer = setTimeout(() => {
          settle(waiter)
          reject(new StoreUnavailable(lateReason()))
        }, waitMs)
        const waiter: Waiter = { resolve, reject, timer }
        waiters.add(waiter)
      }),
    /** Gives the connection to the oldest waiter. Returns false if none waits. */
    serve: (connection: Connection) => {
      const [waiter] = waiters
      if (!waiter) return false
      settle(waiter)
      waiter.resolve(connection)
      return true
    },
    /** Refuses all waiters except the oldest ones, as many as `keptCount`. */
    refuseAfter: (keptCount: number, error: unknown) => {
      for (const waiter of [...waiters].slice(keptCount)) {
        settle(waiter)
        waiter.reject(error)
      }
    },
  }
}

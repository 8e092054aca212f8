import { StoreUnavailable } from './database.js'
import type { Session } from './session.js'

export type OpenSession = (onClosed: (session: Session, hung: boolean) => void) => Promise<Session>

type Options = {
  open: OpenSession
  size: number
  /** How many may wait for a connection before the next is turned away. */
  waitingLimit: number
  waitMs: number
  idleMs: number
  lifetimeMs: number
}

type Waiter = { resolve(session: Session): void; reject(error: unknown): void; timer: NodeJS.Timeout }

export type Pool = ReturnType<typeof createPool>

export const createPool = ({ open, size, waitingLimit, waitMs, idleMs, lifetimeMs }: Options) => {
  const sessions = new Set<Session>()
  // The newest is taken first, so that the rest may rest long enough to be closed.
  const idle: { session: Session; since: number }[] = []
  const waiters = new Set<Waiter>()
  const opening = new Set<Promise<void>>()
  let closing = false
  let drained = () => {}

  const reaper = setInterval(
    () => {
      const now = performance.now()
      while (idle[0] && idle[0].since + idleMs < now) discard(idle[0].session)
    },
    Math.min(idleMs, 30_000),
  )
  reaper.unref()

  const forget = (session: Session) => {
    sessions.delete(session)
    const place = idle.findIndex((entry) => entry.session === session)
    if (place >= 0) idle.splice(place, 1)
  }

  const discard = (session: Session) => {
    forget(session)
    if (session.isOpen()) session.end().catch(() => undefined)
  }

  const dropIdle = () => {
    for (const { session } of [...idle]) discard(session)
  }

  const onClosed = (session: Session, hung: boolean) => {
    forget(session)
    // Where one connection hangs, the others to the same server hang as well: nobody should have to find out one by one.
    if (hung) dropIdle()
    grow()
  }

  const settle = (waiter: Waiter) => {
    clearTimeout(waiter.timer)
    waiters.delete(waiter)
  }

  const offer = (session: Session) => {
    const [waiter] = waiters
    if (waiter) {
      settle(waiter)
      waiter.resolve(session)
    } else {
      idle.push({ session, since: performance.now() })
      if (closing) drained()
    }
  }

  const refuseAll = (error: unknown) => {
    for (const waiter of [...waiters]) {
      settle(waiter)
      waiter.reject(error)
    }
  }

  const grow = () => {
    if (closing || waiters.size <= opening.size || sessions.size + opening.size >= size) return
    const attempt: Promise<void> = open(onClosed).then(
      (session) => {
        opening.delete(attempt)
        sessions.add(session)
        if (session.isOpen()) offer(session)
        else forget(session)
      },
      (error) => {
        opening.delete(attempt)
        // As long as one connection lives, a place on it may still become free in time.
        if (sessions.size === 0 && opening.size === 0) refuseAll(error)
      },
    )
    opening.add(attempt)
  }

  const acquire = (): Promise<Session> => {
    if (closing) return Promise.reject(new StoreUnavailable('The database is closed'))
    const rested = idle.pop()
    if (rested) return Promise.resolve(rested.session)
    if (waiters.size >= waitingLimit) {
      return Promise.reject(new StoreUnavailable('Too many statements wait for a connection to the database'))
    }
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => {
        settle(waiter)
        reject(new StoreUnavailable('No connection to the database became free in time'))
      }, waitMs)
      const waiter: Waiter = { resolve, reject, timer }
      waiters.add(waiter)
      grow()
    })
  }

  const release = (session: Session) => {
    if (session.isOpen() && session.openedAt + lifetimeMs > performance.now()) return offer(session)
    discard(session)
    if (closing) drained()
    grow()
  }

  const isBusy = () => sessions.size > idle.length

  return {
    stats: () => ({ open: sessions.size, busy: sessions.size - idle.length, waiting: waiters.size }),
    use: async <Result>(work: (session: Session) => Promise<Result>): Promise<Result> => {
      const session = await acquire()
      try {
        return await work(session)
      } finally {
        release(session)
      }
    },
    /** Lets what is under way finish within the grace, then closes every connection. */
    close: async (graceMs: number) => {
      closing = true
      clearInterval(reaper)
      refuseAll(new StoreUnavailable('The database is closed'))
      if (isBusy()) {
        await new Promise<void>((resolve) => {
          const timer = setTimeout(resolve, graceMs)
          drained = () => {
            if (isBusy()) return
            clearTimeout(timer)
            resolve()
          }
        })
      }
      await Promise.all(opening)
      await Promise.all([...sessions].map((session) => session.end().catch(() => undefined)))
    },
  }
}

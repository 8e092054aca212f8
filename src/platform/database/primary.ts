import type { Connection, OnClosed } from './connection.js'
import { StoreUnavailable } from './database.js'
import { askHost, findPrimary, type Search } from './find-primary.js'
import type { Open } from './pool.js'
import type { Host } from './postgres-host.js'

const firstPauseMs = 100
const longestPauseMs = 1_000

type Dependencies = Search & {
  /** With several hosts: how long the found primary is used before all are asked again. */ holdsMs: number
}

/**
 * Opens connections to the primary. If it is not known, or was lost, one search asks all hosts. After a failed search there
 * is a pause, twice as long each time, in which every caller is refused at once.
 */
export const createPrimary = (options: Dependencies): Open => {
  let primary: Host | undefined
  let previous: Host | undefined
  let foundAt = 0
  let search: Promise<Connection> | undefined
  let failure: Error | undefined
  let pauseMs = firstPauseMs
  let pauseEnds = 0
  const warn = createWarning(options.log)

  const startSearch = (onClosed: OnClosed, retire: (before: number) => void) => {
    search = findPrimary(options, onClosed)
      .then(
        ({ host, connection }) => {
          // An old primary may still answer after another one was promoted. What is written there is lost.
          if (previous && previous !== host) retire(connection.openedAt)
          previous = host
          primary = host
          foundAt = performance.now()
          failure = undefined
          pauseMs = firstPauseMs
          return connection
        },
        (error: Error) => {
          failure = error
          warn(error)
          // A random pause, so that not all instances ask at the same moment.
          pauseEnds = performance.now() + pauseMs * (0.75 + Math.random() / 2)
          pauseMs = Math.min(pauseMs * 2, longestPauseMs)
          throw error
        },
      )
      .finally(() => {
        search = undefined
      })
    return search
  }

  const openKnown = async (onClosed: OnClosed) => {
    const host = primary
    if (!host || (options.hosts.length > 1 && foundAt + options.holdsMs < performance.now())) return undefined
    try {
      const { connection } = await askHost(options, host, onClosed)
      return connection
    } catch {
      // The search that follows says why.
    }
    if (primary === host) primary = undefined
    return undefined
  }

  return async (onClosed, retire) => {
    const onEnd: OnClosed = (connection, hung) => {
      if (hung) primary = undefined
      onClosed(connection, hung)
    }
    const known = await openKnown(onEnd)
    if (known) return known
    if (failure && (search || performance.now() < pauseEnds)) throw failure
    if (!search) return await startSearch(onEnd, retire)
    await search
    const found = await openKnown(onEnd)
    if (!found) throw new StoreUnavailable('The primary was found and lost again')
    return found
  }
}

// At most one warning in this time.
const warningPauseMs = 5_000

const createWarning = (log: Search['log']) => {
  let quietUntil = 0
  return (error: Error) => {
    if (performance.now() < quietUntil) return
    quietUntil = performance.now() + warningPauseMs
    log?.warn({}, error.message)
  }
}

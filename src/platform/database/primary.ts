import type { Connection, OnClosed } from './connection.js'
import { StoreUnavailable } from './database.js'
import { askHost, findPrimary, type Search } from './find-primary.js'
import type { Open } from './pool.js'
import type { Host } from './postgres-host.js'

const firstPauseMs = 100
const longestPauseMs = 1_000

/**
 * Opens connections to the primary. Where it is not known, or was lost, one attempt asks all hosts. After one that failed
 * there is a pause, twice as long each time, and everybody who comes meanwhile is refused at once.
 */
export const createPrimary = (options: Search): Open => {
  let primary: Host | undefined
  let search: Promise<Connection> | undefined
  let failure: Error | undefined
  let pauseMs = firstPauseMs
  let pauseEnds = 0
  const warn = createWarning(options.log)

  const startSearch = (onClosed: OnClosed) => {
    search = findPrimary(options, onClosed)
      .then(
        ({ host, connection }) => {
          primary = host
          failure = undefined
          pauseMs = firstPauseMs
          return connection
        },
        (error: Error) => {
          failure = error
          warn(error)
          // Not all instances at the same moment.
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
    if (!host) return undefined
    try {
      const { connection } = await askHost(options, host, onClosed)
      return connection
    } catch {
      // The search that follows says why.
    }
    if (primary === host) primary = undefined
    return undefined
  }

  return async (onClosed) => {
    const onEnd: OnClosed = (connection, hung) => {
      if (hung) primary = undefined
      onClosed(connection, hung)
    }
    const known = await openKnown(onEnd)
    if (known) return known
    if (failure && (search || performance.now() < pauseEnds)) throw failure
    if (!search) return await startSearch(onEnd)
    await search
    const found = await openKnown(onEnd)
    if (!found) throw new StoreUnavailable('The primary was found and lost again')
    return found
  }
}

// The log needs to hear of it now and then only.
const warningPauseMs = 5_000

const createWarning = (log: Search['log']) => {
  let quietUntil = 0
  return (error: Error) => {
    if (performance.now() < quietUntil) return
    quietUntil = performance.now() + warningPauseMs
    log?.warn({}, error.message)
  }
}

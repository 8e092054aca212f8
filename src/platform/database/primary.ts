import type { Connection, OnClosed } from './connection.js'
import { StoreUnavailable } from './database.js'
import { askHost, findPrimary, type Search } from './find-primary.js'
import type { Open } from './opening-connections.js'
import type { Host } from './postgres-host.js'
import { createSearchPause } from './search-pause.js'

type Dependencies = Search & {
  /** With several hosts, how long a primary is used before all hosts are asked again. */
  holdsMs: number
}

/**
 * Opens connections to the primary. If the primary is not known, or was lost, one search asks all hosts. After a failed search there is
 * a pause, in which every caller is refused at once. The pause is twice as long after each failure.
 */
export const createPrimary = (options: Dependencies): Open => {
  let primary: Host | undefined
  let lastFoundPrimary: Host | undefined
  let foundAt = 0
  let search: Promise<Connection> | undefined
  const pause = createSearchPause(options.log)

  const startSearch = (onClosed: OnClosed, retire: (before: number) => void) => {
    search = findPrimary(options, onClosed)
      .then(
        ({ host, connection }) => {
          // An old primary may still answer after another host was promoted. What is written to the old one is lost.
          if (lastFoundPrimary && lastFoundPrimary !== host) retire(connection.openedAt)
          lastFoundPrimary = host
          primary = host
          foundAt = performance.now()
          pause.reset()
          return connection
        },
        (error: Error) => {
          pause.begin(error)
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
      // The search that follows reports the reason.
    }
    if (primary === host) primary = undefined
    return undefined
  }

  return async (onClosed, retire) => {
    const onEnd: OnClosed = (connection, isHung) => {
      if (isHung) primary = undefined
      onClosed(connection, isHung)
    }
    const knownConnection = await openKnown(onEnd)
    if (knownConnection) return knownConnection
    const failure = pause.failure()
    if (failure && (search || !pause.isOver())) throw failure
    if (!search) return await startSearch(onEnd, retire)
    await search
    const foundConnection = await openKnown(onEnd)
    if (!foundConnection) throw new StoreUnavailable('The primary was found and lost again')
    return foundConnection
  }
}

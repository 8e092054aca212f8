import type { Logger } from 'pino'
import { seconds } from '../../lib/durations.js'
import type { Cache } from './cache.js'
import type { MemoryCache } from './memory.js'

type Options = { shared: Cache; local: MemoryCache; log: Pick<Logger, 'info' | 'warn'>; probeEvery?: number }

const message = (error: unknown) =>
  error instanceof Error ? ((error.cause as Error | undefined) ?? error).message : ''

/**
 * The shared counters while they can be reached, and otherwise the same limits in this process. The local side notes what
 * the shared one said last, so that a guesser who has used up his attempts does not get new ones from an outage.
 *
 * After a failure nobody waits for the shared store again until a probe has found it working: an outage costs the requests
 * under way one deadline, and the later ones nothing.
 */
export const createResilientCache = ({ shared, local, log, probeEvery = 1 * seconds }: Options): Cache => {
  let reachable = true
  let closed = false
  let timer: NodeJS.Timeout | undefined

  const returned = () => {
    clearTimeout(timer)
    if (reachable) return
    reachable = true
    log.info('the shared counters are back: limits are shared between instances again')
  }

  const lost = (error: unknown) => {
    if (!reachable || closed) return
    reachable = false
    log.warn({ reason: message(error) }, 'the shared counters are out of reach: limits go on in this process')
    probeSoon()
  }

  const probeSoon = () => {
    clearTimeout(timer)
    timer = setTimeout(() => void shared.ping().then(returned, probeSoon), probeEvery)
    timer.unref()
    if (closed) clearTimeout(timer)
  }

  /** Undefined when the shared store could not do it. */
  const tryShared = async <Result>(ask: () => Promise<Result>): Promise<Result | undefined> => {
    if (!reachable) return undefined
    try {
      return await ask()
    } catch (error) {
      lost(error)
      return undefined
    }
  }

  return {
    reserve: async (key, limit) => {
      const seen = await tryShared(() => shared.reserve(key, limit))
      if (seen === undefined) {
        const own = await local.reserve(key, limit)
        return { ...own, window: `local ${own.window}` }
      }
      local.note(key, limit, seen)
      return { ...seen, window: `shared ${seen.window}` }
    },
    // What was taken from the shared counter and cannot be given back stays taken until its window ends.
    refund: async (key, window) => {
      const [side, own = ''] = window.split(' ')
      if (side === 'shared') await tryShared(() => shared.refund(key, own))
      await local.refund(key, own)
    },
    ping: async () => {
      try {
        await shared.ping()
      } catch (error) {
        lost(error)
        throw error
      }
      returned()
    },
    close: async () => {
      closed = true
      clearTimeout(timer)
      await Promise.all([shared.close(), local.close()])
    },
  }
}

import type { Logger } from 'pino'
import { seconds } from '../../lib/durations.js'
import type { Cache, SharedCache } from './cache.js'
import type { MemoryCache } from './memory.js'

type Dependencies = { shared: SharedCache; local: MemoryCache; log: Pick<Logger, 'info' | 'warn'>; probeEvery?: number }

const message = (error: unknown) =>
  error instanceof Error ? ((error.cause as Error | undefined) ?? error).message : ''

/** So many at once are answered within the timeout of a command. */
const carriedAtOnce = 200

/**
 * The shared counters while they can be reached, and otherwise the same limits in this process. This process remembers the
 * last answers of the shared store, so that an outage gives an attacker no new attempts. When the store is back, it first
 * gets what was counted without it.
 *
 * After a failure no request waits for the shared store until a probe has found it working: an outage costs the requests
 * under way one timeout, and later ones nothing.
 */
export const createResilientCache = ({ shared, local, log, probeEvery = 1 * seconds }: Dependencies): Cache => {
  let reachable = true
  let closed = false
  let timer: NodeJS.Timeout | undefined
  let returning: Promise<void> | undefined

  const carry = async (key: string) => {
    const missed = local.takeMissed(key)
    if (!missed) return
    try {
      await shared.carry(key, missed)
    } catch (error) {
      local.putBack(key, missed)
      throw error
    }
  }

  const carryAll = async () => {
    const keys = local.openKeys()
    for (let at = 0; at < keys.length; at += carriedAtOnce)
      await Promise.all(keys.slice(at, at + carriedAtOnce).map(carry))
    reachable = true
    clearTimeout(timer)
    log.info('the shared counters are back: limits are shared between instances again')
  }

  const returned = async () => {
    if (reachable) return
    returning ??= carryAll().finally(() => {
      returning = undefined
    })
    await returning
  }

  const lost = (error: unknown) => {
    if (!reachable || closed) return
    reachable = false
    log.warn({ reason: message(error) }, 'the shared counters cannot be used: limits are counted in this process')
    probeSoon()
  }

  const probeSoon = () => {
    clearTimeout(timer)
    timer = setTimeout(() => void shared.ping().then(returned).catch(probeSoon), probeEvery)
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
      const seen = await tryShared(async () => {
        // It was counted here while the other keys were carried over.
        if (local.hasMissed(key)) await carry(key)
        return shared.reserve(key, limit)
      })
      if (seen === undefined) return local.reserve(key, limit)
      local.note(key, limit, seen)
      return seen
    },
    // If the shared store cannot be reached, what it counted stays counted until the window ends.
    refund: async (key, window) => {
      if (window.countedBy === 'local') return local.refund(key, window)
      await tryShared(() => shared.refund(key, window))
      return local.noteRefund(key, window.id)
    },
    forget: async (key) => {
      await tryShared(() => shared.forget(key))
      return local.forget(key)
    },
    ping: async () => {
      try {
        await shared.ping()
        await returned()
      } catch (error) {
        lost(error)
        throw error
      }
    },
    close: async () => {
      closed = true
      clearTimeout(timer)
      await Promise.all([shared.close(), local.close()])
    },
  }
}

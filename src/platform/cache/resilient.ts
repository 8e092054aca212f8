import type { Logger } from 'pino'
import { seconds } from '../../lib/durations.js'
import type { Cache, SharedCache } from './cache.js'
import type { MemoryCache } from './memory.js'
import { createReachability } from './reachability.js'

type Dependencies = { shared: SharedCache; local: MemoryCache; log: Pick<Logger, 'info' | 'warn'>; probeEvery?: number }

/** How many counters Redis is asked about at once: it answers this many within the timeout of a command. */
const carryBatch = 200

/**
 * Uses the shared counters while they can be reached, and otherwise counts the same limits in this process. This process remembers the
 * last answers of the shared store, so that an outage gives an attacker no new attempts. When the store is back, the process first
 * reports what it has counted.
 */
export const createResilientCache = ({ shared, local, log, probeEvery = 1 * seconds }: Dependencies): Cache => {
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
    for (let at = 0; at < keys.length; at += carryBatch) await Promise.all(keys.slice(at, at + carryBatch).map(carry))
  }

  const reachability = createReachability({ ping: () => shared.ping(), catchUp: carryAll, log, probeEvery })

  return {
    reserve: async (key, limit) => {
      const reservation = await reachability.attempt(async () => {
        // This key may have been counted here after an outage, while the other keys were reported.
        if (local.hasUnreported(key)) await carry(key)
        return shared.reserve(key, limit)
      })
      if (reservation === undefined) return local.reserve(key, limit)
      local.note(key, limit, reservation)
      return reservation
    },
    // If the shared store cannot be reached, the reservation stays counted there until the window ends.
    refund: async (key, window) => {
      if (window.countedBy === 'local') return local.refund(key, window)
      await reachability.attempt(() => shared.refund(key, window))
      return local.noteRefund(key, window.id)
    },
    forget: async (key) => {
      await reachability.attempt(() => shared.forget(key))
      return local.forget(key)
    },
    ping: async () => {
      try {
        await shared.ping()
        await reachability.onAnswer()
      } catch (error) {
        reachability.onFailure(error)
        throw error
      }
    },
    close: async () => {
      reachability.stop()
      await Promise.all([shared.close(), local.close()])
    },
  }
}

import { seconds } from '../../lib/durations.js'
import type { Log } from '../log.js'
import { type Attempt, type Cache, type Reservation, reserveOne, type SharedCache, type Taken } from './cache.js'
import type { MemoryCache } from './memory.js'

type ReachabilityDependencies = {
  ping: () => Promise<void>
  /** Reports to the store what it has missed, before the store is used again. */
  catchUp: () => Promise<void>
  log: Log
  probeEvery: number
}

const messageOf = (error: unknown) =>
  error instanceof Error ? ((error.cause as Error | undefined) ?? error).message : ''

/**
 * Knows whether the shared store can be used. After a failure no request waits for the store until a probe has found that it works. So
 * an outage costs the requests that are under way one timeout, and later requests nothing.
 */
const createReachability = ({ ping, catchUp, log, probeEvery }: ReachabilityDependencies) => {
  let isReachable = true
  let isClosed = false
  let timer: NodeJS.Timeout | undefined
  let returning: Promise<void> | undefined

  const returnToStore = async () => {
    await catchUp()
    isReachable = true
    clearTimeout(timer)
    log.info('the shared counters are back: limits are shared between instances again')
  }

  const onAnswer = async () => {
    if (isReachable) return
    returning ??= returnToStore().finally(() => {
      returning = undefined
    })
    await returning
  }

  const onFailure = (error: unknown) => {
    if (!isReachable || isClosed) return
    isReachable = false
    log.warn({ reason: messageOf(error) }, 'the shared counters cannot be used: limits are counted in this process')
    probeSoon()
  }

  const probeSoon = () => {
    clearTimeout(timer)
    timer = setTimeout(() => void ping().then(onAnswer).catch(probeSoon), probeEvery)
    timer.unref()
    if (isClosed) clearTimeout(timer)
  }

  return {
    /** Asks the shared store. The result is undefined if the store cannot be used. */
    attempt: async <Result>(ask: () => Promise<Result>): Promise<Result | undefined> => {
      if (!isReachable) return undefined
      try {
        return await ask()
      } catch (error) {
        onFailure(error)
        return undefined
      }
    },
    onAnswer,
    onFailure,
    stop: () => {
      isClosed = true
      clearTimeout(timer)
    },
  }
}

type ResilientCacheDependencies = {
  shared: SharedCache
  local: MemoryCache
  log: Log
  probeEvery?: number
}

/**
 * Remembers the answers of the shared store. While they were under way, other attempts may have got none in time and were counted alone:
 * together they must not pass the limit, so the first answer that does is a refusal, and the last.
 */
const noteAnswers = (local: MemoryCache, attempts: readonly Attempt[], reservations: readonly Reservation[]) => {
  const isWithin = reservations.map((reservation, place) => {
    const attempt = attempts[place]
    return !attempt || local.note(attempt.key, attempt.limit, reservation)
  })
  const over = isWithin.indexOf(false)
  return reservations
    .slice(0, over === -1 ? undefined : over + 1)
    .map((reservation, place) => (place === over ? { ...reservation, granted: false, remaining: 0 } : reservation))
}

/** Gives back what this process has counted by itself, and returns the rest. */
const refundOwn = async (local: MemoryCache, taken: readonly Taken[]) => {
  await local.refund(taken.filter(({ window }) => window.countedBy === 'local'))
  return taken.filter(({ window }) => window.countedBy === 'shared')
}

/** How many counters the store is asked about at once: it answers this many within the timeout of a command. */
const carryBatch = 200

/**
 * Uses the shared counters while they can be reached, and otherwise counts the same limits in this process. This process remembers the
 * last answers of the shared store, so that an outage gives an attacker no new attempts. When the store is back, the process first
 * reports what it has counted.
 */
export const createResilientCache = ({
  shared,
  local,
  log,
  probeEvery = 1 * seconds,
}: ResilientCacheDependencies): Cache => {
  const carry = async (keys: readonly string[]) => {
    const missed = keys.map(local.takeMissed).filter((counter) => counter !== undefined)
    if (missed.length === 0) return
    try {
      const carried = await shared.carry(missed)
      for (const [place, counter] of missed.entries()) if (!carried[place]) local.putBack(counter)
    } catch (error) {
      missed.forEach(local.putBack)
      throw error
    }
  }

  const carryAll = async () => {
    const keys = local.openKeys()
    for (let at = 0; at < keys.length; at += carryBatch) await carry(keys.slice(at, at + carryBatch))
  }

  const reachability = createReachability({ ping: () => shared.ping(), catchUp: carryAll, log, probeEvery })

  const askShared = async (attempts: readonly Attempt[], returned: readonly Taken[]) => {
    const reservations = await reachability.attempt(async () => {
      // These keys may have been counted here after an outage, while the other keys were reported.
      const unreported = attempts.filter(({ key }) => local.hasUnreported(key))
      if (unreported.length > 0) await carry(unreported.map(({ key }) => key))
      return shared.reserveAll(attempts, returned)
    })
    return reservations && noteAnswers(local, attempts, reservations)
  }

  const reserveAll = async (attempts: readonly Attempt[], returned: readonly Taken[] = []): Promise<Reservation[]> => {
    const shares = returned.length > 0 ? await refundOwn(local, returned) : []
    const counted = await askShared(attempts, shares)
    for (const { key, window } of shares) local.noteRefund(key, window.id)
    if (!counted) return local.reserveAll(attempts)
    const missing = attempts[counted.length]
    if (!missing || counted.at(-1)?.granted === false) return counted
    // The store has no room for this key. It may have room for those after it.
    const reservation = await local.reserve(missing.key, missing.limit)
    const rest = reservation.granted ? attempts.slice(counted.length + 1) : []
    return [...counted, reservation, ...(rest.length > 0 ? await reserveAll(rest) : [])]
  }

  return {
    reserve: (key, limit) => reserveOne({ reserveAll }, key, limit),
    reserveAll,
    // If the shared store cannot be reached, the reservations stay counted there until their windows end.
    refund: async (taken) => {
      const shares = await refundOwn(local, taken)
      if (shares.length === 0) return
      await reachability.attempt(() => shared.refund(shares))
      for (const { key, window } of shares) local.noteRefund(key, window.id)
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
    seemsFull: local.seemsFull,
    isFull: shared.isFull,
    close: async () => {
      reachability.stop()
      await Promise.all([shared.close(), local.close()])
    },
  }
}

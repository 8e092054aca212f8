import { setImmediate as turn } from 'node:timers/promises'
import { pino } from 'pino'
import { describe, expect, it } from 'vitest'
import { systemClock } from '../../lib/clock.js'
import { minutes } from '../../lib/durations.js'
import { StoreUnavailable } from '../database/database.js'
import type { Attempt, Reservation, SharedCache } from './cache.js'
import { createMemoryCache } from './memory.js'
import { createResilientCache } from './resilient.js'

const log = pino({ level: 'silent' })
const limit = { maximum: 5, window: 15 * minutes }

/** A shared store that counts as it should, and answers when the test says so, or never. */
const createSlowStore = () => {
  const used = new Map<string, number>()
  const asked: { answer(): void; fail(): void }[] = []
  const count = ({ key, limit: { maximum, window } }: Attempt): Reservation => {
    const before = used.get(key) ?? 0
    const granted = before < maximum
    if (granted) used.set(key, before + 1)
    return {
      granted,
      remaining: Math.max(0, maximum - before - 1),
      resetsIn: window,
      window: { id: 'shared window', countedBy: 'shared' },
    }
  }
  const store: SharedCache = {
    reserveAll: (attempts) =>
      new Promise((resolve, reject) => {
        asked.push({
          answer: () => resolve(attempts.map(count)),
          fail: () => reject(new StoreUnavailable('The store did not count in time')),
        })
      }),
    carry: async (missed) => missed.map(() => true),
    refund: async () => undefined,
    forget: async () => undefined,
    ping: async () => undefined,
    isFull: () => false,
    close: async () => undefined,
  }
  return { store, asked }
}

const grantedOf = (all: readonly Reservation[][]) => all.flat().filter(({ granted }) => granted).length

describe('answers of the shared store that come after others were counted alone', () => {
  const openSlow = () => {
    const { store, asked } = createSlowStore()
    const local = createMemoryCache({ clock: systemClock, maximumKeys: 100 })
    const cache = createResilientCache({ shared: store, local, log, probeEvery: 1 * minutes })
    const ask = (count: number, ...keys: string[]) =>
      Array.from({ length: count }, () => cache.reserveAll(keys.map((key) => ({ key, limit }))))
    /** The first fail, the others are answered then. */
    const settle = async (waiting: readonly Promise<Reservation[]>[], failures: number) => {
      // Now each has asked the store.
      await turn()
      for (const { fail } of asked.splice(0, failures)) fail()
      const alone = await Promise.all(waiting.slice(0, failures))
      for (const { answer } of asked.splice(0)) answer()
      return [...alone, ...(await Promise.all(waiting.slice(failures)))]
    }
    return { cache, ask, settle }
  }

  it.each([
    { alone: 9, late: 9 },
    { alone: 3, late: 9 },
    { alone: 9, late: 1 },
  ])('grant no more than the limit: $alone alone, then $late', async ({ alone, late }) => {
    const { cache, ask, settle } = openSlow()
    const all = await settle(ask(alone + late, 'guesses'), alone)
    expect(grantedOf(all)).toBe(5)
    expect(all.flat().filter(({ granted }) => !granted)).toSatisfy((refused: Reservation[]) =>
      refused.every(({ remaining, resetsIn }) => remaining === 0 && resetsIn > 0),
    )
    await cache.close()
  })

  it('grant nothing after the counter that is full', async () => {
    const { cache, ask, settle } = openSlow()
    const waiting = [...ask(5, 'network'), ...ask(1, 'name', 'network', 'everybody')]
    const last = (await settle(waiting, 5)).at(-1)
    expect(last?.map(({ granted }) => granted)).toEqual([true, false])
    await cache.close()
  })
})

import { describe, expect, it } from 'vitest'
import { createMovableClock } from '../../../test/support/clock.js'
import { systemClock } from '../../lib/clock.js'
import { minutes } from '../../lib/durations.js'
import { createMemoryCache } from './memory.js'

const limit = { maximum: 5, window: 15 * minutes }

describe('the bound of the in-process counters', () => {
  const spend = async (cache: ReturnType<typeof createMemoryCache>, key: string, times: number) => {
    for (let n = 0; n < times; n += 1) await cache.reserve(key, limit)
  }

  it('keeps a spent counter while a flood of newcomers passes', async () => {
    const cache = createMemoryCache({ clock: systemClock, maximumKeys: 100 })
    await spend(cache, 'guesser', 5)
    for (let n = 0; n < 10_000; n += 1) await cache.reserve(`flood ${n}`, limit)
    expect(await cache.reserve('guesser', limit)).toMatchObject({ granted: false })
  })

  it('drops a counter at its limit only when all others are at theirs', async () => {
    const cache = createMemoryCache({ clock: systemClock, maximumKeys: 10 })
    await spend(cache, 'guesser', 5)
    for (let n = 0; n < 9; n += 1) await spend(cache, `other ${n}`, 5)
    await cache.reserve('newcomer', limit)
    expect(await cache.reserve('guesser', limit)).toMatchObject({ granted: true, remaining: 4 })
  })

  it('still limits newcomers at the bound', async () => {
    const cache = createMemoryCache({ clock: systemClock, maximumKeys: 2 })
    await spend(cache, 'one', 5)
    await spend(cache, 'two', 5)
    await spend(cache, 'three', 5)
    expect(await cache.reserve('three', limit)).toMatchObject({ granted: false })
  })

  it('forgets counters whose window has ended, so that memory comes back', async () => {
    const clock = createMovableClock()
    const cache = createMemoryCache({ clock, maximumKeys: 2 })
    await spend(cache, 'one', 5)
    clock.advance(16 * minutes)
    await spend(cache, 'two', 1)
    await spend(cache, 'three', 1)
    expect(await cache.reserve('two', limit)).toMatchObject({ remaining: 3 })
  })

  it('goes on from what a shared store said last', async () => {
    const cache = createMemoryCache({ clock: systemClock, maximumKeys: 10 })
    cache.note('guesser', limit, {
      granted: true,
      remaining: 1,
      resetsIn: 60_000,
      window: { id: 'w', countedBy: 'shared' },
    })
    const next = await cache.reserve('guesser', limit)
    expect(next).toMatchObject({ granted: true, remaining: 0, window: { id: 'w' } })
    expect(next.resetsIn).toBeLessThanOrEqual(60_000)
    expect(await cache.reserve('guesser', limit)).toMatchObject({ granted: false })
  })

  it('goes on from the largest number that a shared store said in a window, whichever answer came last', async () => {
    const cache = createMemoryCache({ clock: systemClock, maximumKeys: 10 })
    const note = (remaining: number, id: string) =>
      cache.note('guesser', limit, { granted: true, remaining, resetsIn: 60_000, window: { id, countedBy: 'shared' } })
    for (const remaining of [2, 0, 1]) note(remaining, 'w')
    expect(await cache.reserve('guesser', limit)).toMatchObject({ granted: false })
    note(4, 'next')
    expect(await cache.reserve('guesser', limit)).toMatchObject({ granted: true, remaining: 3 })
  })
})

import { randomUUID } from 'node:crypto'
import { Redis } from 'ioredis'
import { pino } from 'pino'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Clock } from '../../src/lib/clock.js'
import { minutes } from '../../src/lib/durations.js'
import { type Cache, type Reservation, reserveOne, type SharedCache } from '../../src/platform/cache/cache.js'
import { createMemoryCache } from '../../src/platform/cache/memory.js'
import { openCache } from '../../src/platform/cache/open.js'
import { createPostgresCache } from '../../src/platform/cache/postgres.js'
import { createRedisCache } from '../../src/platform/cache/redis.js'
import { readRedisAddress } from '../../src/platform/cache/redis-address.js'
import { validAddress } from '../../src/platform/invalid-address.js'

import { createMovableClock } from '../support/clock.js'
import { type FreshDatabase, freshPostgres, testPostgres } from '../support/databases.js'
import { answersPing } from '../support/servers/redis-server.js'
import { until } from '../support/until.js'

const log = pino({ level: 'silent' })
const limit = { maximum: 5, window: 15 * minutes }

const url = process.env.TEST_REDIS_URL ?? ''

type Counters = Omit<Cache, 'seemsFull'>
type CacheKind = { name: string; open(clock: Clock): Promise<Counters> }

/** Keys of one run never meet those of another, whatever else uses the server. */
const prefix = `test:${randomUUID()}:`

const asCache = (shared: SharedCache): Counters => ({
  ...shared,
  reserve: (key, limit) => reserveOne(shared, key, limit),
})

const openRedis = async (clock: Clock) => {
  const address = validAddress('TEST_REDIS_URL', readRedisAddress(url))
  const cache = asCache(createRedisCache({ address, prefix, clock, log, commandTimeout: 10_000 }))
  await until('Redis answers', () => answersPing(cache))
  return cache
}

let fresh: FreshDatabase
let database: ReturnType<typeof testPostgres>
beforeAll(async () => {
  fresh = await freshPostgres()
  database = testPostgres(fresh.url)
})
afterAll(async () => {
  await database?.close()
  await fresh?.drop()
})

const openPostgres = async (clock: Clock) => {
  const options = { url: fresh.url, database, clock, log, commandTimeout: 10_000 }
  return asCache(await createPostgresCache(options))
}

const openPostgresResilient = async (clock: Clock) => {
  const { cache } = await openCache({ postgres: { url: fresh.url, database }, clock, log, commandTimeout: 10_000 })
  return cache
}

const openResilient = async (clock: Clock) => {
  const { cache, start } = await openCache({ url, prefix, clock, log, commandTimeout: 10_000 })
  await start(Promise.resolve(true))
  return cache
}

const cacheKinds: CacheKind[] = [
  { name: 'in process', open: async (clock) => createMemoryCache({ clock, maximumKeys: 1_000 }) },
  { name: 'in Redis', open: openRedis },
  { name: 'in Redis, resilient', open: openResilient },
  { name: 'in PostgreSQL', open: openPostgres },
  { name: 'in PostgreSQL, resilient', open: openPostgresResilient },
]

describe.each(cacheKinds)('counters $name', ({ open }) => {
  const clock = createMovableClock()
  let cache: Counters

  beforeAll(async () => {
    cache = await open(clock)
  })
  afterAll(() => cache?.close())

  const key = () => `key:${randomUUID()}`
  const take = async (name: string, times: number) => {
    for (let n = 0; n < times; n += 1) await cache.reserve(name, limit)
  }

  describe('behave alike', () => {
    it('grant exactly five of forty parallel attempts', async () => {
      const name = key()
      const all = await Promise.all(Array.from({ length: 40 }, () => cache.reserve(name, limit)))
      expect(all.filter(({ granted }) => granted)).toHaveLength(5)
    })

    it('tell what remains and when the window ends', async () => {
      const name = key()
      const first = await cache.reserve(name, limit)
      expect(first).toMatchObject({ granted: true, remaining: 4 })
      expect(first.resetsIn).toBeGreaterThan(limit.window - 2_000)
      expect(first.resetsIn).toBeLessThanOrEqual(limit.window)
      clock.advance(5 * minutes)
      const second = await cache.reserve(name, limit)
      expect(second).toMatchObject({ granted: true, remaining: 3, window: first.window })
      expect(second.resetsIn).toBeLessThanOrEqual(10 * minutes)
      expect(second.resetsIn).toBeGreaterThan(10 * minutes - 2_000)
    })

    it('count nothing when they refuse, and keep the end of the window where it was', async () => {
      const name = key()
      await take(name, 5)
      clock.advance(14 * minutes)
      const refused = await cache.reserve(name, limit)
      expect(refused).toMatchObject({ granted: false, remaining: 0 })
      expect(refused.resetsIn).toBeLessThanOrEqual(1 * minutes)
      await cache.refund([{ key: name, window: refused.window }])
      expect(await cache.reserve(name, limit)).toMatchObject({ granted: true, remaining: 0 })
    })

    it('begin again when the window has ended', async () => {
      const name = key()
      await take(name, 6)
      clock.advance(limit.window + 1)
      expect(await cache.reserve(name, limit)).toMatchObject({ granted: true, remaining: 4 })
    })

    it('keep one key apart from another', async () => {
      await take(key(), 5)
      expect(await cache.reserve(key(), limit)).toMatchObject({ granted: true, remaining: 4 })
    })

    it('take a refund back into the same window', async () => {
      const name = key()
      await take(name, 3)
      const { window } = await cache.reserve(name, limit)
      await cache.refund([{ key: name, window }])
      expect(await cache.reserve(name, limit)).toMatchObject({ granted: true, remaining: 1 })
    })

    it('never go below zero, however often something is given back', async () => {
      const name = key()
      const { window } = await cache.reserve(name, limit)
      await Promise.all(Array.from({ length: 10 }, () => cache.refund([{ key: name, window }])))
      expect(await cache.reserve(name, limit)).toMatchObject({ granted: true, remaining: 4 })
    })

    it('do not take a refund into a later window', async () => {
      const name = key()
      const { window } = await cache.reserve(name, limit)
      clock.advance(limit.window + 1)
      await cache.reserve(name, limit)
      await cache.refund([{ key: name, window }])
      expect(await cache.reserve(name, limit)).toMatchObject({ remaining: 3 })
    })

    it('keep a window no longer than its limit says when the clock is set back', async () => {
      const name = key()
      await take(name, 2)
      clock.advance(-1 * 60 * minutes)
      const after = await cache.reserve(name, limit)
      clock.advance(1 * 60 * minutes)
      expect(after).toMatchObject({ granted: true, remaining: 2 })
      expect(after.resetsIn).toBeLessThanOrEqual(limit.window)
    })

    it('count several at once, in their order, and nothing after the one that refuses', async () => {
      const [first, full, last] = [key(), key(), key()]
      await take(full, 5)
      const small = { maximum: 2, window: 1 * minutes }
      const attempts = [first, full, last].map((name) => ({ key: name, limit: name === full ? limit : small }))
      const refused = await cache.reserveAll(attempts)
      expect(refused.map(({ granted, remaining }) => [granted, remaining])).toEqual([
        [true, 1],
        [false, 0],
      ])
      expect(refused[0]?.resetsIn).toBeLessThanOrEqual(1 * minutes)
      const granted = await cache.reserveAll(attempts.filter((each) => each.key !== full))
      expect(granted.map(({ remaining }) => remaining)).toEqual([0, 1])
    })

    it('count a key twice that is asked for twice', async () => {
      const twice = { key: key(), limit: { ...limit, maximum: 1 } }
      const [first, second] = await cache.reserveAll([twice, twice])
      expect([first?.granted, second?.granted]).toEqual([true, false])
    })

    it('take several back at once', async () => {
      const names = [key(), key(), key()]
      const attempts = names.map((name) => ({ key: name, limit }))
      const reservations = await cache.reserveAll(attempts)
      const taken = reservations.map(({ window }, place) => ({ key: names[place] ?? '', window }))
      await cache.refund([...taken, { key: key(), window: { id: '1', countedBy: 'shared' } }])
      const after = await cache.reserveAll(attempts)
      expect(after.map(({ remaining }) => remaining)).toEqual([4, 4, 4])
    })

    it('count and give back in one step, also if the limit refuses', async () => {
      const [guess, full] = [key(), key()]
      await take(full, 5)
      const { window } = await cache.reserve(guess, limit)
      const taken = [{ key: guess, window }]
      const [refused] = await cache.reserveAll([{ key: full, limit }], taken)
      expect(refused?.granted).toBe(false)
      expect(await cache.reserve(guess, limit)).toMatchObject({ remaining: 4 })
      const [again] = await cache.reserveAll([{ key: guess, limit }], taken)
      expect(again).toMatchObject({ granted: true, remaining: 4 })
    })

    it('wait for none that counts what they give back, and gives back what they count', async () => {
      const [one, two] = [key(), key()]
      const windows = new Map<string, Reservation>()
      for (const name of [one, two]) windows.set(name, await cache.reserve(name, { ...limit, maximum: 100 }))
      const step = (counted: string, returned: string) => {
        const taken = {
          key: returned,
          window: windows.get(returned)?.window ?? { id: '', countedBy: 'local' },
        } as const
        return cache.reserveAll([{ key: counted, limit: { ...limit, maximum: 100 } }], [taken])
      }
      const all = await Promise.all(Array.from({ length: 40 }, (_, n) => (n % 2 ? step(one, two) : step(two, one))))
      expect(
        all
          .flat()
          .every(({ granted, window }) => granted && window.countedBy === [...windows.values()][0]?.window.countedBy),
      ).toBe(true)
    })

    it('grant exactly five of forty parallel attempts that count in two orders', async () => {
      const [one, two] = [key(), key()].map((name) => ({ key: name, limit }))
      if (!one || !two) throw new Error('There are two keys')
      const all = await Promise.all(
        Array.from({ length: 40 }, (_, n) => cache.reserveAll(n % 2 ? [one, two] : [two, one])),
      )
      const granted = all.flat().filter((reservation) => reservation.granted)
      expect(granted).toHaveLength(10)
    })

    it('are all there again when they are forgotten', async () => {
      const name = key()
      await take(name, 5)
      await cache.forget(name)
      expect(await cache.reserve(name, limit)).toMatchObject({ granted: true, remaining: 4 })
    })

    it('answer a ping', async () => {
      await expect(cache.ping()).resolves.toBeUndefined()
    })
  })
})

describe('keys in Redis', () => {
  const short = { maximum: 5, window: 60 }
  let redis: Redis
  let cache: Counters

  beforeAll(async () => {
    redis = new Redis<'legacy'>(url)
    cache = await openRedis(createMovableClock())
  })
  afterAll(async () => {
    await cache?.close()
    redis?.disconnect()
  })

  it('are gone soon after their window, and a late refund brings none back', async () => {
    const { window } = await cache.reserve('late', short)
    await expect.poll(() => redis.exists(`${prefix}late`), { timeout: 2_000 }).toBe(0)
    await cache.refund([{ key: 'late', window }])
    expect(await redis.exists(`${prefix}late`)).toBe(0)
  })

  it('always carry an expiry, whatever was done to them', async () => {
    const { window } = await cache.reserve('one', limit)
    await Promise.all([
      cache.reserve('one', limit),
      cache.refund([{ key: 'one', window }]),
      cache.refund([{ key: 'two', window }]),
    ])
    const keys = await redis.keys(`${prefix}*`)
    expect(keys).toContain(`${prefix}one`)
    expect(keys).not.toContain(`${prefix}two`)
    for (const name of keys) expect(await redis.pttl(name), name).not.toBe(-1)
  })

  it('survive the loss of the scripts, also under many commands at once', async () => {
    await cache.reserve('scripts', limit)
    await redis.script('FLUSH')
    const all = await Promise.all(Array.from({ length: 40 }, () => cache.reserve('scripts', limit)))
    expect(all.filter(({ granted }) => granted)).toHaveLength(4)
  })
})

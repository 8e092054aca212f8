import { pino } from 'pino'
import { afterAll, describe, expect, it } from 'vitest'
import { systemClock } from '../../src/lib/clock.js'
import { minutes } from '../../src/lib/durations.js'
import type { Cache } from '../../src/platform/cache/cache.js'
import { openCache } from '../../src/platform/cache/open.js'
import { answersPing, createRedisServer, type RedisServer } from '../support/servers/redis-server.js'
import { until } from '../support/until.js'

const limit = { maximum: 5, window: 15 * minutes }

// One after another: each compares times with bounds that other tests in the same process would stretch.
describe('counters when Redis', () => {
  const leftovers: (() => Promise<void>)[] = []
  afterAll(async () => {
    for (const remove of leftovers.splice(0).reverse()) await remove()
  })

  const server = async (...words: string[]) => {
    const redis = await createRedisServer(words)
    leftovers.push(redis.remove)
    return redis
  }
  const open = async (redis: RedisServer) => {
    const lines: string[] = []
    const log = pino({ level: 'info' }, { write: (line: string) => void lines.push(JSON.parse(line).msg) })
    const cache = await openCache({ url: redis.url, clock: systemClock, log })
    leftovers.push(cache.close)
    return { cache, lines }
  }
  /** What one attempt answered, and how long it took. */
  const attempt = async (cache: Cache, key: string) => {
    const begun = performance.now()
    const { granted, window } = await cache.reserve(key, limit)
    return { granted, took: performance.now() - begun, side: window.countedBy, window }
  }
  const attempts = (cache: Cache, key: string, count: number) =>
    Promise.all(Array.from({ length: count }, () => attempt(cache, key)))

  /** On a machine with much else to do, the first commands may well take longer than they are given. */
  const guesserWithTwoAttempts = async (cache: Cache) => {
    let name = ''
    await until('both counters are in Redis', async () => {
      name = `guesser ${Math.random()}`
      return (await attempts(cache, name, 2)).every(({ side }) => side === 'shared')
    })
    return name
  }

  const faults: { name: string; strike(redis: RedisServer): unknown; heal(redis: RedisServer): unknown }[] = [
    { name: 'hangs', strike: (redis) => redis.freeze(), heal: (redis) => redis.thaw() },
    { name: 'is killed', strike: (redis) => redis.kill(), heal: (redis) => redis.start() },
    {
      name: 'is full',
      strike: (redis) => redis.command('CONFIG', 'SET', 'maxmemory', '1', 'maxmemory-policy', 'noeviction'),
      heal: (redis) => redis.command('CONFIG', 'SET', 'maxmemory', '0'),
    },
    {
      name: 'takes no writes',
      strike: (redis) => redis.command('CONFIG', 'SET', 'min-replicas-to-write', '1'),
      heal: (redis) => redis.command('CONFIG', 'SET', 'min-replicas-to-write', '0'),
    },
    {
      name: 'has become a replica',
      strike: (redis) => redis.command('REPLICAOF', '127.0.0.1', '1'),
      heal: (redis) => redis.command('REPLICAOF', 'NO', 'ONE'),
    },
    {
      name: 'listens and does not answer',
      strike: (redis) => redis.command('CLIENT', 'PAUSE', '4000', 'ALL'),
      heal: () => undefined,
    },
  ]

  it.each(faults)('$name: give up soon, go on in process, and are shared again', async ({ strike, heal }) => {
    const redis = await server()
    const { cache, lines } = await open(redis)
    const guesser = await guesserWithTwoAttempts(cache)
    const before = lines.length

    await strike(redis)
    const during = await attempts(cache, guesser, 40)
    expect(during.filter(({ granted }) => granted)).toHaveLength(3)
    expect(Math.max(...during.map(({ took }) => took))).toBeLessThan(750)
    const next = await attempt(cache, guesser)
    expect(next).toMatchObject({ granted: false, side: 'local' })
    expect(next.took).toBeLessThan(150)
    expect((await attempts(cache, 'newcomer', 40)).filter(({ granted }) => granted)).toHaveLength(5)

    const asked = performance.now()
    expect(await answersPing(cache)).toBe(false)
    expect(performance.now() - asked).toBeLessThan(750)

    // A few seconds, so that the pauses between attempts to connect have grown to their longest.
    await new Promise((resolve) => setTimeout(resolve, 2_000))
    await heal(redis)
    await until(
      'it counts in Redis again',
      async () => (await attempt(cache, `after ${Math.random()}`)).side === 'shared',
    )
    expect(await answersPing(cache)).toBe(true)
    expect(lines.slice(before)).toEqual([
      expect.stringContaining('cannot be used'),
      expect.stringContaining('are back'),
    ])
  })

  it('does not have the database of the address: the start is refused, and nothing is counted elsewhere', async () => {
    const redis = await server()
    const log = pino({ level: 'silent' })
    await expect(openCache({ url: `${redis.url}/99`, clock: systemClock, log })).rejects.toThrow(
      'REDIS_URL names a database that the server does not have: write a lower number.',
    )
    expect(await redis.command('DBSIZE')).toBe('0')
    const cache = await openCache({ url: `${redis.url}/15`, clock: systemClock, log })
    leftovers.push(cache.close)
    expect((await attempt(cache, 'guest')).side).toBe('shared')
    expect(await redis.command('-n', '15', 'EXISTS', 'latchkey:guest')).toBe('1')
  })

  it('refuses the password: the log says so, and not that it is away', async () => {
    const redis = await server('--requirepass', 'right')
    const lines: { msg: string; reason?: string }[] = []
    const log = pino({ level: 'warn' }, { write: (line: string) => void lines.push(JSON.parse(line)) })
    const url = `redis://:wrong@127.0.0.1:${redis.port}`
    leftovers.push((await openCache({ url, clock: systemClock, log })).close)
    expect(lines).toEqual([
      expect.objectContaining({
        msg: 'the shared counters cannot be used: limits are counted in this process',
        reason: 'the server refuses the user or the password in REDIS_URL',
      }),
    ])
  })

  it('comes and goes: a refund goes to the side where the attempt was counted', async () => {
    const redis = await server()
    const { cache } = await open(redis)
    const shared = await attempt(cache, 'guest')
    await redis.kill()
    const local = await attempt(cache, 'guest')
    expect([shared.side, local.side]).toEqual(['shared', 'local'])
    await cache.refund('guest', shared.window)
    await cache.refund('guest', local.window)
    expect((await attempts(cache, 'guest', 10)).filter(({ granted }) => granted)).toHaveLength(5)

    const other = await attempt(cache, 'other guest')
    await cache.refund('other guest', other.window)
    await redis.start()
    await until('Redis answers', () => answersPing(cache))
    await redis.command('DEL', 'latchkey:guest', 'latchkey:other guest')
    await cache.refund('guest', local.window)
    await cache.refund('other guest', other.window)
    expect(await redis.command('EXISTS', 'latchkey:guest', 'latchkey:other guest')).toBe('0')
  })

  const returns: { name: string; strike(redis: RedisServer): unknown; heal(redis: RedisServer): unknown }[] = [
    { name: 'hung', strike: (redis) => redis.freeze(), heal: (redis) => redis.thaw() },
    { name: 'lost everything', strike: (redis) => redis.kill(), heal: (redis) => redis.start() },
  ]

  it.each(returns)('$name and is back: nobody gets new attempts, at any instance', async ({ strike, heal }) => {
    const redis = await server()
    const [{ cache: one }, { cache: two }] = [await open(redis), await open(redis)]
    const before = await guesserWithTwoAttempts(one)
    await attempts(one, 'used up before', 5)
    await strike(redis)
    // The first command may still be carried out by a server that hung; from then on each instance counts by itself.
    await Promise.all([attempt(one, 'first'), attempt(two, 'first')])
    expect((await attempts(one, 'used up meanwhile', 9)).filter(({ granted }) => granted)).toHaveLength(5)
    expect((await attempts(one, before, 2)).filter(({ granted }) => granted)).toHaveLength(2)
    expect((await attempts(two, 'at both', 2)).filter(({ granted }) => granted)).toHaveLength(2)
    expect((await attempts(one, 'at both', 2)).filter(({ granted }) => granted)).toHaveLength(2)
    const refunded = await attempt(one, 'refunded')
    await one.refund('refunded', refunded.window)

    await heal(redis)
    await until('both answer', async () => (await answersPing(one)) && (await answersPing(two)))
    const left = async (key: string) => (await attempts(two, key, 6)).filter(({ granted }) => granted).length
    expect(await left('used up before')).toBe(0)
    expect(await left('used up meanwhile')).toBe(0)
    expect(await left(before)).toBe(1)
    expect(await left('at both')).toBe(1)
    expect(await left('refunded')).toBe(5)
    expect(await redis.command('PTTL', 'latchkey:used up meanwhile')).toMatch(/^\d+$/)
  })

  it('is flushed: count from the beginning, and nothing fails', async () => {
    const redis = await server()
    const { cache, lines } = await open(redis)
    const [first] = await attempts(cache, 'guest', 5)
    if (!first) throw new Error('No attempt was counted')
    await redis.command('FLUSHALL')
    await redis.command('SCRIPT', 'FLUSH')
    await cache.refund('guest', first.window)
    expect(await redis.command('EXISTS', 'latchkey:guest')).toBe('0')
    expect((await attempts(cache, 'guest', 40)).filter(({ granted }) => granted)).toHaveLength(5)
    expect(lines).toEqual([])
  })

  it('is not there at the start: say so once, count in process, and join it when it comes', async () => {
    const redis = await server()
    await redis.kill()
    const { cache, lines } = await open(redis)
    expect(lines).toHaveLength(1)
    expect(await attempt(cache, 'guest')).toMatchObject({ granted: true, side: 'local' })
    await redis.start()
    await until(
      'it counts in Redis again',
      async () => (await attempt(cache, `new ${Math.random()}`)).side === 'shared',
    )
    expect(lines).toHaveLength(2)
  })

  it('asks for a password: get in with the one in the address, and not without', async () => {
    const redis = await server('--requirepass', 'p@ss/word')
    const { cache } = await open({ ...redis, url: `redis://:p%40ss%2Fword@127.0.0.1:${redis.port}/2` })
    expect(await attempt(cache, 'guest')).toMatchObject({ granted: true, side: 'shared' })
    const { cache: stranger } = await open(redis)
    expect(await attempt(stranger, 'guest')).toMatchObject({ granted: true, side: 'local' })
  })
})

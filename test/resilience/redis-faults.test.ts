import { pino } from 'pino'
import { afterAll, describe, expect, it } from 'vitest'
import { systemClock } from '../../src/lib/clock.js'
import { minutes } from '../../src/lib/durations.js'
import type { Cache } from '../../src/platform/cache/cache.js'
import { openCache } from '../../src/platform/cache/open.js'
import { answersPing, createRedisServer, type RedisServer } from '../support/servers/redis-server.js'
import { until } from '../support/until.js'

const limit = { maximum: 5, window: 15 * minutes }

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
    const { cache, start } = await openCache({ url: redis.url, clock: systemClock, log })
    leftovers.push(cache.close)
    await start(Promise.resolve(true))
    return { cache, lines }
  }
  const attempt = async (cache: Cache, key: string) => {
    const { granted, window } = await cache.reserve(key, limit)
    return { granted, side: window.countedBy, window }
  }
  const attempts = (cache: Cache, key: string, count: number) =>
    Promise.all(Array.from({ length: count }, () => attempt(cache, key)))

  /** A new name whose attempts are counted in Redis. On a busy machine the first commands may take longer than their timeout. */
  const countedInRedis = async (cache: Cache, count: number) => {
    let [name, counted]: [string, Awaited<ReturnType<typeof attempts>>] = ['', []]
    await until('all attempts are counted in Redis', async () => {
      name = `guest ${Math.random()}`
      counted = await attempts(cache, name, count)
      return counted.every(({ side }) => side === 'shared')
    })
    return { name, counted }
  }
  const untilShared = (cache: Cache) => countedInRedis(cache, 1)

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
      strike: (redis) => redis.command('CLIENT', 'PAUSE', '600000', 'WRITE'),
      heal: (redis) => redis.command('CLIENT', 'UNPAUSE'),
    },
  ]

  it.each(faults)('$name: do not wait for it, go on in process, and are shared again', async ({ strike, heal }) => {
    const redis = await server()
    const { cache, lines } = await open(redis)
    const { name: guesser } = await countedInRedis(cache, 2)
    const before = lines.length

    // Until it is healed, an attempt that waited for Redis would not be answered.
    await strike(redis)
    expect((await attempts(cache, guesser, 40)).filter(({ granted }) => granted)).toHaveLength(3)
    expect((await attempts(cache, 'newcomer', 40)).filter(({ granted }) => granted)).toHaveLength(5)
    expect(await answersPing(cache)).toBe(false)
    // Only the first ones cost a timeout of 250 ms. Two hundred of them would take 50 seconds.
    const begun = performance.now()
    for (let count = 0; count < 200; count += 1)
      expect(await attempt(cache, guesser)).toMatchObject({ granted: false, side: 'local' })
    expect(performance.now() - begun).toBeLessThan(25_000)

    // A few seconds, so that the pauses between attempts to connect have grown to their longest.
    await new Promise((resolve) => setTimeout(resolve, 2_000))
    expect(lines.slice(before)).toEqual([expect.stringContaining('cannot be used')])
    await heal(redis)
    await untilShared(cache)
    await until('Redis answers', () => answersPing(cache))
    expect(lines[before + 1]).toContain('are back')
  })

  it('does not have the database of the address: the start is refused, and nothing is counted elsewhere', async () => {
    const redis = await server()
    const log = pino({ level: 'silent' })
    const refused = await openCache({ url: `${redis.url}/99`, clock: systemClock, log })
    leftovers.push(refused.cache.close)
    await expect(refused.start(Promise.resolve(true))).rejects.toThrow(
      'REDIS_URL names a database that the server does not have: write a lower number.',
    )
    expect(await redis.command('DBSIZE')).toBe('0')
    const { cache, start } = await openCache({ url: `${redis.url}/15`, clock: systemClock, log })
    leftovers.push(cache.close)
    await start(Promise.resolve(true))
    const { name } = await countedInRedis(cache, 1)
    expect(await redis.command('-n', '15', 'EXISTS', `latchkey:${name}`)).toBe('1')
  })

  it('refuses the password: the log says so, and not that it is away', async () => {
    const redis = await server('--requirepass', 'right')
    const lines: { msg: string; reason?: string }[] = []
    const log = pino({ level: 'warn' }, { write: (line: string) => void lines.push(JSON.parse(line)) })
    const url = `redis://:wrong@127.0.0.1:${redis.port}`
    const { cache, start } = await openCache({ url, clock: systemClock, log })
    leftovers.push(cache.close)
    await start(Promise.resolve(true))
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
    const { name: guest, counted } = await countedInRedis(cache, 1)
    await redis.kill()
    const local = await attempt(cache, guest)
    expect(local.side).toBe('local')
    for (const { window } of [...counted, local]) await cache.refund([{ key: guest, window }])
    expect((await attempts(cache, guest, 10)).filter(({ granted }) => granted)).toHaveLength(5)

    const other = await attempt(cache, 'other guest')
    await cache.refund([{ key: 'other guest', window: other.window }])
    await redis.start()
    await until('Redis answers', () => answersPing(cache))
    await redis.command('DEL', `latchkey:${guest}`, 'latchkey:other guest')
    await cache.refund([{ key: guest, window: local.window }])
    await cache.refund([{ key: 'other guest', window: other.window }])
    expect(await redis.command('EXISTS', `latchkey:${guest}`, 'latchkey:other guest')).toBe('0')
  })

  const returns: { name: string; strike(redis: RedisServer): unknown; heal(redis: RedisServer): unknown }[] = [
    { name: 'hung', strike: (redis) => redis.freeze(), heal: (redis) => redis.thaw() },
    { name: 'lost everything', strike: (redis) => redis.kill(), heal: (redis) => redis.start() },
  ]

  it.each(returns)('$name and is back: there are no new attempts, at any instance', async ({ strike, heal }) => {
    const redis = await server()
    const [{ cache: one }, { cache: two }] = [await open(redis), await open(redis)]
    const { name: before } = await countedInRedis(one, 2)
    const { name: usedUpBefore } = await countedInRedis(one, 5)
    await untilShared(two)
    await strike(redis)
    // The first command may still be carried out by a server that hung; from then on each instance counts by itself.
    await Promise.all([attempt(one, 'first'), attempt(two, 'first')])
    expect((await attempts(one, 'used up meanwhile', 9)).filter(({ granted }) => granted)).toHaveLength(5)
    expect((await attempts(one, before, 2)).filter(({ granted }) => granted)).toHaveLength(2)
    expect((await attempts(two, 'at both', 2)).filter(({ granted }) => granted)).toHaveLength(2)
    expect((await attempts(one, 'at both', 2)).filter(({ granted }) => granted)).toHaveLength(2)
    const refunded = await attempt(one, 'refunded')
    await one.refund([{ key: 'refunded', window: refunded.window }])

    await heal(redis)
    await until('both answer', async () => (await answersPing(one)) && (await answersPing(two)))
    const left = async (key: string) => (await attempts(two, key, 6)).filter(({ granted }) => granted).length
    expect(await left(usedUpBefore)).toBe(0)
    expect(await left('used up meanwhile')).toBe(0)
    expect(await left(before)).toBe(1)
    expect(await left('at both')).toBe(1)
    expect(await left('refunded')).toBe(5)
    expect(await redis.command('PTTL', 'latchkey:used up meanwhile')).toMatch(/^\d+$/)
  })

  it('is flushed: count from the beginning, and nothing fails', async () => {
    const redis = await server()
    const { cache, lines } = await open(redis)
    const { name, counted } = await countedInRedis(cache, 5)
    const before = lines.length
    await redis.command('FLUSHALL')
    await redis.command('SCRIPT', 'FLUSH')
    for (const { window } of counted) await cache.refund([{ key: name, window }])
    expect(await redis.command('EXISTS', `latchkey:${name}`)).toBe('0')
    expect((await attempts(cache, name, 40)).filter(({ granted }) => granted)).toHaveLength(5)
    expect(lines.slice(before)).toEqual([])
  })

  it('is not there at the start: say so once, count in process, and join it when it comes', async () => {
    const redis = await server()
    await redis.kill()
    const { cache, lines } = await open(redis)
    expect(lines).toHaveLength(1)
    expect(await attempt(cache, 'guest')).toMatchObject({ granted: true, side: 'local' })
    await redis.start()
    await untilShared(cache)
    expect(lines[1]).toContain('are back')
  })

  it('asks for a password: get in with the one in the address, and not without', async () => {
    const redis = await server('--requirepass', 'p@ss/word')
    const { cache } = await open({ ...redis, url: `redis://:p%40ss%2Fword@127.0.0.1:${redis.port}/2` })
    await untilShared(cache)
    const { cache: stranger } = await open(redis)
    expect(await attempt(stranger, 'guest')).toMatchObject({ granted: true, side: 'local' })
  })
})

import { setTimeout as wait } from 'node:timers/promises'
import { pino } from 'pino'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { systemClock } from '../../src/lib/clock.js'
import { minutes } from '../../src/lib/durations.js'
import { type Cache, type Reservation, reserveOne } from '../../src/platform/cache/cache.js'
import { createMemoryCache } from '../../src/platform/cache/memory.js'
import { openCache } from '../../src/platform/cache/open.js'
import { createPostgresCache } from '../../src/platform/cache/postgres.js'
import { createResilientCache } from '../../src/platform/cache/resilient.js'
import type { Database } from '../../src/platform/database/database.js'

import { createMovableClock, type MovableClock } from '../support/clock.js'
import { type FreshDatabase, freshPostgres, testPostgres } from '../support/databases.js'
import { startLatchkey } from '../support/latchkey.js'
import { type PostgresServer, startPostgres } from '../support/servers/postgres.js'
import { answersPing } from '../support/servers/redis-server.js'
import { until } from '../support/until.js'

const limit = { maximum: 5, window: 15 * minutes }
const log = pino({ level: 'silent' })

const grantedOf = async (cache: Pick<Cache, 'reserve'>, key: string, count: number) => {
  const all = await Promise.all(Array.from({ length: count }, () => cache.reserve(key, limit)))
  return all.filter(({ granted }) => granted).length
}

describe('counters in PostgreSQL', () => {
  let fresh: FreshDatabase
  let url: string
  let database: Database
  beforeAll(async () => {
    fresh = await freshPostgres()
    url = fresh.url
    // The transaction of a test stays open for long on a busy machine.
    database = testPostgres(url, { statementTimeoutMs: 120_000 })
  })
  const opened: Pick<Cache, 'close'>[] = []
  afterEach(async () => {
    for (const cache of opened.splice(0)) await cache.close()
  })
  afterAll(async () => {
    await database?.close()
    await fresh?.drop()
  })

  type Options = { clock?: MovableClock; maximumRows?: number; cleanUpEvery?: number }
  const openShared = async (options: Options = {}) => {
    const clock = options.clock ?? createMovableClock()
    const shared = await createPostgresCache({ url, database, log, commandTimeout: 20_000, ...options, clock })
    const reserve: Cache['reserve'] = (key, limit) => reserveOne(shared, key, limit)
    return { ...shared, reserve }
  }
  const open = async (options?: Options) => {
    const cache = await openShared(options)
    opened.push(cache)
    return cache
  }
  const rowsOf = (beginning: string) =>
    database.query<{ key: string; used: number }>(
      'select key, used, ctid, xmin, xmax from counters where starts_with(key, $1) order by key',
      [beginning],
    )

  it('hold up no two requests that count the same keys in different orders', async () => {
    const [one, two] = [await open(), await open()]
    const attempts = ['order:a', 'order:b', 'order:c'].map((key) => ({ key, limit: { ...limit, maximum: 10_000 } }))
    const begun = performance.now()
    const answers: Reservation[] = []
    for (let round = 0; round < 5; round += 1) {
      const countAll = Array.from({ length: 200 }, (_, n) =>
        (n % 2 ? one : two).reserveAll(n % 4 < 2 ? attempts : attempts.toReversed()),
      )
      answers.push(...(await Promise.all(countAll)).flat())
    }
    // One deadlock takes a second until PostgreSQL looks for it.
    expect(performance.now() - begun).toBeLessThan(20_000)
    expect(answers.every(({ granted }) => granted)).toBe(true)
    expect((await rowsOf('order:')).map(({ used }) => used)).toEqual([1_000, 1_000, 1_000])
    const [deadlocks] = await database.query<{ deadlocks: number }>(
      'select deadlocks from pg_stat_database where datname = current_database()',
    )
    expect(deadlocks?.deadlocks).toBe(0)
  })

  it('grant five of forty at two instances, and write nothing for the refused ones', async () => {
    const [one, two] = [await open(), await open()]
    const granted = await Promise.all([grantedOf(one, 'refused', 20), grantedOf(two, 'refused', 20)])
    expect(granted[0] + granted[1]).toBe(5)
    const before = await rowsOf('refused')
    expect(await grantedOf(one, 'refused', 40)).toBe(0)
    expect(before).toMatchObject([{ used: 5 }])
    expect(await rowsOf('refused')).toEqual(before)
    await one.reserveAll([
      { key: 'refused', limit },
      { key: 'refused later', limit },
    ])
    expect(await rowsOf('refused')).toEqual(before)
  })

  it('refuse as fast while a transaction is open for long, as that of a backup', async () => {
    const cache = await open()
    await grantedOf(cache, 'during a backup', 5)
    const timeOf = async (rounds: number) => {
      const begun = performance.now()
      for (let round = 0; round < rounds; round += 1) await grantedOf(cache, 'during a backup', 50)
      return performance.now() - begun
    }
    await timeOf(20)
    const usual = await timeOf(20)
    await database.transaction(async (sql) => {
      await sql.query('set transaction isolation level repeatable read')
      await sql.query('select 1 from counters limit 1')
      await timeOf(60)
      expect(await timeOf(20)).toBeLessThan(5 * usual + 500)
    })
  })

  it('delete once a minute what has ended, and nothing else', async () => {
    const clock = createMovableClock()
    const cache = await open({ clock, cleanUpEvery: 50 })
    const many = Array.from({ length: 3_000 }, (_, n) => ({ key: `ended:${n}`, limit: { maximum: 1, window: 60_000 } }))
    await cache.reserveAll(many)
    await cache.reserve('ended not', limit)
    clock.advance(2 * minutes)
    await expect.poll(async () => (await rowsOf('ended')).map(({ key }) => key)).toEqual(['ended not'])
  })

  it('begin in the process when the table is full, say so, and are shared as soon as there is room', async () => {
    await database.query('truncate counters')
    const clock = createMovableClock()
    const shared = await openShared({ clock, maximumRows: 2, cleanUpEvery: 50 })
    const local = createMemoryCache({ clock, maximumKeys: 100 })
    const cache = createResilientCache({ shared, local, log })
    opened.push(cache)
    const sideOf = async (key: string) => (await cache.reserve(key, limit)).window.countedBy
    const short = { maximum: 5, window: 1 * minutes }
    expect([await sideOf('full:a'), cache.isFull()]).toEqual(['shared', false])
    expect((await cache.reserve('full:b', short)).window.countedBy).toBe('shared')
    expect([cache.isFull(), await sideOf('full:c'), await sideOf('full:a')]).toEqual([true, 'local', 'shared'])

    // What has no room is still limited, together with what has room.
    const both = ['full:d', 'full:a', 'full:c'].map((key) => ({ key, limit }))
    const counted = await cache.reserveAll(both)
    expect(counted.map(({ remaining, window }) => [remaining, window.countedBy])).toEqual([
      [4, 'local'],
      [2, 'shared'],
      [3, 'local'],
    ])
    await cache.refund(counted.map(({ window }, place) => ({ key: both[place]?.key ?? '', window })))
    expect(await grantedOf(cache, 'full:c', 10)).toBe(4)

    clock.advance(2 * minutes)
    await until('there is room', () => !cache.isFull())
    expect([await sideOf('full:c'), await grantedOf(cache, 'full:c', 10)]).toEqual(['shared', 0])
  })
})

describe('counters when PostgreSQL', () => {
  let server: PostgresServer
  const leftovers: (() => Promise<void>)[] = []
  beforeAll(async () => {
    server = await startPostgres()
    leftovers.push(server.stop)
  })
  afterAll(async () => {
    for (const remove of leftovers.splice(0).reverse()) await remove()
  })

  const open = async (url: string) => {
    const database = testPostgres(url)
    const { cache } = await openCache({ postgres: { url, database }, clock: systemClock, log })
    leftovers.push(database.close, cache.close)
    return cache
  }
  /** On a busy machine the first attempts may take longer than their timeout. */
  const untilShared = (cache: Cache) =>
    until('it counts in the database', async () => {
      await answersPing(cache)
      return (await cache.reserve(`anybody ${Math.random()}`, limit)).window.countedBy === 'shared'
    })

  it.each([
    { name: 'hung', strike: () => server.signal('SIGSTOP'), heal: async () => server.signal('SIGCONT') },
    { name: 'was killed', strike: () => server.signal('SIGKILL'), heal: () => server.restart() },
  ])('$name and is back: nobody gets new attempts, at any instance', async ({ name, strike, heal }) => {
    const { url } = await freshPostgres(server.url)
    const [one, two] = [await open(url), await open(url)]
    await untilShared(one)
    await untilShared(two)
    const [usedUp, half] = [`${name}: used up`, `${name}: half`]
    expect(await grantedOf(one, usedUp, 9)).toBe(5)
    await one.reserve(half, limit)
    await one.reserve(half, limit)
    // What was counted in the last second may be lost; on a busy machine the writer comes later.
    await wait(4_000)
    strike()
    await until('one counts by itself', async () => (await one.reserve('x', limit)).window.countedBy === 'local')
    await until('two counts by itself', async () => (await two.reserve('x', limit)).window.countedBy === 'local')
    expect(await grantedOf(one, usedUp, 9)).toBe(0)
    expect(await grantedOf(one, half, 2)).toBe(2)
    expect(await grantedOf(two, 'meanwhile', 9)).toBe(5)
    expect(await answersPing(one)).toBe(false)
    await heal()
    await until('both answer', async () => (await answersPing(one)) && (await answersPing(two)))
    expect(await grantedOf(two, usedUp, 9)).toBe(0)
    expect(await grantedOf(two, half, 9)).toBe(1)
    expect(await grantedOf(one, 'meanwhile', 9)).toBe(0)
  })

  it('is killed: a limit that was used up a second ago is still used up for a service that has just started', async () => {
    const { url } = await freshPostgres(server.url)
    const settings = { DATABASE_URL: url, REDIS_URL: '', LOGIN_LIMIT: '5/15m' }
    const before = await startLatchkey({ settings })
    leftovers.push(before.stop)
    const guess = async ({ browser }: typeof before) =>
      (await browser().post('/login', { username: 'ada', password: 'wrong' })).status
    for (let count = 0; count < 5; count += 1) expect(await guess(before)).toBe(401)
    expect(await guess(before)).toBe(429)
    await new Promise((resolve) => setTimeout(resolve, 1_000))
    server.signal('SIGKILL')
    await until('it is gone', () => !server.alive())
    await server.restart()
    const after = await startLatchkey({ settings })
    leftovers.push(after.stop)
    expect(await guess(after)).toBe(429)
  })
})

it('a service has opened the connections of its counters when it is ready, so no first request is counted alone', async () => {
  const { app, stop } = await startLatchkey({ settings: { REDIS_URL: '' } })
  const connections = await app.platform.database.query(
    "select from pg_stat_activity where datname = current_database() and application_name = 'latchkey counters'",
  )
  await stop()
  expect(connections).toHaveLength(4)
})

describe('two services without Redis', () => {
  type Service = Awaited<ReturnType<typeof startLatchkey>>
  let one: Service
  let two: Service
  beforeAll(async () => {
    one = await startLatchkey({ settings: { REDIS_URL: '', LOGIN_LIMIT: '5/15m' } })
    const { databaseUrl, publicUrl } = one.config
    const settings = { REDIS_URL: '', LOGIN_LIMIT: '5/15m', DATABASE_URL: databaseUrl, PUBLIC_URL: publicUrl }
    two = await startLatchkey({ settings })
    await one.signedUp('ada')
  })
  afterAll(async () => {
    await two?.stop()
    await one?.stop()
  })

  it('try five of forty guesses together, and say that the counters work', async () => {
    const answers = await Promise.all(
      Array.from({ length: 40 }, (_, n) =>
        (n % 2 ? one : two).browser().post('/login', { username: 'ada', password: 'wrong' }),
      ),
    )
    const counted = (status: number) => answers.filter((answer) => answer.status === status).length
    expect([counted(401), counted(429)]).toEqual([5, 35])
    const { body } = await one.browser().get('/health')
    expect(body.checks).toEqual({ server: 'ok', database: 'ok', cache: 'ok' })
  })
})

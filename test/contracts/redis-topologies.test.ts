import { execFile } from 'node:child_process'
import { rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { pino } from 'pino'
import { afterAll, describe, expect, it } from 'vitest'
import { systemClock } from '../../src/lib/clock.js'
import { minutes } from '../../src/lib/durations.js'
import type { Cache } from '../../src/platform/cache/cache.js'
import { openCache } from '../../src/platform/cache/open.js'
import { createRedisServer, type RedisServer } from '../support/servers/redis-server.js'
import { until } from '../support/until.js'

const limit = { maximum: 5, window: 15 * minutes }
const log = pino({ level: 'silent' })
const names = Array.from({ length: 30 }, (_, n) => `guest ${n}`)

/** False while the server closes its connections, as it does when its role changes. */
const says = async (server: RedisServer, text: string, ...command: string[]) =>
  (await server.command(...command).catch(() => '')).includes(text)

const sideOf = async (cache: Cache, key: string) => (await cache.reserve(key, limit)).window.countedBy
const granted = async (cache: Cache, key: string) => {
  const all = await Promise.all(Array.from({ length: 40 }, () => cache.reserve(key, limit)))
  return all.filter((reservation) => reservation.granted).length
}

describe('counters in more than one Redis', () => {
  const leftovers: (() => Promise<void>)[] = []
  afterAll(async () => {
    for (const remove of leftovers.splice(0).reverse()) await remove()
  })
  const server = async (words: string[], role?: 'server' | 'sentinel') => {
    const redis = await createRedisServer(words, role)
    leftovers.push(redis.remove)
    return redis
  }
  const open = async (url: string) => {
    // On a busy machine an answer may come later than a request would wait for it, and then it is granted nowhere.
    const { cache, start } = await openCache({ url, clock: systemClock, log, commandTimeout: 2_000 })
    leftovers.push(cache.close)
    await start(Promise.resolve(true))
    return cache
  }

  it('in a Cluster: each key on its own node, and shared again after a node was lost and came back', async () => {
    const words = ['--cluster-enabled', 'yes', '--cluster-node-timeout', '1000']
    const nodes = await Promise.all([server(words), server(words), server(words)])
    const addresses = nodes.map(({ port }) => `127.0.0.1:${port}`)
    await promisify(execFile)('redis-cli', ['--cluster', 'create', ...addresses, '--cluster-yes'], { timeout: 20_000 })
    const isReady = (node: RedisServer) => says(node, 'cluster_state:ok', 'CLUSTER', 'INFO')
    const areReady = async () => (await Promise.all(nodes.map(isReady))).every(Boolean)
    await until('every server is ready', areReady)

    const cache = await open(`redis://${addresses.join(',')}`)
    expect(await Promise.all(names.map((name) => granted(cache, name)))).toEqual(names.map(() => 5))
    for (const node of nodes) expect(Number(await node.command('DBSIZE'))).toBeGreaterThan(0)
    const several = ['several a', 'several b', 'guest 1', 'several c'].map((key) => ({ key, limit }))
    const counted = await cache.reserveAll(several)
    expect(counted.map((reservation) => reservation.granted)).toEqual([true, true, false])
    await cache.refund(counted.slice(0, 2).map(({ window }, place) => ({ key: several[place]?.key ?? '', window })))
    const after = await cache.reserveAll(several.filter(({ key }) => key !== 'guest 1'))
    expect(after.map(({ remaining }) => remaining)).toEqual([4, 4, 4])

    const [lost] = nodes
    lost.freeze()
    const during = await Promise.all(names.map((name) => granted(cache, `${name} during`)))
    for (const count of during) expect(count).toBeLessThanOrEqual(10)
    await until('it counts in process', async () => (await sideOf(cache, 'anybody')) === 'local')
    lost.thaw()
    const allShared = async () =>
      (await Promise.all(names.map((name) => sideOf(cache, `${name} after`)))).every((side) => side === 'shared')
    await until('every server is ready', areReady)
    await until('all counters are shared', allShared)
  })

  it('with sentinels: the counters move to the new master', async () => {
    const master = await server([])
    const replica = await server(['--replicaof', '127.0.0.1', String(master.port)])
    const file = join(tmpdir(), `latchkey-sentinel-${master.port}.conf`)
    leftovers.push(() => rm(file, { force: true }))
    await writeFile(
      file,
      [
        `sentinel monitor latchkey 127.0.0.1 ${master.port} 1`,
        'sentinel down-after-milliseconds latchkey 500',
        'sentinel failover-timeout latchkey 2000',
      ].join('\n'),
    )
    const sentinel = await server([file], 'sentinel')
    await until('the replica follows', () => says(replica, 'master_link_status:up', 'INFO', 'replication'))
    await until('the sentinel knows the replica', () =>
      says(sentinel, String(replica.port), 'SENTINEL', 'REPLICAS', 'latchkey'),
    )

    const cache = await open(`redis+sentinel://127.0.0.1:${sentinel.port}/latchkey`)
    expect(await granted(cache, 'guest')).toBe(5)
    await until('the counter is copied', () => says(replica, '1', 'EXISTS', 'latchkey:guest'))

    await master.kill()
    expect((await cache.reserve('guest', limit)).granted).toBe(false)
    await until('the replica is promoted', () => says(replica, 'role:master', 'INFO', 'replication'))
    await until('it counts there', async () => (await sideOf(cache, 'newcomer')) === 'shared')
    expect((await cache.reserve('guest', limit)).granted).toBe(false)
  })
})

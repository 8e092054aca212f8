// node bench/counters.mjs [--seconds 5]
//
// Measures how fast the limits count: requests a second that count two limiters each, and those that a full counter refuses, with the
// counters in PostgreSQL and in Redis, side by side, and the CPU time of their servers. The last lines are measured while a transaction is
// open, as a backup holds one. docs/scale.md says from these numbers from which rate on Redis helps. Takes about a minute.
import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { cpus } from 'node:os'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { Client } from 'pg'
import { runnerImport } from 'vite'
import { runClients } from './load/loads.mjs'

/** @typedef {import('../src/platform/cache/cache.js').SharedCache} Counters */
/** @typedef {{ name: string, counters: Counters, cpu: () => number }} Subject */

/** @type {(path: string) => Promise<any>} */
const load = async (path) => (await runnerImport(fileURLToPath(new URL(`../${path}`, import.meta.url)))).module

const { startPostgres } = await load('test/support/servers/postgres.ts')
const { startRedis } = await load('test/support/servers/redis.ts')
const { createPostgresCache } = await load('src/platform/cache/postgres.ts')
const { createRedisCache } = await load('src/platform/cache/redis.ts')
const { readRedisAddress } = await load('src/platform/cache/redis-address.ts')
const { createPostgres } = await load('src/platform/database/open.ts')
const { migrate } = await load('src/platform/database/migrate.ts')

const clock = { now: () => new Date(), offset: () => 0 }
const log = { debug: () => {}, warn: console.warn }
const clients = 32
const networks = 10_000
const high = { maximum: 1e9, window: 15 * 60_000 }
const full = { maximum: 1, window: 15 * 60_000 }

const ticksPerSecond = Number(execFileSync('getconf', ['CLK_TCK'], { encoding: 'utf8' }))

/** CPU seconds that a process has used so far, and those of its children that have ended. @param {number} pid */
const cpuOf = (pid) => {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? []
  return fields.slice(11, 15).reduce((sum, field) => sum + Number(field), 0) / ticksPerSecond
}

/** @param {number} pid */
const childrenOf = (pid) =>
  readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').split(' ').filter(Boolean).map(Number)

const startAll = async () => {
  // As where data matters: a commit of anything but a counter waits for the disk.
  const settings = { fsync: 'on', full_page_writes: 'on', autovacuum: 'on' }
  const [postgres, redis] = await Promise.all([startPostgres({ settings }), startRedis()])
  const database = createPostgres({
    url: postgres.url,
    poolSize: 1,
    connectTimeoutMs: 5_000,
    statementTimeoutMs: 60_000,
  })
  await migrate({ database, directory: fileURLToPath(new URL('../migrations', import.meta.url)) })
  const parts = { clock, log, commandTimeout: 5_000 }
  const inPostgres = await createPostgresCache({ ...parts, url: postgres.url, database })
  const inRedis = createRedisCache({ ...parts, address: readRedisAddress(redis.url), prefix: 'bench:' })
  /** @type {Subject[]} */
  const subjects = [
    {
      name: 'PostgreSQL',
      counters: inPostgres,
      cpu: () => [postgres.pid(), ...childrenOf(postgres.pid())].reduce((sum, pid) => sum + cpuOf(pid), 0),
    },
    { name: 'Redis', counters: inRedis, cpu: () => cpuOf(redis.pid()) },
  ]
  const stop = async () => {
    await Promise.all([inPostgres.close(), inRedis.close(), database.close()])
    await Promise.all([postgres.stop(), redis.stop()])
  }
  return { subjects, postgres, stop }
}

const randomNetwork = () => Math.floor(Math.random() * networks)

/** @type {Record<string, (counters: Counters) => Promise<boolean>>} */
const loads = {
  'two limiters of one of 10,000 networks': async (counters) => {
    const network = randomNetwork()
    const attempts = [`general:${network}`, `login:${network}`].map((key) => ({ key, limit: high }))
    return (await counters.reserveAll(attempts)).length === 2
  },
  'two limiters, then both given back': async (counters) => {
    const network = randomNetwork()
    const keys = [`general:${network}`, `login:${network}`]
    const reservations = await counters.reserveAll(keys.map((key) => ({ key, limit: high })))
    await counters.refund(reservations.map(({ window }, place) => ({ key: keys[place] ?? '', window })))
    return reservations.length === 2
  },
  'two limiters, everybody in one network': async (counters) => {
    const attempts = ['general:one', 'login:one'].map((key) => ({ key, limit: high }))
    return (await counters.reserveAll(attempts)).length === 2
  },
  'refused by a full counter': async (counters) => {
    await counters.reserveAll([{ key: 'login:full', limit: full }])
    return true
  },
}

/** @type {(subject: Subject, name: string, seconds: number) => Promise<void>} */
const measure = async ({ name: place, counters, cpu }, name, seconds) => {
  const step = loads[name]
  if (!step) throw new Error(`There is no load ${name}`)
  const before = cpu()
  const { perSecond, p99, done, failed } = await runClients({ clients, seconds, step: () => step(counters) })
  if (failed > 0) throw new Error(`${name}: ${failed} failed`)
  const cost = ((cpu() - before) * 1000) / done
  console.log(
    `${name.padEnd(40)} ${place.padEnd(10)} ${perSecond.toFixed(0).padStart(7)} ${p99.toFixed(1).padStart(7)} ${cost.toFixed(3).padStart(7)}`,
  )
}

const { values } = parseArgs({ options: { seconds: { type: 'string', default: '5' } } })
const seconds = Number(values.seconds)
const { subjects, postgres, stop } = await startAll()
try {
  console.log(`Node ${process.version}, ${cpus().length} cores (${cpus()[0]?.model ?? 'of an unknown kind'})\n`)
  console.log(`${''.padEnd(40)} ${''.padEnd(10)}   per s  p99 ms  CPU ms`)
  for (const name of Object.keys(loads)) for (const subject of subjects) await measure(subject, name, seconds)
  const [inPostgres] = subjects
  const backup = new Client({ connectionString: postgres.url })
  await backup.connect()
  await backup.query('begin isolation level repeatable read')
  await backup.query('select 1 from counters limit 1')
  console.log('\nwhile a transaction is open')
  for (const name of Object.keys(loads)) if (inPostgres) await measure(inPostgres, name, 2 * seconds)
  await backup.end()
} finally {
  await stop()
}

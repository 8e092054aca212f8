// node bench/start.mjs [--rounds 5] [--minutes 0] [--program dist/main.js]
//
// How long a start takes until /health answers 200, how much processor time of the service it takes until then, and how much memory
// all its processes need after five seconds without requests (PostgreSQL and Redis included): as in production, with PostgreSQL and
// Redis that are migrated already, and alone, as without any settings, with a database that is new (first) or exists (later). With
// --minutes, mixed requests follow for that long, and the memory is printed each minute. --program measures another build. Needs Linux and a build (npm run
// build). It starts its own PostgreSQL and Redis, like the tests, and stops and removes everything that it started.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { availableParallelism, loadavg, tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { isUp } from './load/connection.mjs'
import { coreTime } from './load/core-time.mjs'
import { mixedLoad } from './load/mixed.mjs'
import { megabytesOf } from './load/process-tree.mjs'
import { median, printTable } from './load/rounds.mjs'
import { settingsFor, startLatchkey } from './subjects/latchkey.mjs'
import { openStores, processes } from './subjects/stores.mjs'

/** `core` in seconds, `memory` in megabytes. @typedef {{ seconds: number, core: number, memory: number }} Start */

const { values } = parseArgs({
  options: {
    rounds: { type: 'string', default: '5' },
    minutes: { type: 'string', default: '0' },
    program: { type: 'string', default: 'dist/main.js' },
  },
})
const rounds = Number(values.rounds)
const minutes = Number(values.minutes)
const program = resolve(values.program)
const startTimeout = 60_000
const idleTime = 5_000

/** @param {number} port */
const isHealthy = (port) => isUp(port, '/health', 200)

/**
 * Starts the program with these settings alone, measures it with the servers beside it, and stops it.
 * @type {(folder: string, settings: Record<string, string>, others?: readonly number[]) => Promise<Start>}
 */
const measureStart = async (folder, settings, others = []) => {
  const port = await (await processes()).freePort()
  const env = { PATH: process.env.PATH ?? '', ...settings, PORT: String(port) }
  const begun = performance.now()
  const child = spawn(process.execPath, [program, 'serve'], {
    cwd: folder,
    env,
    stdio: ['ignore', 'ignore', 'inherit'],
  })
  const { pid } = child
  if (pid === undefined) throw new Error(`${process.execPath} could not be run`)
  const exited = once(child, 'exit')
  try {
    while (!(await isHealthy(port))) {
      const ending = child.exitCode ?? child.signalCode
      if (ending !== null) throw new Error(`${program} ended with ${ending} before /health answered 200`)
      if (performance.now() - begun > startTimeout)
        throw new Error(`${program} did not answer /health with 200 within ${startTimeout} ms`)
      await wait(5)
    }
    const seconds = (performance.now() - begun) / 1_000
    const core = (coreTime(pid) ?? Number.NaN) / 1e6
    await wait(idleTime)
    return { seconds, core, memory: megabytesOf([pid, ...others]) }
  } finally {
    child.kill('SIGTERM')
    await exited
  }
}

/** @type {<Result>(work: (folder: string) => Promise<Result>) => Promise<Result>} */
const inFolder = async (work) => {
  const folder = await mkdtemp(join(tmpdir(), 'latchkey-bench-'))
  try {
    return await work(folder)
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

/** The settings of a new clone, except for the host and the folder of the data. @param {string} folder */
const ownSettings = (folder) => ({ HOST: '127.0.0.1', DATA_DIR: folder, DRAIN_DELAY: '0ms' })

/** @type {(name: string, starts: Start[]) => string[]} */
const row = (name, starts) => {
  const cells = /** @type {const} */ (['seconds', 'core', 'memory']).map((key) => starts.map((start) => start[key]))
  const [seconds = [], core = [], memory = []] = cells
  const range = `${Math.min(...seconds).toFixed(2)}–${Math.max(...seconds).toFixed(2)}`
  return [name, median(seconds).toFixed(2), range, median(core).toFixed(2), `${median(memory).toFixed(0)} MB`]
}

/** @param {{ databaseUrl: string, redisUrl: string }} stores @param {readonly number[]} servers */
const measureStarts = (stores, servers) =>
  inFolder(async (folder) => {
    /** @type {Record<'production' | 'first' | 'later', Start[]>} */
    const starts = { production: [], first: [], later: [] }
    // The first start migrates, and does not count.
    await measureStart(folder, settingsFor(stores, folder))
    for (let round = 0; round < rounds; round += 1) {
      starts.production.push(await measureStart(folder, settingsFor(stores, folder), servers))
      await inFolder(async (data) => {
        starts.first.push(await measureStart(data, ownSettings(data)))
        starts.later.push(await measureStart(data, ownSettings(data)))
      })
    }
    printTable(`${rounds} rounds, medians`, [
      ['', 'seconds', 'range', 'core seconds', 'resident'],
      row('production', starts.production),
      row('own database, first', starts.first),
      row('own database, later', starts.later),
    ])
  })

/** @param {{ databaseUrl: string, redisUrl: string }} stores @param {readonly number[]} servers */
const measureLoad = async (stores, servers) => {
  const latchkey = await startLatchkey(stores)
  const rows = [['minute', 'requests', 'memory']]
  const memory = () => `${megabytesOf([latchkey.pid(), ...servers]).toFixed(0)} MB`
  try {
    rows.push(['0', '0', memory()])
    for (let minute = 1; minute <= minutes; minute += 1) {
      const requests = await mixedLoad(latchkey, 60)
      rows.push([String(minute), String(requests), memory()])
    }
  } finally {
    await latchkey.stop()
  }
  printTable('Memory during mixed requests', rows)
}

const stores = await openStores()
if (!stores?.pids) throw new Error('A PostgreSQL and a Redis that this program starts itself are needed.')
console.log(`${availableParallelism()} cores, Node ${process.version}, load ${loadavg()[0]?.toFixed(1)}`)
try {
  const databaseUrl = await stores.database()
  if (rounds > 0) await measureStarts({ databaseUrl, redisUrl: stores.redisUrl }, stores.pids)
  if (minutes > 0) await measureLoad({ databaseUrl, redisUrl: stores.redisUrl }, stores.pids)
} finally {
  await stores.close()
}

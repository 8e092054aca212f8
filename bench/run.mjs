// node bench/run.mjs [--write] [access] [first] [workers] [login] [refresh] [saturation] [priority]
//
// Compares Latchkey with limits that no program can beat (an empty node:http server, bcrypt alone, a bare server that does the
// same work) and, if they are installed, with Better Auth and an express stack: on loopback, in one run, in turns, as ratios.
// Without names it measures everything except `priority`, which takes about six minutes. It stops and removes everything that
// it started. With --write, what was measured replaces the same tables of the same version of Node in bench/results.md.
//
//   npm ci && npm run build                            the program that is measured is dist/main.js
//   npm ci --ignore-scripts --prefix bench/peers       the peers, in a separate folder; optional
//
// It starts its own PostgreSQL and Redis, like the tests, or uses BENCH_DATABASE_URL (a role that may create databases) and
// BENCH_REDIS_URL. Without them the service uses its own, and the refresh and Better Auth are skipped. wrk and pgbench are used if
// they are installed. Nothing else should run on the machine. Look at the range of the ratios before you trust their medians.
import { availableParallelism, cpus, loadavg } from 'node:os'
import { writeResults } from './load/results.mjs'
import { measureAccess } from './measures/access.mjs'
import { measureFirst } from './measures/first.mjs'
import { measureLogin } from './measures/login.mjs'
import { measurePriority } from './measures/priority.mjs'
import { measureRefresh } from './measures/refresh.mjs'
import { measureSaturation } from './measures/saturation.mjs'
import { measureWorkers } from './measures/workers.mjs'
import { hasBetterAuth, startBetterAuth } from './subjects/better-auth.mjs'
import { hasExpress, startExpress } from './subjects/express.mjs'
import { startLatchkey } from './subjects/latchkey.mjs'
import { openStores } from './subjects/stores.mjs'

/** @typedef {Awaited<ReturnType<typeof startPeers>>} Peers */
/** @typedef {{ latchkey: import('./subjects/latchkey.mjs').Latchkey, peers: Peers, databaseUrl: string | undefined, stores: import('./subjects/stores.mjs').Stores }} BenchSetup */

/** @type {Record<string, (setup: BenchSetup) => Promise<void>>} */
const measures = {
  access: measureAccess,
  first: measureFirst,
  workers: measureWorkers,
  login: measureLogin,
  refresh: measureRefresh,
  saturation: measureSaturation,
  priority: measurePriority,
}
const defaultMeasures = ['access', 'first', 'workers', 'login', 'refresh', 'saturation']
const timeout = 25 * 60_000

/** One after the other: two that start at once would both migrate, and one would fail. @param {string | undefined} databaseUrl @param {string | undefined} redisUrl */
const startPeers = async (databaseUrl, redisUrl) => {
  if (!databaseUrl || !redisUrl || !hasBetterAuth() || !hasExpress()) return undefined
  const plain = await startBetterAuth({ databaseUrl, cookieCache: false })
  const cached = await startBetterAuth({ databaseUrl, cookieCache: true })
  for (let person = 0; person < 8; person += 1) await plain.signUp(`person-${person}`)
  const express = await startExpress({ databaseUrl, redisUrl })
  return { plain, cached, express }
}

const run = async (/** @type {string[]} */ names) => {
  const stores = await openStores()
  const databaseUrl = await stores?.database()
  const latchkey = await startLatchkey(stores && databaseUrl ? { databaseUrl, redisUrl: stores.redisUrl } : undefined)
  const peers = await startPeers(await stores?.database(), stores?.redisUrl)
  if (!peers)
    console.log(
      'Better Auth and the express stack are left out: they are not installed, or there is no PostgreSQL for them.',
    )
  try {
    for (const name of names) await measures[name]?.({ latchkey, peers, databaseUrl, stores })
  } finally {
    await Promise.all([latchkey.stop(), peers?.plain.stop(), peers?.cached.stop(), peers?.express.stop()])
    await stores?.close()
  }
}

const args = process.argv.slice(2)
const requested = args.filter((arg) => arg !== '--write')
const unknown = requested.filter((name) => !(name in measures))
if (unknown.length > 0) {
  console.error(`Unknown: ${unknown.join(', ')}. You can measure ${Object.keys(measures).join(', ')}.`)
  process.exit(2)
}
// Servers are kept by processes that end with this one, however it ends.
setTimeout(() => {
  console.error(`The run was stopped after ${timeout / 60_000} minutes: something hangs.`)
  process.exit(1)
}, timeout).unref()

const loadAverage = () => loadavg()[0]?.toFixed(1)
const load = loadAverage()
const machine = `${availableParallelism()} cores (${cpus()[0]?.model ?? 'of an unknown kind'}), Node ${process.version}`
console.log(`${machine}, load average ${load}`)
await run(requested.length > 0 ? requested : defaultMeasures)
const loads = `Load average ${load} before, ${loadAverage()} after.`
console.log(`\n${loads}`)
if (args.includes('--write')) await writeResults(`${machine}. ${loads}`)

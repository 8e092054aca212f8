// node bench/openid.mjs [peer] [growth] [--tokens 10000000] [--small 10000]
//
// The OpenID provider. `peer`: a code for tokens, a refresh and UserInfo against oidc-provider on the same PostgreSQL, in one run, in
// turns, as ratios. `growth`: the same with large tables of tokens against small ones; ten million need about 8 GB on the disk and
// twenty minutes, so try it with --tokens 100000 first. Without names it measures both.
//
// Needs Linux, a build (npm run build), PostgreSQL and Redis. It starts its own servers, like the tests, and stops and removes
// everything that it started. A Redis that is named by BENCH_REDIS_URL is emptied: the limits of applications cannot be raised.
import { availableParallelism, cpus, loadavg } from 'node:os'
import { parseArgs } from 'node:util'
import { keepCountersEmpty } from './load/cleared-counters.mjs'
import { measureOpenid } from './measures/openid.mjs'
import { measureTokenTables } from './measures/token-tables.mjs'
import { startLatchkeyProvider, startOidcProvider } from './subjects/openid.mjs'
import { openStores } from './subjects/stores.mjs'

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { tokens: { type: 'string', default: '10000000' }, small: { type: 'string', default: '10000' } },
})
const longest = 60 * 60_000

/** @typedef {NonNullable<import('./subjects/stores.mjs').Stores>} Stores */
/** @type {Record<string, (stores: Stores) => Promise<void>>} */
const measures = {
  peer: async (stores) => {
    const latchkey = await startLatchkeyProvider({ databaseUrl: await stores.database(), redisUrl: stores.redisUrl })
    const other = await startOidcProvider({ databaseUrl: await stores.database(), people: latchkey.people })
    try {
      await measureOpenid(latchkey, other)
    } finally {
      await Promise.all([latchkey.stop(), other.stop()])
    }
  },
  growth: (stores) => measureTokenTables(stores, { small: Number(values.small), large: Number(values.tokens) }),
}
const names = positionals.length > 0 ? positionals : Object.keys(measures)
if (names.some((name) => !(name in measures))) {
  console.error(`There is ${Object.keys(measures).join(', ')} to measure, and nothing else.`)
  process.exit(2)
}
// Servers are kept by processes that end with this one, however it ends.
setTimeout(() => {
  console.error('This takes far too long; something hangs.')
  process.exit(1)
}, longest).unref()

const stores = await openStores({
  full_page_writes: 'on',
  shared_buffers: '1GB',
  max_wal_size: '4GB',
  maintenance_work_mem: '512MB',
})
if (!stores) throw new Error('PostgreSQL and Redis are needed')
console.log(`${availableParallelism()} cores (${cpus()[0]?.model ?? 'of an unknown kind'}), Node ${process.version}`)
const stopEmptying = keepCountersEmpty(stores.redisUrl)
try {
  for (const name of names) {
    const before = loadavg()[0]?.toFixed(1)
    await measures[name]?.(stores)
    console.log(`\nThe load of the machine was ${before} before and is ${loadavg()[0]?.toFixed(1)} now.`)
  }
} finally {
  stopEmptying()
  await stores.close()
}

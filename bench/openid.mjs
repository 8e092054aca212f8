// node bench/openid.mjs [peer] [growth] [--tokens 10000000] [--small 10000]
//
// The OpenID provider. `peer`: a code for tokens, a refresh and UserInfo against oidc-provider on the same PostgreSQL, in one run, in
// turns, as ratios. `growth`: the same with large tables of tokens against small ones; ten million need about 8 GB on the disk and
// twenty minutes, so try it with --tokens 100000 first. Without names it measures both.
//
// Needs Linux, a build (npm run build), PostgreSQL and Redis. It starts its own servers, like the tests, and stops and removes
// everything that it started. A Redis that is named by BENCH_REDIS_URL is emptied: the limits of applications cannot be raised.
import { parseArgs } from 'node:util'
import { keepCountersEmpty } from './load/cleared-counters.mjs'
import { runMeasures } from './load/run-measures.mjs'
import { measureOpenid } from './measures/openid.mjs'
import { measureTokenTables } from './measures/token-tables.mjs'
import { startLatchkeyProvider, startOidcProvider } from './subjects/openid.mjs'

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { tokens: { type: 'string', default: '10000000' }, small: { type: 'string', default: '10000' } },
})
/** @type {Parameters<typeof runMeasures>[0]} */
const measures = {
  peer: async (stores) => {
    const latchkey = await startLatchkeyProvider({ databaseUrl: await stores.database(), redisUrl: stores.redisUrl })
    const other = await startOidcProvider({ databaseUrl: await stores.database(), people: latchkey.people })
    const stopEmptying = keepCountersEmpty(stores.redisUrl)
    try {
      await measureOpenid(latchkey, other, stores.pids)
    } finally {
      stopEmptying()
      await Promise.all([latchkey.stop(), other.stop()])
    }
  },
  growth: async (stores) => {
    const stopEmptying = keepCountersEmpty(stores.redisUrl)
    try {
      await measureTokenTables(stores, { small: Number(values.small), large: Number(values.tokens) })
    } finally {
      stopEmptying()
    }
  },
}
await runMeasures(measures, positionals)

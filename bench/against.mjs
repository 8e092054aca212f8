// node bench/against.mjs FOLDER [access] [login] [refresh]
//
// Compares the program of this folder with that of another one, such as a clone of an earlier commit: access checks, sign-ins and refreshes,
// on loopback, in one run, in turns, as ratios. Both are built before (`npm ci && npm run build`). It starts its own PostgreSQL and Redis, and stops
// everything that it started. Nothing else should run on the machine.
import { resolve } from 'node:path'
import { argv } from 'node:process'
import { withCoreTime } from './load/core-time.mjs'
import { compareInRounds, printRows } from './load/rounds.mjs'
import { flood } from './load/wrk.mjs'
import { onKnownDevices, signInLoad } from './measures/login.mjs'
import { refreshLoad, signInAll } from './measures/refresh.mjs'
import { startLatchkey } from './subjects/latchkey.mjs'
import { openStores } from './subjects/stores.mjs'

/** @typedef {Awaited<ReturnType<typeof startLatchkey>>} Latchkey */
/** @typedef {import('./load/rounds.mjs').Candidate} Candidate */

/** @type {Record<string, { plan: { rounds: number, seconds: number }, loadOf: (latchkey: Latchkey) => Promise<Candidate['runLoad']> }>} */
const measures = {
  access: {
    plan: { rounds: 15, seconds: 1 },
    loadOf: async ({ port, pid, signIn }) => {
      const cookie = await signIn('person-0')
      const load = { port, path: '/api/auth/verify', cookie, connections: 32 }
      return withCoreTime(pid(), (seconds) => flood({ ...load, seconds }))
    },
  },
  login: {
    plan: { rounds: 9, seconds: 3 },
    loadOf: async (latchkey) => withCoreTime(latchkey.pid(), signInLoad(await onKnownDevices(latchkey))),
  },
  refresh: {
    plan: { rounds: 9, seconds: 2 },
    loadOf: async (latchkey) => refreshLoad(latchkey, await signInAll(latchkey.people, latchkey.signIn)).runLoad,
  },
}

const [folder, ...named] = argv.slice(2)
const unknown = named.find((name) => !(name in measures))
if (!folder || unknown !== undefined) {
  console.error(unknown === undefined ? 'Name the folder of the other program.' : `There is no measure ${unknown}.`)
  process.exit(2)
}

const stores = await openStores()
if (!stores) throw new Error('There is no PostgreSQL or no Redis')
const start = async (/** @type {string | undefined} */ main) =>
  startLatchkey({ databaseUrl: await stores.database(), redisUrl: stores.redisUrl }, 1, {}, main)
const other = await start(resolve(folder, 'dist/main.js'))
const here = await start(undefined)
try {
  for (const [name, { plan, loadOf }] of Object.entries(measures)) {
    if (named.length > 0 && !named.includes(name)) continue
    const candidates = [
      { name: 'the other program', runLoad: await loadOf(other) },
      { name: 'this program', runLoad: await loadOf(here) },
    ]
    printRows(`${name}: ${plan.rounds} rounds of ${plan.seconds} s, medians`, await compareInRounds(candidates, plan))
  }
} finally {
  await other.stop()
  await here.stop()
  await stores.close()
}
process.exit(0)

// node bench/scale.mjs [fill] [room] [requests] [search] [commands] [export] [backup] [ended] [purge] [index] [--users 100000] [--sessions 300000]
//
// The product with very many users: `--users 10000000 --sessions 30000000` for the figures of docs/scale.md (25 GB on the disk, about
// an hour). `fill` makes the database; the others measure on it. `room`: what rows and indexes need. `requests`: sign-ins and
// refreshes against the same with an almost empty database. `search`: administrators search users through HTTP. `commands`: what
// operators run, and `export` the longest of them. `backup`: a backup of everything, and its restore into another database. `ended`: the list of ended sessions. `purge`: refreshes while expired sessions are
// deleted. `index`: refreshes while a migration makes an index. Without names all of them, in this order.
//
// Needs Linux, a build (npm run build), PostgreSQL and Redis. It starts its own servers, like the tests, and removes them. With
// BENCH_DATABASE_URL it uses that PostgreSQL and keeps the database `latchkey_scale` there: then the measures can run one by one, and a
// fill that ended after --seconds goes on when it is called again.
import { parseArgs } from 'node:util'
import { runMeasures } from './load/run-measures.mjs'
import { measureBackup, measureCommands, measureExport } from './measures/scale/commands.mjs'
import { measureEnded } from './measures/scale/ended.mjs'
import { measureIndex } from './measures/scale/new-index.mjs'
import { measureLargePurge } from './measures/scale/purge.mjs'
import { measureRequests } from './measures/scale/requests.mjs'
import { measureRoom } from './measures/scale/room.mjs'
import { measureSearch } from './measures/scale/search.mjs'
import { fillLarge } from './subjects/large.mjs'

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    users: { type: 'string', default: '100000' },
    sessions: { type: 'string', default: '300000' },
    /** How long a fill may take. */
    seconds: { type: 'string', default: '7200' },
  },
})
const users = Number(values.users)
const sizes = { users, sessions: Number(values.sessions), expired: users / 10, events: users / 5 }

/** @type {Parameters<typeof runMeasures>[0]} */
const measures = {
  fill: async (stores) => {
    const isWhole = await fillLarge(stores, sizes, Number(values.seconds))
    console.log(isWhole ? 'The database is filled.' : 'The database is not whole yet: call this again.')
  },
  room: measureRoom,
  requests: (stores) => measureRequests(stores, sizes),
  search: (stores) => measureSearch(stores, sizes),
  commands: (stores) => measureCommands(stores, sizes),
  export: measureExport,
  backup: measureBackup,
  ended: measureEnded,
  purge: (stores) => measureLargePurge(stores, sizes),
  index: (stores) => measureIndex(stores, sizes),
}
// An operator's settings: commits wait for the disk.
await runMeasures(measures, positionals, {
  fsync: 'on',
  shared_buffers: '4GB',
  max_wal_size: '8GB',
  wal_compression: 'on',
})

// node bench/growth.mjs [size] [rotations] [purge] [search] [--users 1000000] [--sessions 10000000] [--rotations 1000000] [--expired 1000000]
//
// Whether the service gets slower, or its tables larger than they should be, with time. `size`: refreshes and sign-ins with large
// tables against the same with small ones. `rotations`: the size of a table whose sessions are rotated again and again. `purge`:
// refreshes while expired sessions are deleted. `search`: pages of the users that administrators search. --small (10000) is the number of users and sessions to compare with. Without names
// it measures all four, in about half an hour, with 9 GB on the disk. Try it with --users 20000 --sessions 100000 first.
//
// Needs Linux, a build (npm run build), PostgreSQL and Redis. It starts its own servers, like the tests, and stops and removes
// everything that it started. PostgreSQL does not wait for the disk (fsync is off), but writes whole pages to its log, as in
// production: that is a cost that grows with the number of pages in use.
import { parseArgs } from 'node:util'
import { runMeasures } from './load/run-measures.mjs'
import { measurePurge } from './measures/purge.mjs'
import { measureRotations } from './measures/rotations.mjs'
import { measureTableSize } from './measures/table-size.mjs'
import { measureUserSearch } from './measures/user-search.mjs'

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    users: { type: 'string', default: '1000000' },
    sessions: { type: 'string', default: '10000000' },
    small: { type: 'string', default: '10000' },
    rotations: { type: 'string', default: '1000000' },
    expired: { type: 'string', default: '1000000' },
  },
})
const small = Number(values.small)
const large = { users: Number(values.users), sessions: Number(values.sessions) }

/** @type {Parameters<typeof runMeasures>[0]} */
const measures = {
  size: (stores) => measureTableSize(stores, { small: { users: small, sessions: small }, large }),
  rotations: (stores) => measureRotations(stores, { sessions: small, rotations: Number(values.rotations) }),
  search: (stores) => measureUserSearch(stores, { users: large.users }),
  purge: (stores) => measurePurge(stores, { sessions: small, expired: Number(values.expired) }),
}
await runMeasures(measures, positionals)

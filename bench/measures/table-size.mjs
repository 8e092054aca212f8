// Do refreshes and sign-ins get slower when the tables are large? Two instances of the service with a database each take turns. PostgreSQL's core time per request is that of the connections of the instance.
import { randomInt } from 'node:crypto'
import { Pool } from 'pg'
import { openConnection } from '../load/connection.mjs'
import { coreTime } from '../load/core-time.mjs'
import { runClients } from '../load/loads.mjs'
import { inMilliseconds, measureInRounds, median, printTable } from '../load/rounds.mjs'
import { connectionTimes, createRefreshes, fill } from '../subjects/filled.mjs'
import { cost, startLatchkey } from '../subjects/latchkey.mjs'

/** @typedef {import('../subjects/filled.mjs').Sizes} Sizes */
/** @typedef {import('../load/rounds.mjs').Measurement} Measurement */
/** @typedef {NonNullable<import('../subjects/stores.mjs').Stores>} Stores */

const plans = {
  refresh: { clients: 16, rounds: 8, seconds: 5 },
  login: { clients: 8, rounds: 6, seconds: 6 },
}

/** @typedef {import('../subjects/latchkey.mjs').Latchkey} Latchkey */
/** `instance` is the core time of the instance for an answer. @typedef {Measurement & { instance?: number }} CostedMeasurement */

/** @type {(latchkey: Latchkey, sql: Pool, clients: number, text: () => string) => (seconds: number) => Promise<CostedMeasurement>} */
const createLoad = (latchkey, sql, clients, text) => async (seconds) => {
  const connections = Array.from({ length: clients }, () => openConnection(latchkey.port))
  const step = async (/** @type {number} */ client) => {
    const answer = await connections[client]?.ask(text())
    if (answer?.status !== 200) throw new Error(`A request ended with ${answer?.status}: ${answer?.body}`)
    return true
  }
  const instanceTime = () => coreTime(latchkey.pid()) ?? Number.NaN
  const before = { database: await connectionTimes(sql), instance: instanceTime() }
  const measured = await runClients({ clients, seconds, step })
  const after = { database: await connectionTimes(sql), instance: instanceTime() }
  for (const connection of connections) connection.close()
  const used = [...after.database].reduce((sum, [pid, time]) => sum + time - (before.database.get(pid) ?? 0), 0)
  return { ...measured, core: used / measured.done, instance: (after.instance - before.instance) / measured.done }
}

/**
 * The loads of an instance whose database is filled. `first`: the place in the order of the sessions to begin with.
 * @type {(latchkey: Latchkey, databaseUrl: string, sizes: Sizes, first?: number) => Promise<FilledCandidate>}
 */
export const openCandidate = async (latchkey, databaseUrl, sizes, first = 0) => {
  const sql = new Pool({ connectionString: databaseUrl, max: 1 })
  const { rows } = await sql.query('select pg_size_pretty(pg_database_size(current_database())) as size')
  const nextRefresh = await createRefreshes(latchkey, sizes, first)
  const loginRequest = () => latchkey.loginRequest(`user-${enabledUser(sizes.users)}`)
  return {
    refresh: createLoad(latchkey, sql, plans.refresh.clients, nextRefresh),
    login: createLoad(latchkey, sql, plans.login.clients, loginRequest),
    sizes,
    size: String(rows[0]?.size),
    stop: async () => {
      await sql.end()
      await latchkey.stop()
    },
  }
}
/** @typedef {{ refresh: (seconds: number) => Promise<CostedMeasurement>, login: (seconds: number) => Promise<CostedMeasurement>, sizes: Sizes, size: string, stop: () => Promise<void> }} FilledCandidate */

/** One user in a thousand is disabled in the largest tables. @param {number} users */
const enabledUser = (users) => {
  const n = randomInt(1, users + 1)
  return n % 1000 === 1 ? n + 1 : n
}

/** @type {(stores: Stores, sizes: Sizes) => Promise<FilledCandidate>} */
export const startFilled = async (stores, sizes) => {
  const databaseUrl = await stores.database()
  const latchkey = await startLatchkey({ databaseUrl, redisUrl: stores.redisUrl })
  const begun = performance.now()
  await fill(databaseUrl, sizes)
  console.log(`Filled ${sizes.sessions} sessions in ${((performance.now() - begun) / 1000).toFixed(0)} s`)
  return openCandidate(latchkey, databaseUrl, sizes)
}

/** Medians and, how many times as much time as with the small tables in the same rounds. @type {(name: string, own: CostedMeasurement[], small: CostedMeasurement[]) => string[]} */
const row = (name, own, small) => {
  const values = (/** @type {keyof CostedMeasurement} */ key) =>
    own.map((measurement) => measurement[key] ?? Number.NaN)
  const ratio = (/** @type {(measurement: CostedMeasurement) => number} */ time) => {
    const ratios = own.map((measurement, round) => time(measurement) / time(small[round] ?? measurement))
    return `${median(ratios).toFixed(2)} (${Math.min(...ratios).toFixed(2)}–${Math.max(...ratios).toFixed(2)})`
  }
  return [
    name,
    median(values('perSecond')).toFixed(own[0] && own[0].perSecond < 100 ? 1 : 0),
    ratio(({ perSecond }) => 1 / perSecond),
    inMilliseconds(median(values('p50'))),
    inMilliseconds(median(values('p99'))),
    ratio(({ p99 = Number.NaN }) => p99),
    `${median(values('core')).toFixed(0)} µs`,
    ratio(({ core = Number.NaN }) => core),
    `${median(values('instance')).toFixed(0)} µs`,
  ]
}

/** Measures both in turns, and stops them. @param {FilledCandidate} one @param {FilledCandidate} other */
export const compareCandidates = async (one, other) => {
  const head = [
    '',
    'per second',
    'time, ratio (range)',
    'p50',
    'p99',
    'p99 ratio',
    'PostgreSQL core time',
    'PostgreSQL core time ratio',
    'core time of the instance',
  ]
  const rows = [head]
  const names = [one, other].map(({ sizes }) => `${sizes.sessions.toLocaleString('en')} sessions`)
  try {
    for (const kind of /** @type {const} */ (['refresh', 'login'])) {
      const candidates = [one, other].map((each) => ({ name: kind, runLoad: each[kind] }))
      const [first = [], second = []] = await measureInRounds(candidates, plans[kind])
      rows.push(row(`${kind}, ${names[0]}`, first, first), row(`${kind}, ${names[1]}`, second, first))
    }
  } finally {
    await Promise.all([one.stop(), other.stop()])
  }
  const { refresh, login } = plans
  printTable(
    `Table size: ${one.sizes.users} users (${one.size}) against ${other.sizes.users} users (${other.size}), ${refresh.clients} clients refresh in ${refresh.rounds} rounds of ${refresh.seconds} s, ${login.clients} sign in at cost ${cost} in ${login.rounds} rounds of ${login.seconds} s, medians`,
    rows,
  )
}

/** @param {Stores} stores @param {{ small: Sizes, large: Sizes }} sizes */
export const measureTableSize = async (stores, { small, large }) =>
  compareCandidates(await startFilled(stores, small), await startFilled(stores, large))

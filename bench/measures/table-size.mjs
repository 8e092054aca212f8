// Whether refreshes and sign-ins get slower when the tables are large: two instances of the service with a database each, in
// turns. PostgreSQL's core time per request is that of the connections of the instance.
import { randomInt } from 'node:crypto'
import { Pool } from 'pg'
import { openConnection } from '../load/connection.mjs'
import { closedLoad } from '../load/loads.mjs'
import { inMilliseconds, median, printTable, turnsInRounds } from '../load/rounds.mjs'
import { connectionTimes, createRefreshes, fill } from '../subjects/filled.mjs'
import { cost, startLatchkey } from '../subjects/latchkey.mjs'

/** @typedef {import('../subjects/filled.mjs').Sizes} Sizes */
/** @typedef {import('../load/rounds.mjs').Turn} Turn */
/** @typedef {NonNullable<import('../subjects/stores.mjs').Stores>} Stores */

const plans = {
  refresh: { clients: 16, rounds: 8, seconds: 5 },
  login: { clients: 8, rounds: 6, seconds: 6 },
}

/** @type {(port: number, sql: Pool, clients: number, text: () => string) => (seconds: number) => Promise<Turn>} */
const createTurn = (port, sql, clients, text) => async (seconds) => {
  const connections = Array.from({ length: clients }, () => openConnection(port))
  const step = async (/** @type {number} */ client) => {
    const answer = await connections[client]?.ask(text())
    if (answer?.status !== 200) throw new Error(`A request ended with ${answer?.status}: ${answer?.body}`)
    return true
  }
  const before = await connectionTimes(sql)
  const seen = await closedLoad({ clients, seconds, step })
  const after = await connectionTimes(sql)
  for (const connection of connections) connection.close()
  const used = [...after].reduce((sum, [pid, time]) => sum + time - (before.get(pid) ?? 0), 0)
  return { ...seen, core: used / seen.done }
}

/** @type {(stores: Stores, sizes: Sizes) => Promise<{ refresh: (seconds: number) => Promise<Turn>, login: (seconds: number) => Promise<Turn>, size: string, stop: () => Promise<void> }>} */
const startFilled = async (stores, sizes) => {
  const databaseUrl = await stores.database()
  const latchkey = await startLatchkey({ databaseUrl, redisUrl: stores.redisUrl })
  const begun = performance.now()
  await fill(databaseUrl, sizes)
  console.log(`Filled ${sizes.sessions} sessions in ${((performance.now() - begun) / 1000).toFixed(0)} s`)
  const sql = new Pool({ connectionString: databaseUrl, max: 1 })
  const { rows } = await sql.query('select pg_size_pretty(pg_database_size(current_database())) as size')
  const refresh = await createRefreshes(latchkey, sizes)
  const login = () => latchkey.login(`user-${randomInt(1, sizes.users + 1)}`)
  return {
    refresh: createTurn(latchkey.port, sql, plans.refresh.clients, refresh),
    login: createTurn(latchkey.port, sql, plans.login.clients, login),
    size: String(rows[0]?.size),
    stop: async () => {
      await sql.end()
      await latchkey.stop()
    },
  }
}

/** Medians and, against the turns of the small tables in the same rounds, how many times as much time. @type {(name: string, own: Turn[], small: Turn[]) => string[]} */
const row = (name, own, small) => {
  const values = (/** @type {keyof Turn} */ key) => own.map((turn) => turn[key] ?? Number.NaN)
  const ratio = (/** @type {(turn: Turn) => number} */ time) => {
    const ratios = own.map((turn, round) => time(turn) / time(small[round] ?? turn))
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
  ]
}

/** @param {Stores} stores @param {{ small: Sizes, large: Sizes }} sizes */
export const measureTableSize = async (stores, { small, large }) => {
  const one = await startFilled(stores, small)
  const other = await startFilled(stores, large)
  const rows = [['', 'a second', 'time, ratio (range)', 'p50', 'p99', 'its ratio', 'PostgreSQL core time', 'its ratio']]
  const names = [small, large].map(({ sessions }) => `${sessions.toLocaleString('en')} sessions`)
  try {
    for (const kind of /** @type {const} */ (['refresh', 'login'])) {
      const subjects = [one, other].map((each) => ({ name: kind, turn: each[kind] }))
      const [first = [], second = []] = await turnsInRounds(subjects, plans[kind])
      rows.push(row(`${kind}, ${names[0]}`, first, first), row(`${kind}, ${names[1]}`, second, first))
    }
  } finally {
    await Promise.all([one.stop(), other.stop()])
  }
  const { refresh, login } = plans
  printTable(
    `Table size: ${small.users} users (${one.size}) against ${large.users} users (${other.size}), ${refresh.clients} clients refresh in ${refresh.rounds} rounds of ${refresh.seconds} s, ${login.clients} sign in at cost ${cost} in ${login.rounds} rounds of ${login.seconds} s, medians`,
    rows,
  )
}

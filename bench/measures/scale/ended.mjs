// The list of ended sessions after a million of them ended: how long an instance takes to start, the statement of every second, and
// what both need in memory.
import { readFile } from 'node:fs/promises'
import { Pool } from 'pg'
import { inMilliseconds, median, printTable } from '../../load/rounds.mjs'
import { source } from '../../subjects/filled.mjs'
import { largeDatabase, startLarge } from '../../subjects/large.mjs'

/** @typedef {NonNullable<import('../../subjects/stores.mjs').Stores>} Stores */

const ended = 1_000_000
const starts = 3
const readings = 50

/** @typedef {Awaited<ReturnType<typeof startLarge>>} Latchkey */

/** @type {(latchkey: Latchkey) => Promise<{ seconds: number, resident: number }>} */
const measureStart = async (latchkey) => {
  const begun = performance.now()
  await latchkey.restart()
  const seconds = (performance.now() - begun) / 1000
  const status = await readFile(`/proc/${latchkey.pid()}/status`, 'utf8')
  return { seconds, resident: (Number(/^VmRSS:\s+(\d+) kB/m.exec(status)?.[1]) * 1024) / 1e6 }
}

/** The statement of every second, straight at PostgreSQL: what is new since a moment ago. @param {Pool} sql */
const measureReadings = async (sql) => {
  const { selectNewEntries } = /** @type {typeof import('../../../src/sessions/ended-sessions.store.js')} */ (
    await source('sessions/ended-sessions.store.ts')
  )
  const { cursorAfter } = /** @type {typeof import('../../../src/sessions/ended-sessions.js')} */ (
    await source('sessions/ended-sessions.ts')
  )
  const database = /** @type {any} */ ({
    query: async (/** @type {string} */ text, /** @type {unknown[]} */ values) => (await sql.query(text, values)).rows,
  })
  const { rows } = await sql.query('select pg_current_snapshot()::text as snapshot')
  /** @type {number[]} */
  const times = []
  let { snapshot } = rows[0]
  for (let reading = 0; reading < readings; reading++) {
    const begun = performance.now()
    ;({ snapshot } = await selectNewEntries(database, cursorAfter(snapshot), 5_000))
    times.push(performance.now() - begun)
  }
  return times
}

/** @param {Stores} stores */
export const measureEnded = async (stores) => {
  const sql = new Pool({ connectionString: await largeDatabase(stores), max: 1 })
  const latchkey = await startLarge(stores)
  const rows = [['', 'start', 'range', 'resident', 'statement, p50', 'longest']]
  const look = async (/** @type {string} */ name) => {
    const seen = []
    for (let start = 0; start < starts; start++) seen.push(await measureStart(latchkey))
    const seconds = seen.map((each) => each.seconds)
    const times = await measureReadings(sql)
    rows.push([
      name,
      `${median(seconds).toFixed(2)} s`,
      `${Math.min(...seconds).toFixed(2)}–${Math.max(...seconds).toFixed(2)}`,
      `${median(seen.map((each) => each.resident)).toFixed(0)} MB`,
      inMilliseconds(median(times)),
      inMilliseconds(Math.max(...times)),
    ])
  }
  try {
    await look('no ended session')
    await sql.query(`insert into ended_sessions (sid) select gen_random_uuid() from generate_series(1, ${ended})`)
    await look(`${ended.toLocaleString('en')} ended sessions`)
    printTable(`Ended sessions: ${starts} starts, ${readings} readings, medians`, rows)
  } finally {
    await latchkey.stop()
    await sql.query('truncate ended_sessions')
    await sql.end()
  }
}

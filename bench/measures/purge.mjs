// How long refreshes take while the service's own purge deletes a great many expired sessions. A service that starts with an empty
// table has nothing to purge and looks again after an hour: that is the quiet time. Started again, it purges.
import { setTimeout as wait } from 'node:timers/promises'
import { Pool } from 'pg'
import { sendAtRate } from '../load/loads.mjs'
import { inMilliseconds, median, printTable } from '../load/rounds.mjs'
import { createRefreshes, fill } from '../subjects/filled.mjs'
import { startLatchkey } from '../subjects/latchkey.mjs'
import { withRaisedPriority } from './saturation.mjs'

/** @typedef {NonNullable<import('../subjects/stores.mjs').Stores>} Stores */
/** @typedef {import('../load/loads.mjs').Measured} Measured */

const rate = 100
const plan = { windows: 5, seconds: 10 }
/** Housekeeping first looks for expired sessions six seconds after the start; by then it has looked. */
const untilFirstLook = 10_000
const longest = 15 * 60_000

/** @type {(sql: Pool) => Promise<number>} */
const countDeleted = async (sql) => {
  const { rows } = await sql.query(`select n_tup_del from pg_stat_user_tables where relname = 'sessions'`)
  return Number(rows[0]?.n_tup_del)
}

/** @type {(name: string, windows: Measured[], quiet: Measured[]) => string[]} */
const row = (name, windows, quiet) => {
  const p50s = windows.map(({ p50 }) => p50)
  const p99s = windows.map(({ p99 }) => p99)
  return [
    name,
    String(windows.reduce((sum, { done }) => sum + done, 0)),
    String(windows.reduce((sum, { failed }) => sum + failed, 0)),
    inMilliseconds(median(p50s)),
    inMilliseconds(median(p99s)),
    `${inMilliseconds(Math.min(...p99s))}–${inMilliseconds(Math.max(...p99s))}`,
    (median(p99s) / median(quiet.map(({ p99 }) => p99))).toFixed(2),
  ]
}

/** @type {(offer: (seconds: number) => Promise<Measured>) => Promise<Measured[]>} */
const quietWindows = async (offer) => {
  await offer(4)
  const windows = []
  for (let count = 0; count < plan.windows; count += 1) windows.push(await offer(plan.seconds))
  return windows
}

/** @type {(sql: Pool, expired: number, offer: (seconds: number) => Promise<Measured>) => Promise<{ windows: Measured[], took: number }>} */
const purgeWindows = async (sql, expired, offer) => {
  const deadline = performance.now() + longest
  while ((await countDeleted(sql)) === 0) {
    if (performance.now() > deadline) throw new Error('The purge did not begin')
    await offer(1)
  }
  const begun = performance.now()
  const windows = []
  while ((await countDeleted(sql)) < expired) {
    if (performance.now() > deadline) throw new Error('The purge did not finish in time')
    windows.push(await offer(plan.seconds))
  }
  return { windows, took: (performance.now() - begun) / 1000 }
}

/** @param {Stores} stores @param {{ sessions: number, expired: number }} sizes */
export const measurePurge = async (stores, { sessions, expired }) => {
  const databaseUrl = await stores.database()
  const latchkey = await startLatchkey({ databaseUrl, redisUrl: stores.redisUrl })
  const sql = new Pool({ connectionString: databaseUrl, max: 1 })
  try {
    await wait(untilFirstLook)
    await fill(databaseUrl, { users: sessions, sessions, expired })
    const text = await createRefreshes(latchkey, { users: sessions, sessions })
    const offer = (/** @type {number} */ seconds) =>
      sendAtRate({ port: latchkey.port, rate, seconds, text, succeeds: (status) => status === 200 })
    await withRaisedPriority(async () => {
      const before = await quietWindows(offer)
      if ((await countDeleted(sql)) > 0) throw new Error('The purge began too early')
      await latchkey.restart()
      const { windows, took } = await purgeWindows(sql, expired, offer)
      const after = await quietWindows(offer)
      const quiet = [...before, ...after]
      printTable(
        `Purge of ${expired} expired sessions in ${took.toFixed(0)} s, ${rate} refreshes a second, windows of ${plan.seconds} s, medians`,
        [
          ['', 'succeeded', 'failed', 'p50', 'p99', 'least–most p99', 'ratio'],
          row('before', before, quiet),
          row('during the purge', windows, quiet),
          row('after', after, quiet),
        ],
      )
    })
  } finally {
    await sql.end()
    await latchkey.stop()
  }
}

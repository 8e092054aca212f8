// Refreshes while the service deletes expired sessions from the large table. It does not wait for the end of the purge, which reads
// the whole table step by step.
import { randomInt } from 'node:crypto'
import { setTimeout as wait } from 'node:timers/promises'
import { Pool } from 'pg'
import { sendAtRate } from '../../load/loads.mjs'
import { inMilliseconds, printTable } from '../../load/rounds.mjs'
import { createRefreshes } from '../../subjects/filled.mjs'
import { largeDatabase, startLarge } from '../../subjects/large.mjs'
import { withRaisedPriority } from '../saturation.mjs'

/** @typedef {NonNullable<import('../../subjects/stores.mjs').Stores>} Stores */

const rate = 50
const seconds = 40
/** Housekeeping first deletes six seconds after the start; a second later it is under way. */
const untilPurge = 7_000

/** @type {(sql: Pool) => Promise<number>} */
const countDeleted = async (sql) => {
  const { rows } = await sql.query(`select n_tup_del from pg_stat_user_tables where relname = 'sessions'`)
  return Number(rows[0]?.n_tup_del)
}

/** @param {Stores} stores @param {import('../../subjects/large.mjs').LargeSizes} sizes */
export const measureLargePurge = async (stores, sizes) => {
  const sql = new Pool({ connectionString: await largeDatabase(stores), max: 1 })
  const latchkey = await startLarge(stores)
  try {
    const text = await createRefreshes(latchkey, sizes, randomInt(sizes.sessions))
    const offer = (/** @type {number} */ duration) =>
      sendAtRate({ port: latchkey.port, rate, seconds: duration, text, succeeds: (status) => status === 200 })
    await withRaisedPriority(async () => {
      const before = await offer(4)
      await wait(untilPurge)
      const deletedBefore = await countDeleted(sql)
      const during = await offer(seconds)
      const deleted = (await countDeleted(sql)) - deletedBefore
      printTable(
        `Purge, ${rate} refreshes a second; ${(deleted / seconds).toFixed(0)} expired sessions were deleted each second`,
        [
          ['', 'succeeded', 'failed', 'p50', 'p99'],
          ...Object.entries({ 'before the purge': before, 'during the purge': during }).map(
            ([name, { done, failed, p50, p99 }]) => [
              name,
              String(done),
              String(failed),
              inMilliseconds(p50),
              inMilliseconds(p99),
            ],
          ),
        ],
      )
    })
  } finally {
    await sql.end()
    await latchkey.stop()
  }
}

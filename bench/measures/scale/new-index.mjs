// What refreshes notice while `latchkey migrate` makes an index on the table of sessions: a copy of the program with one migration more.
import { execFile } from 'node:child_process'
import { randomInt } from 'node:crypto'
import { cp, mkdtemp, readdir, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { Pool } from 'pg'
import { sendAtRate } from '../../load/loads.mjs'
import { inMilliseconds, printTable } from '../../load/rounds.mjs'
import { createRefreshes } from '../../subjects/filled.mjs'
import { environment, largeDatabase, startLarge } from '../../subjects/large.mjs'
import { withRaisedPriority } from '../saturation.mjs'

/** @typedef {NonNullable<import('../../subjects/stores.mjs').Stores>} Stores */

const home = fileURLToPath(new URL('../../../', import.meta.url))
const rate = 20

/** @param {string} folder */
const copyProgram = async (folder) => {
  for (const part of ['dist', 'migrations', 'package.json'])
    await cp(join(home, part), join(folder, part), { recursive: true })
  await symlink(join(home, 'node_modules'), join(folder, 'node_modules'))
  const count = (await readdir(join(folder, 'migrations'))).length
  const name = `${String(count + 1).padStart(4, '0')}-bench.sql`
  await writeFile(
    join(folder, 'migrations', name),
    '-- older programs: can run from 0003\n\ncreate index bench_new_index on sessions (created_at);\n',
  )
  return name
}

/** Until the work is done, in pieces of some seconds. @type {(offer: (seconds: number) => ReturnType<typeof sendAtRate>, work: Promise<unknown>) => Promise<import('../../load/loads.mjs').Measured[]>} */
const offerUntil = async (offer, work) => {
  let isDone = false
  const ended = work.finally(() => {
    isDone = true
  })
  const seen = []
  while (!isDone) seen.push(await offer(5))
  await ended
  return seen
}

/** @param {Stores} stores @param {import('../../subjects/large.mjs').LargeSizes} sizes */
export const measureIndex = async (stores, sizes) => {
  const folder = await mkdtemp(join(tmpdir(), 'latchkey-bench-'))
  const sql = new Pool({ connectionString: await largeDatabase(stores), max: 1 })
  const latchkey = await startLarge(stores)
  try {
    const name = await copyProgram(folder)
    const text = await createRefreshes(latchkey, sizes, randomInt(sizes.sessions))
    const offer = (/** @type {number} */ length) =>
      sendAtRate({ port: latchkey.port, rate, seconds: length, text, succeeds: (status) => status === 200 })
    const env = await environment(stores, folder)
    await withRaisedPriority(async () => {
      const before = await offer(4)
      const begun = performance.now()
      const migrating = promisify(execFile)(process.execPath, [join(folder, 'dist/main.js'), 'migrate'], { env })
      let took = 0
      const during = await offerUntil(
        offer,
        migrating.then(() => {
          took = (performance.now() - begun) / 1000
        }),
      )
      const answered = during.filter(({ done }) => done > 0)
      const sum = (/** @type {'done' | 'failed'} */ key) => String(during.reduce((all, each) => all + each[key], 0))
      printTable(`A migration with an index on the sessions took ${took.toFixed(0)} s; ${rate} refreshes a second`, [
        ['', 'answered', 'failed', 'longest p50', 'longest p99'],
        ['before', String(before.done), String(before.failed), inMilliseconds(before.p50), inMilliseconds(before.p99)],
        [
          'meanwhile',
          sum('done'),
          sum('failed'),
          inMilliseconds(Math.max(...answered.map(({ p50 }) => p50))),
          inMilliseconds(Math.max(...answered.map(({ p99 }) => p99))),
        ],
      ])
    })
    await sql.query('drop index if exists bench_new_index')
    await sql.query('delete from schema_migrations where name = $1', [name])
  } finally {
    await sql.end()
    await latchkey.stop()
    await rm(folder, { recursive: true, force: true })
  }
}

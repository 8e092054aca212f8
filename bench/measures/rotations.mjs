// How much a table of sessions grows by rotations: the service's own statement, over several connections, with PostgreSQL's
// autovacuum as it is by default.
import { createHash, randomInt } from 'node:crypto'
import { Pool } from 'pg'
import { printTable } from '../load/rounds.mjs'
import { fill, idOf, rotation } from '../subjects/filled.mjs'
import { startLatchkey } from '../subjects/latchkey.mjs'

/** @typedef {NonNullable<import('../subjects/stores.mjs').Stores>} Stores */
/** @typedef {{ done: number, table: number, indexes: number, updates: number, hot: number, vacuums: number }} State */

const connections = 8
const client = { ip: '203.0.113.78', userAgent: 'Mozilla/5.0 '.repeat(10) }

/** @type {(sql: Pool, done: number) => Promise<State>} */
const stateOf = async (sql, done) => {
  const { rows } = await sql.query(
    `select pg_table_size(relid) as table, pg_indexes_size(relid) as indexes, n_tup_upd as updates, n_tup_hot_upd as hot,
       autovacuum_count as vacuums from pg_stat_user_tables where relname = 'sessions'`,
  )
  const entries = Object.entries(rows[0] ?? {}).map(([name, value]) => [name, Number(value)])
  return { done, ...Object.fromEntries(entries) }
}

/** @type {(sql: Pool, sessions: number) => Promise<() => Promise<void>>} */
const createRotations = async (sql, sessions) => {
  const rotateRecord = await rotation()
  const port = {
    /** @type {(text: string, values?: readonly unknown[]) => Promise<any[]>} */
    query: async (text, values = []) => (await sql.query({ name: 'rotate', text, values: [...values] })).rows,
  }
  const token = (/** @type {number} */ n, /** @type {number} */ generation) =>
    createHash('sha256')
      .update(generation === 0 ? String(n) : `${n} ${generation}`)
      .digest()
  const generations = new Uint32Array(sessions + 1)
  return async () => {
    const n = randomInt(1, sessions + 1)
    const generation = (generations[n] ?? 0) + 1
    generations[n] = generation
    const now = new Date()
    const rotated = await rotateRecord(port, {
      id: idOf('session', n),
      generation,
      proven: undefined,
      presentedHash: token(n, generation - 1),
      successorHash: token(n, generation),
      issuedAt: now,
      expiresAt: new Date(now.getTime() + 30 * 86_400_000),
      usedAt: now,
      live: { now, begun: new Date(0), refreshed: new Date(0) },
      atProxy: false,
      graces: { refreshGrace: 30_000, renewGrace: 120_000 },
      clockOffset: 0,
      client,
    })
    // Two connections may rotate one session in the wrong order. The newer token wins, and the older one changes nothing.
    if (rotated.length === 0 && generations[n] === generation) throw new Error('A session was not rotated')
  }
}

/** @type {(states: State[]) => string[][]} */
const table = (states) => {
  const [first] = states
  const inMegabytes = (/** @type {number} */ bytes) => `${(bytes / 1e6).toFixed(2)} MB`
  return states.map(({ done, table, indexes, updates, hot, vacuums }) => [
    done.toLocaleString('en'),
    inMegabytes(table),
    (table / (first?.table ?? 1)).toFixed(2),
    inMegabytes(indexes),
    (indexes / (first?.indexes ?? 1)).toFixed(2),
    updates.toLocaleString('en'),
    updates > 0 ? `${((100 * hot) / updates).toFixed(2)} %` : '',
    String(vacuums),
  ])
}

/** @param {Stores} stores @param {{ sessions: number, rotations: number }} sizes */
export const measureRotations = async (stores, { sessions, rotations }) => {
  const databaseUrl = await stores.database()
  // Its start migrates the database. Nothing else is needed of it.
  await (await startLatchkey({ databaseUrl, redisUrl: stores.redisUrl })).stop()
  await fill(databaseUrl, { users: sessions, sessions })
  const sql = new Pool({ connectionString: databaseUrl, max: connections })
  try {
    const rotate = await createRotations(sql, sessions)
    const states = [await stateOf(sql, 0)]
    const begun = performance.now()
    const steps = 10
    const each = Math.ceil(rotations / 10 / connections)
    for (let step = 1; step <= steps; step += 1) {
      const run = async () => {
        for (let count = 0; count < each; count += 1) await rotate()
      }
      await Promise.all(Array.from({ length: connections }, run))
      if ([1, 2, 5, 10].includes(step)) states.push(await stateOf(sql, step * each * connections))
    }
    const seconds = (performance.now() - begun) / 1000
    printTable(
      `Rotations of ${sessions} sessions over ${connections} connections, ${seconds.toFixed(0)} s, sizes and how many times the first`,
      [['rotations', 'table', 'ratio', 'indexes', 'ratio', 'updates', 'HOT', 'autovacuums'], ...table(states)],
    )
  } finally {
    await sql.end()
  }
}

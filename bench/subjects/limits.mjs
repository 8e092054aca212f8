// What nothing of ours can beat: an empty server, and a row that is updated by its key.
import { execFile, spawnSync } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { isUp } from '../load/connection.mjs'
import { processes } from './stores.mjs'

const run = promisify(execFile)

/** @type {(program: URL, env: Record<string, string>) => Promise<{ port: number, pid: () => number, stop: () => Promise<void> }>} */
const startBare = async (program, env) => {
  const { freePort, ownFolder, startServer } = await processes()
  const port = await freePort()
  const server = await startServer({
    command: process.execPath,
    args: [fileURLToPath(program)],
    folder: await ownFolder('bench-bare'),
    env: { ...env, PORT: String(port) },
    ready: () => isUp(port, '/'),
  })
  return { port, pid: server.pid, stop: server.stop }
}

/**
 * With a secret it checks the signature of each access token.
 * @param {{ status: number, headers: string[], body: string }} answer @param {string} [secret] @param {number} [workers]
 */
export const startBareHttp = (answer, secret, workers = 1) =>
  startBare(new URL('bare-http.mjs', import.meta.url), {
    ANSWER: JSON.stringify(answer),
    WORKERS: String(workers),
    ...(secret !== undefined && { SECRET: secret }),
  })

/** A refresh with nothing around it, on the stores and with the secret of the service. @param {Record<string, string>} settings @param {Record<string, string>} headers */
export const startBareRefresh = (settings, headers) =>
  startBare(new URL('bare-refresh.mjs', import.meta.url), { ...settings, HEADERS: JSON.stringify(headers) })

/** The service's own port to PostgreSQL, with its own number of connections. @param {string} url @param {number} rows */
export const createOneRowUpdates = async (url, rows) => {
  const { createPostgres } = await import(new URL('../../dist/modules/platform/database/open.js', import.meta.url).href)
  const pool = 10
  const times = { connectTimeoutMs: 3_000, statementTimeoutMs: 5_000 }
  const database = createPostgres({ url, poolSize: pool, ...times })
  await database.query('create table bench_rows (id int primary key, token bytea, previous bytea, used_at timestamptz)')
  await database.query('insert into bench_rows (id) select generate_series(0, $1::int - 1)', [rows])
  const token = Buffer.alloc(32, 7)
  const statement = 'update bench_rows set previous = token, token = $2, used_at = now() where id = $1 returning id'
  return {
    pool,
    update: async (/** @type {number} */ client) => (await database.query(statement, [client, token])).length === 1,
    close: () => database.close(),
  }
}

export const hasPgbench = () => spawnSync('pgbench', ['--version']).status === 0

/** @type {(url: string, load: { clients: number, rows: number, seconds: number }) => Promise<{ perSecond: number }>} */
export const pgbench = async (url, { clients, rows, seconds }) => {
  const folder = await mkdtemp(join(tmpdir(), 'latchkey-pgbench-'))
  const script = join(folder, 'update.sql')
  const statement = `update bench_rows set previous = token, token = '\\\\x07', used_at = now() where id = :id returning id;`
  try {
    await writeFile(script, `\\set id random(0, ${rows - 1})\n${statement}\n`)
    const args = ['-n', '-M', 'prepared', '-c', String(clients), '-T', String(seconds), '-f', script, url]
    const { stdout } = await run('pgbench', args)
    return { perSecond: Number(/tps = ([\d.]+)/.exec(stdout)?.[1]) }
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

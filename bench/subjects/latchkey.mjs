// The built program in a process of its own, set up as in production: its log at the usual level, its limiters counting.
// Only their maxima are out of reach, because all clients here come from one address.
import { spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import bcrypt from 'bcrypt'
import { askOnce, cookiesOf, isUp, request } from '../load/connection.mjs'
import { processes } from './stores.mjs'

/** @typedef {Awaited<ReturnType<typeof startLatchkey>>} Latchkey */

const inside = fileURLToPath(new URL('bare-inside.mjs', import.meta.url))
export const program = fileURLToPath(new URL('../../dist/main.js', import.meta.url))

export const password = 'violet-Harbor-91-lantern'
export const cost = 10
const people = Array.from({ length: 32 }, (_, index) => `person-${index}`)

/** Those of production, but for the stores. Its mail server is not there. */
export const production = {
  NODE_ENV: 'production',
  PUBLIC_URL: 'https://localhost',
  TRUST_PROXY: '127.0.0.1',
  SMTP_URL: 'smtp://127.0.0.1:1',
  MAIL_FROM: 'Latchkey <no-reply@example.com>',
}

/** @type {(stores: { databaseUrl: string, redisUrl: string } | undefined, folder: string) => Record<string, string>} */
export const settingsFor = (stores, folder) => ({
  HOST: '127.0.0.1',
  DATA_DIR: folder,
  JWT_SECRET: randomBytes(48).toString('hex'),
  BCRYPT_COST: String(cost),
  LOGIN_LIMIT: '100000000/15m',
  ACCOUNT_LIMIT: '100000000/1h',
  SIGN_IN_LIMIT: '100000000/1h',
  NETWORK_SIGN_IN_LIMIT: '100000000/1h',
  NETWORK_MAIL_LIMIT: '100000000/1h',
  TOTAL_REGISTRATION_LIMIT: '100000000/1h',
  TOTAL_MAIL_LIMIT: '100000000/1h',
  TOTAL_WAITING_LIMIT: '100000000/10m',
  GENERAL_LIMIT: '100000000/15m',
  DRAIN_DELAY: '0ms',
  LOG_LEVEL: 'info',
  ...(stores
    ? {
        ...production,
        DATABASE_URL: stores.databaseUrl,
        REDIS_URL: stores.redisUrl,
        REDIS_PREFIX: `latchkey-bench-${randomBytes(4).toString('hex')}:`,
      }
    : { NODE_ENV: 'test', TRUST_PROXY: '127.0.0.1' }),
})

/** Adds the people with the program's own import, before it serves. */
const importPeople = async (/** @type {Record<string, string>} */ settings, /** @type {string} */ main) => {
  const hash = await bcrypt.hash(password, cost)
  const rows = people.map((name) =>
    JSON.stringify({ email: `${name}@example.com`, username: name, password_hash: hash }),
  )
  const args = [main, 'user', 'import', '--format', 'jsonl', '-']
  const child = spawn(process.execPath, args, {
    env: { ...process.env, ...settings },
    stdio: ['pipe', 'ignore', 'inherit'],
  })
  child.stdin.end(`${rows.join('\n')}\n`)
  const [code] = await once(child, 'exit')
  if (code !== 0) throw new Error('The people could not be added')
}

/**
 * @param {{ databaseUrl: string, redisUrl: string } | undefined} stores
 * @param {number} [workers]
 * @param {Record<string, string>} [own] settings
 * @param {string} [main] the program, if not that of this folder
 */
export const startLatchkey = async (stores, workers = 1, own = {}, main = program) => {
  const { freePort, ownFolder, startServer } = await processes()
  const folder = await ownFolder('bench')
  const port = await freePort()
  const insidePort = await freePort()
  /** @type {Record<string, string>} */
  const settings = { ...settingsFor(stores, folder), ...own, PORT: String(port), WORKERS: String(workers) }
  await importPeople(settings, main)
  const server = await startServer({
    command: process.execPath,
    args: ['--import', inside, main, 'serve'],
    folder,
    env: { ...settings, ...(workers === 1 && { BENCH_INSIDE_PORT: String(insidePort) }) },
    ready: () => isUp(port, '/health', 200),
  })
  return {
    port,
    /** The port of the empty server inside of the service. */
    insidePort,
    pid: server.pid,
    settings,
    people,
    restart: server.restart,
    stop: server.stop,
    /** Registers a site behind a proxy, for every user. */
    protect: async (/** @type {string} */ site) => {
      const args = [main, 'application', 'add', 'Site', '--proxy', site, '--everyone']
      const child = spawn(process.execPath, args, {
        env: { ...process.env, ...settings },
        stdio: ['ignore', 'ignore', 'inherit'],
      })
      const [code] = await once(child, 'exit')
      if (code !== 0) throw new Error('The site could not be added')
    },
    loginRequest: (/** @type {string} */ username) =>
      request('POST', '/api/auth/login', { body: { username, password } }),
    /** The cookies of a user who has just signed in. */
    signIn: async (/** @type {string} */ username) => {
      const answer = await askOnce(port, request('POST', '/api/auth/login', { body: { username, password } }))
      if (answer.status !== 200) throw new Error(`A sign-in ended with ${answer.status}: ${answer.body}`)
      return cookiesOf(answer)
    },
  }
}

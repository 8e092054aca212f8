// A PostgreSQL and a Redis for one run: those that are named, else private ones, started as the tests start theirs.
import { randomBytes } from 'node:crypto'
import { fileURLToPath } from 'node:url'
import { Pool } from 'pg'
import { runnerImport } from 'vite'

/** @typedef {Awaited<ReturnType<typeof openStores>>} Stores */

/** The tests' own parts are TypeScript, which Node does not run by itself. @type {(path: string) => Promise<unknown>} */
export const testPart = async (path) => {
  const { module } = await runnerImport(fileURLToPath(new URL(`../../test/support/servers/${path}`, import.meta.url)))
  return module
}

export const processes = async () =>
  /** @type {typeof import('../../test/support/servers/server.js')} */ (await testPart('server.ts'))

const isThere = async (/** @type {string[]} */ ...names) => {
  const { findProgram } = /** @type {typeof import('../../test/support/servers/programs.js')} */ (
    await testPart('programs.ts')
  )
  return findProgram(...names) !== undefined
}

/** @param {Record<string, string>} settings */
const openPostgres = async (settings) => {
  const url = process.env.BENCH_DATABASE_URL
  if (url) return { url, pid: undefined, stop: async () => {} }
  const part = /** @type {typeof import('../../test/support/servers/postgres.js')} */ (await testPart('postgres.ts'))
  return (await isThere('initdb')) ? part.startPostgres({ settings }) : undefined
}

const openRedis = async () => {
  const url = process.env.BENCH_REDIS_URL
  if (url) return { url, pid: undefined, stop: async () => {} }
  const part = /** @type {typeof import('../../test/support/servers/redis.js')} */ (await testPart('redis.ts'))
  return (await isThere('redis-server', 'valkey-server')) ? part.startRedis() : undefined
}

/**
 * Nothing when one of the two is not to be had. Each `database()` is a fresh one, and all are dropped at the end. `settings`
 * are for a PostgreSQL that is started here.
 * @param {Record<string, string>} settings
 */
export const openStores = async (settings = {}) => {
  const server = await openPostgres(settings)
  const redis = await openRedis()
  const stop = async () => {
    await Promise.all([server?.stop(), redis?.stop()])
  }
  if (!server || !redis) {
    await stop()
    return undefined
  }
  const sql = new Pool({ connectionString: server.url, max: 1 })
  /** @type {string[]} */
  const names = []
  const urlOf = (/** @type {string} */ name) => {
    const url = new URL(server.url)
    url.pathname = `/${name}`
    return url.href
  }
  return {
    redisUrl: redis.url,
    /** The processes of both servers; undefined if one was named, which may be on another machine. */
    pids: server.pid && redis.pid && [server.pid(), redis.pid()],
    database: async () => {
      const name = `latchkey_bench_${randomBytes(4).toString('hex')}`
      await sql.query(`create database ${name}`)
      names.push(name)
      return urlOf(name)
    },
    /** One with a name of its own, which is made if it is not there. It stays in a server that was named. @type {(name: string) => Promise<string>} */
    keptDatabase: async (name) => {
      const { rowCount } = await sql.query('select 1 from pg_database where datname = $1', [name])
      if (!rowCount) await sql.query(`create database ${name}`)
      return urlOf(name)
    },
    close: async () => {
      for (const name of names) await sql.query(`drop database ${name} with (force)`)
      await sql.end()
      await stop()
    },
  }
}

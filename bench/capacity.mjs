// node bench/capacity.mjs [--rows 200000]
//
// Measures what one request costs: CPU time of the instance, of PostgreSQL and of Redis, and how much storage a user, a session
// and a counter need. CPU time per request is almost the same on a busy and on an idle machine; requests per second are not.
// docs/scale.md calculates with these numbers. Takes about a minute.
import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { cpus } from 'node:os'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { Redis } from 'ioredis'
import { Pool } from 'pg'
import { runnerImport } from 'vite'
import { cookiesOf, openConnection, request } from './load/connection.mjs'
import { runClients } from './load/loads.mjs'
import { cost, startLatchkey } from './subjects/latchkey.mjs'

/** @typedef {Record<'instance' | 'database' | 'redis', number>} Costs */
/** @typedef {Costs & { name: string, perSecond: number, p99: number }} Row */

const ticksPerSecond = Number(execFileSync('getconf', ['CLK_TCK'], { encoding: 'utf8' }))
const clients = 16

/** @type {(path: string) => Promise<unknown>} */
const testPart = async (path) => {
  const { module } = await runnerImport(fileURLToPath(new URL(`../test/support/servers/${path}`, import.meta.url)))
  return module
}

/** CPU seconds that a process and its threads have used so far. @param {number} pid */
const cpuOf = (pid) => {
  try {
    const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? []
    return (Number(fields[11]) + Number(fields[12])) / ticksPerSecond
  } catch {
    return 0
  }
}

/** A PostgreSQL connection is a process of its own. @param {number} pid */
const withChildren = (pid) => [
  pid,
  ...readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').split(' ').filter(Boolean).map(Number),
]

const startParts = async () => {
  const { startPostgres } = /** @type {typeof import('../test/support/servers/postgres.js')} */ (
    await testPart('postgres.ts')
  )
  const { startRedis } = /** @type {typeof import('../test/support/servers/redis.js')} */ (await testPart('redis.ts'))
  // Commits wait for the disk, as they must where data matters.
  const server = await startPostgres({ settings: { fsync: 'on', full_page_writes: 'on', shared_buffers: '256MB' } })
  const redis = await startRedis()
  const latchkey = await startLatchkey({ databaseUrl: server.url, redisUrl: redis.url })
  const cpuNow = () => ({
    instance: cpuOf(latchkey.pid()),
    database: withChildren(server.pid()).reduce((sum, pid) => sum + cpuOf(pid), 0),
    redis: cpuOf(redis.pid()),
  })
  return { server, redis, latchkey, cpuNow }
}

/** @typedef {Awaited<ReturnType<typeof startParts>>} Parts */

/** @type {(parts: Parts, name: string, seconds: number, step: (client: number) => Promise<boolean>) => Promise<Row>} */
const measure = async ({ cpuNow }, name, seconds, step) => {
  const before = cpuNow()
  const { perSecond, p99, done, failed } = await runClients({ clients, seconds, step })
  const after = cpuNow()
  if (failed > done / 100) throw new Error(`${name}: ${failed} of ${done + failed} requests failed`)
  const cost = (/** @type {keyof Costs} */ part) => ((after[part] - before[part]) * 1000) / done
  return { name, perSecond, p99, instance: cost('instance'), database: cost('database'), redis: cost('redis') }
}

/** @param {Parts} parts */
const measureRequests = async (parts) => {
  const { latchkey } = parts
  const connections = Array.from({ length: clients }, () => openConnection(latchkey.port))
  const cookies = await Promise.all(connections.map((_, index) => latchkey.signIn(latchkey.people[index] ?? '')))
  const steps = {
    check: async (/** @type {number} */ client) => {
      const answer = await connections[client]?.ask(request('GET', '/api/auth/verify', { cookie: cookies[client] }))
      return answer?.status === 204
    },
    refresh: async (/** @type {number} */ client) => {
      const asked = request('POST', '/api/auth/refresh', { cookie: cookies[client], body: {} })
      const answer = await connections[client]?.ask(asked)
      if (answer?.status === 200) cookies[client] = cookiesOf(answer)
      return answer?.status === 200
    },
    login: async (/** @type {number} */ client) => {
      const answer = await connections[client]?.ask(latchkey.loginRequest(latchkey.people[client] ?? ''))
      return answer?.status === 200
    },
  }
  await measure(parts, 'warm-up', 2, steps.refresh)
  return {
    rows: [
      await measure(parts, 'access check', 5, steps.check),
      await measure(parts, 'refresh', 5, steps.refresh),
      await measure(parts, `login at cost ${cost}`, 8, steps.login),
    ],
    refreshAgain: () => measure(parts, 'refresh, with all those rows', 5, steps.refresh),
    close: () => {
      for (const connection of connections) connection.close()
    },
  }
}

/** Fills the two large tables and says how many bytes a row takes, indexes and spare room included. */
const measureRoom = async (/** @type {Pool} */ sql, /** @type {number} */ rows) => {
  const sizes = async () => {
    const { rows: found } = await sql.query(`select pg_total_relation_size('users') as users,
      pg_total_relation_size('sessions') as sessions`)
    return { users: Number(found[0]?.users), sessions: Number(found[0]?.sessions) }
  }
  const before = await sizes()
  const fillUsers = `insert into users (id, email, email_key, username, username_key, name, password_hash, created_at)
    select gen_random_uuid(), 'somebody-' || n || '@mail.example.com', 'somebody-' || n || '@mail.example.com',
      'somebody-' || n, 'somebody-' || n, 'Somebody ' || n, repeat('h', 60), now() from generate_series(1, $1::int) as n`
  await sql.query(fillUsers, [rows])
  await sql.query(`insert into sessions (id, user_id, token_hash, previous_hash, generation, issued_at, rotated_at,
      expires_at, ip, user_agent, created_at, last_used_at, methods, authenticated_at, second_factor_required, signed_in_as)
    select gen_random_uuid(), id, sha256(id::text::bytea), sha256(id::text::bytea), 3, now(), now(),
      now() + interval '30 days', '203.0.113.77', repeat('Mozilla/5.0 ', 10), now(), now(), '{pwd}', now(), false,
      username from users where username like 'somebody-%'`)
  await sql.query('vacuum analyze users, sessions')
  const after = await sizes()
  return { user: (after.users - before.users) / rows, session: (after.sessions - before.sessions) / rows }
}

const measureCounter = async (/** @type {string} */ url) => {
  const client = new Redis(url)
  const [key] = await client.keys('*')
  const bytes = key ? await client.memory('USAGE', key) : 0
  await client.quit()
  return bytes
}

/** @param {Row[]} rows */
const print = (rows) => {
  const first = rows[0]?.instance ?? 1
  const width = Math.max(...rows.map(({ name }) => name.length))
  const figure = (/** @type {number} */ value, digits = 3) => value.toFixed(digits).padStart(9)
  console.log(`${''.padEnd(width)}   CPU milliseconds per request           here, ${clients} at once`)
  console.log(`${''.padEnd(width)}  instance  database     redis  ratio      per s    p99 ms`)
  for (const { name, instance, database, redis, perSecond, p99 } of rows) {
    const costs = `${figure(instance)} ${figure(database)} ${figure(redis)}`
    console.log(
      `${name.padEnd(width)} ${costs} ${figure(instance / first, 1).slice(3)} ${figure(perSecond, 0)} ${figure(p99, 1)}`,
    )
  }
}

const { values } = parseArgs({ options: { rows: { type: 'string', default: '200000' } } })
const count = Number(values.rows)
const parts = await startParts()
const sql = new Pool({ connectionString: parts.server.url, max: 1 })
try {
  console.log(`Node ${process.version}, ${cpus().length} cores (${cpus()[0]?.model ?? 'of an unknown kind'})\n`)
  const requests = await measureRequests(parts)
  const room = await measureRoom(sql, count)
  print([...requests.rows, await requests.refreshAgain()])
  requests.close()
  const counter = await measureCounter(parts.redis.url)
  const bytes = { 'a user': room.user, 'a session': room.session, 'a counter in Redis': counter ?? 0 }
  console.log(`\nRoom, indexes included, at ${count} users with a session each:`)
  for (const [name, size] of Object.entries(bytes)) console.log(`  ${name.padEnd(20)} ${Math.round(size)} bytes`)
} finally {
  await sql.end()
  await parts.latchkey.stop()
  await Promise.all([parts.server.stop(), parts.redis.stop()])
}

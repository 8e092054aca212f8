// A database with as many users and sessions as wanted, filled by SQL. Ids follow from a number, so that a client can refresh any
// of these sessions without a list of them.
import { createHash } from 'node:crypto'
import { fileURLToPath } from 'node:url'
import bcrypt from 'bcrypt'
import { Pool } from 'pg'
import { runnerImport } from 'vite'
import { request } from '../load/connection.mjs'
import { coreTime } from '../load/core-time.mjs'
import { cost, password } from './latchkey.mjs'

/** @typedef {import('./latchkey.mjs').Latchkey} Latchkey */
/** @typedef {{ users: number, sessions: number, expired?: number }} Sizes */

/** @type {(path: string) => Promise<unknown>} */
export const source = async (path) =>
  (await runnerImport(fileURLToPath(new URL(`../../src/${path}`, import.meta.url)))).module

/** The moments, in milliseconds, with which the ids begin (UUIDv7). Sessions that have expired come first. */
const origins = {
  user: 1_600_000_000_000,
  expired: 1_650_000_000_000,
  session: 1_700_000_000_000,
  authorization: 1_710_000_000_000,
  tokens: 1_720_000_000_000,
}

/** The n-th id of a kind, as an expression in SQL. @type {(kind: keyof typeof origins, n: string) => string} */
export const idInSql = (kind, n) =>
  `(lpad(to_hex(${origins[kind]} + (${n})::bigint), 12, '0') || '7' || substr(md5((${n})::text), 1, 3) || '8' ||
    substr(md5((${n})::text), 4, 15))::uuid`

/** The same id. @type {(kind: keyof typeof origins, n: number) => string} */
export const idOf = (kind, n) => {
  const time = (origins[kind] + n).toString(16).padStart(12, '0')
  const rest = createHash('md5').update(String(n)).digest('hex')
  const hex = `${time}7${rest.slice(0, 3)}8${rest.slice(3, 18)}`
  return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join('-')
}

/** Sessions of one user are far from each other, as sessions that began on different days. @type {(n: number, users: number) => number} */
const ownerOf = (n, users) => 1 + ((n * 7_919) % users)

/** @type {(sql: Pool, kind: 'session' | 'expired', count: number, users: number) => Promise<unknown>} */
const fillSessions = (sql, kind, count, users) =>
  sql.query(`insert into sessions (id, user_id, token_hash, generation, issued_at, rotated_at, expires_at, ip,
      user_agent, created_at, last_used_at, methods, authenticated_at, second_factor_required, signed_in_as)
    select ${idInSql(kind, 'n')}, ${idInSql('user', `1 + (n::bigint * 7919) % ${users}`)}, sha256(n::text::bytea), 0,
      now(), now(), now() + interval '${kind === 'session' ? '30 days' : '-1 day'}', '203.0.113.77',
      repeat('Mozilla/5.0 ', 10), now(), now(), '{pwd}', now(), false, 'user-' || n from generate_series(1, ${count}) as n`)

/**
 * Fills the tables of a migrated database as sign-ins would: pages and indexes as PostgreSQL makes them. Foreign keys are not
 * checked, and the index on the users is made at the end, because both would take most of the time.
 * @type {(url: string, sizes: Sizes) => Promise<void>}
 */
export const fill = async (url, { users, sessions, expired = 0 }) => {
  const sql = new Pool({ connectionString: url, max: 1 })
  try {
    const hash = await bcrypt.hash(password, cost)
    await sql.query('set session_replication_role = replica')
    await sql.query(
      `insert into users (id, email, email_key, username, username_key, password_hash, created_at)
       select ${idInSql('user', 'n')}, 'user-' || n || '@example.com', 'user-' || n || '@example.com', 'user-' || n,
         'user-' || n, $1, now() from generate_series(1, ${users}) as n`,
      [hash],
    )
    const index = 'sessions_of_user'
    const { rows } = await sql.query('select indexdef from pg_indexes where indexname = $1', [index])
    await sql.query(`drop index ${index}`)
    await fillSessions(sql, 'expired', expired, users)
    await fillSessions(sql, 'session', sessions, users)
    await sql.query(rows[0]?.indexdef)
    await sql.query('vacuum analyze users, sessions')
    await sql.query('checkpoint')
  } finally {
    await sql.end()
  }
}

/** Leads from one number to one far away, and back to it only after all others: two clients never have the same session. */
export const stride = 6_180_339

/**
 * Requests that refresh one session after another, all over the table. The service accepts a valid token that is newer than the
 * record of its session, so these tokens are signed here, and each one is two generations newer than the last one of its session.
 * @type {(latchkey: Latchkey, sizes: Sizes, first?: number) => Promise<() => string>}
 */
export const createRefreshes = async (latchkey, { users, sessions }, first = 0) => {
  const { createTokens } = /** @type {typeof import('../../src/sessions/tokens.js')} */ (
    await source('sessions/tokens.ts')
  )
  const clock = { now: () => new Date(), offset: () => 0 }
  const tokens = createTokens({ secrets: [latchkey.settings.JWT_SECRET ?? ''], clock, issuer: 'https://localhost' })
  const cookie = /[^;\s]*refresh_token(?==)/.exec(await latchkey.signIn('person-0'))?.[0]
  let count = first
  return () => {
    // A user who is disabled where there are very many (`large.mjs`).
    if (ownerOf(1 + ((count * stride) % sessions), users) % 1000 === 1) count += 1
    const n = 1 + ((count * stride) % sessions)
    const gen = 2 + 2 * Math.floor((count - first) / sessions)
    count += 1
    const owner = ownerOf(n, users)
    const iat = Math.floor(Date.now() / 1000)
    const claims = { userId: idOf('user', owner), username: `user-${owner}`, sid: idOf('session', n), gen }
    const token = tokens.signRefresh({ ...claims, auth_time: iat - 1, iat: iat - 1, exp: iat + 86_400 })
    return request('POST', '/api/auth/refresh', { cookie: `${cookie}=${token}` })
  }
}

/** The statement with which the service rotates a session. */
export const rotation = async () => {
  const { rotateRecord } = /** @type {typeof import('../../src/sessions/sessions.store.js')} */ (
    await source('sessions/sessions.store.ts')
  )
  return rotateRecord
}

/** Core time in microseconds of each connection to a database: each one is a process. @param {Pool} sql @returns {Promise<Map<number, number>>} */
export const connectionTimes = async (sql) => {
  const { rows } = await sql.query(
    `select pid from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()`,
  )
  return new Map(rows.map(({ pid }) => [Number(pid), coreTime(Number(pid)) ?? 0]))
}

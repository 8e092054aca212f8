// The limit of a refresh: Node's own server, the same verification, the same script in Redis, the same statement and the same
// two signatures, by the same drivers, and nothing else. No checks of the request, no timeouts, no log, no framework.
import { createHash } from 'node:crypto'
import { createServer } from 'node:http'
import { fileURLToPath } from 'node:url'
import { Redis } from 'ioredis'
import pg from 'pg'
import { runnerImport } from 'vite'

/** @type {(path: string) => Promise<any>} */
const source = async (path) => (await runnerImport(fileURLToPath(new URL(`../../src/${path}`, import.meta.url)))).module

const { createTokens } = /** @type {typeof import('../../src/sessions/tokens.js')} */ (
  await source('sessions/tokens.ts')
)
const { reserveScript } = /** @type {typeof import('../../src/platform/cache/redis.js')} */ (
  await source('platform/cache/redis.ts')
)
const { rotateRecord } = /** @type {typeof import('../../src/sessions/sessions.store.js')} */ (
  await source('sessions/sessions.store.ts')
)

const {
  PORT: port,
  DATABASE_URL: url,
  REDIS_URL: redisUrl = '',
  REDIS_PREFIX: prefix,
  JWT_SECRET: secret = '',
} = process.env
const headers = JSON.parse(process.env.HEADERS ?? '{}')
const clock = { now: () => new Date(), offset: () => 0 }
const tokens = createTokens({ secrets: [secret], clock, issuer: 'https://localhost' })

const redis = new Redis(redisUrl, { enableAutoPipelining: true })
redis.defineCommand('reserveOne', { numberOfKeys: 1, lua: reserveScript })
const counters =
  /** @type {{ reserveOne(...args: (string | number)[]): Promise<[number, number, number, number][]> }} */ (
    /** @type {unknown} */ (redis)
  )

const pool = new pg.Pool({ connectionString: url, max: 10 })
/** @type {Map<string, string>} */
const names = new Map()
const sql = {
  /** @type {(text: string, values?: readonly unknown[]) => Promise<any[]>} */
  query: async (text, values = []) => {
    const name = names.get(text) ?? `bare_${names.size}`
    names.set(text, name)
    return (await pool.query({ name, text, values: [...values] })).rows
  },
}

const fingerprint = (/** @type {string} */ token) => createHash('sha256').update(token).digest()
const window = 15 * 60_000

/** @type {(cookie: string, userAgent: string) => Promise<{ body: string, cookies: string[] } | undefined>} */
const refresh = async (cookie, userAgent) => {
  const presented = /refresh_token=([^;]+)/.exec(cookie)?.[1] ?? ''
  const claims = tokens.readRefresh(presented)?.claims
  if (!claims) return undefined
  const [counted] = await counters.reserveOne(`${prefix}bare:${claims.sid}`, 0, 1e8, window)
  if (counted?.[0] !== 1) return undefined
  const now = new Date()
  const iat = Math.floor(now.getTime() / 1000)
  const successor = { ...claims, gen: claims.gen + 1, iat, exp: iat + 30 * 86_400 }
  const token = tokens.signRefresh(successor)
  const [holder] = await rotateRecord(sql, {
    id: claims.sid,
    generation: successor.gen,
    proven: undefined,
    presentedHash: fingerprint(presented),
    successorHash: fingerprint(token),
    issuedAt: now,
    expiresAt: new Date(successor.exp * 1000),
    usedAt: now,
    live: { now, begun: new Date(0), refreshed: new Date(0) },
    clockOffset: 0,
    client: { ip: '127.0.0.1', userAgent },
    atProxy: false,
    graces: { refreshGrace: 30_000, renewGrace: 120_000 },
  })
  if (!holder) return undefined
  const { userId, sid, gen, auth_time } = successor
  const { username, email, name, methods: amr, groups } = holder
  const proof = { auth_time, amr }
  const access = tokens.signAccess({ userId, username, sid, gen, iat, exp: iat + 900, email, name, groups, ...proof })
  const attributes = 'Path=/; HttpOnly; SameSite=Strict; Secure'
  return {
    body: JSON.stringify({
      user: { id: userId, username, email, name },
      accessTokenExpiresAt: new Date((iat + 900) * 1000).toISOString(),
    }),
    cookies: [
      `access_token=${access}; Max-Age=900; ${attributes}`,
      `refresh_token=${token}; Max-Age=2592000; ${attributes}`,
    ],
  }
}

createServer((request, response) => {
  if (request.method === 'GET') return void response.writeHead(204).end()
  refresh(request.headers.cookie ?? '', request.headers['user-agent'] ?? '').then(
    (done) => {
      if (!done) return response.writeHead(401).end()
      const length = Buffer.byteLength(done.body)
      return response
        .writeHead(200, { ...headers, 'set-cookie': done.cookies, 'content-length': length })
        .end(done.body)
    },
    () => response.writeHead(500).end(),
  )
}).listen(Number(port), '127.0.0.1')

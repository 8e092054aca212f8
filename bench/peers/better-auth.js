// @ts-nocheck: its packages are installed apart from the project's.
// Better Auth with email and password, as its guide sets it up for Node and PostgreSQL; bcrypt instead of scrypt, so that a
// sign-in costs the same work as ours. Its limiter is off and it sends no security headers: both would only slow it down.
import { randomBytes } from 'node:crypto'
import { createServer } from 'node:http'
import bcrypt from 'bcrypt'
import { betterAuth } from 'better-auth'
import { getMigrations } from 'better-auth/db/migration'
import { toNodeHandler } from 'better-auth/node'
import pg from 'pg'

const { PORT: port, DATABASE_URL: connectionString, BCRYPT_COST: cost, COOKIE_CACHE: cookieCache } = process.env

const options = {
  baseURL: `http://127.0.0.1:${port}`,
  secret: randomBytes(48).toString('hex'),
  database: new pg.Pool({ connectionString, max: 10 }),
  emailAndPassword: {
    enabled: true,
    password: {
      hash: (password) => bcrypt.hash(password, Number(cost)),
      verify: ({ hash, password }) => bcrypt.compare(password, hash),
    },
  },
  session: { cookieCache: { enabled: cookieCache === 'on', maxAge: 15 * 60 } },
  rateLimit: { enabled: false },
  telemetry: { enabled: false },
  logger: { level: 'error' },
}

const { runMigrations } = await getMigrations(options)
await runMigrations()
const handle = toNodeHandler(betterAuth(options))
createServer((request, response) => void handle(request, response)).listen(Number(port), '127.0.0.1')

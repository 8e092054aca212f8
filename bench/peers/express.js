// @ts-nocheck: its packages are installed apart from the project's.
// What most teams put together themselves for the same contract: express, helmet, cookie-parser, jsonwebtoken,
// express-rate-limit with its store in Redis, and pg. Written as their guides show it, with prepared statements, a row lock for
// the rotation and no log.
import { createHash, randomUUID } from 'node:crypto'
import cookieParser from 'cookie-parser'
import express from 'express'
import { rateLimit } from 'express-rate-limit'
import helmet from 'helmet'
import { Redis } from 'ioredis'
import jwt from 'jsonwebtoken'
import pg from 'pg'
import { RedisStore } from 'rate-limit-redis'

const {
  PORT: port,
  DATABASE_URL: connectionString,
  REDIS_URL: redisUrl,
  REDIS_PREFIX: prefix,
  JWT_SECRET: secret,
} = process.env

const pool = new pg.Pool({ connectionString, max: 10 })
await pool.query(`
  create table if not exists express_tokens (
    id uuid primary key, user_id text not null, token_hash bytea not null, expires_at timestamptz not null
  )`)
const redis = new Redis(redisUrl)

const accessSeconds = 15 * 60
const refreshSeconds = 30 * 86_400
const hashOf = (token) => createHash('sha256').update(token).digest()
const sign = (claims, expiresIn) => jwt.sign(claims, secret, { algorithm: 'HS256', expiresIn })
const verify = (token) => jwt.verify(token, secret, { algorithms: ['HS256'] })

const issue = (userId, sid) => ({
  access: sign({ userId, username: userId, sid }, accessSeconds),
  refresh: sign({ userId, username: userId, sid, jti: randomUUID() }, refreshSeconds),
})
const setCookies = (response, { access, refresh }) => {
  const attributes = { httpOnly: true, secure: true, sameSite: 'strict' }
  response.cookie('access_token', access, { ...attributes, maxAge: accessSeconds * 1000 })
  response.cookie('refresh_token', refresh, { ...attributes, maxAge: refreshSeconds * 1000 })
}

const rotate = async (token) => {
  const { userId, sid } = verify(token)
  const client = await pool.connect()
  try {
    await client.query('begin')
    const { rows } = await client.query({
      name: 'find',
      text: 'select token_hash from express_tokens where id = $1 and expires_at > now() for update',
      values: [sid],
    })
    if (!rows[0]?.token_hash.equals(hashOf(token))) throw new Error('not the newest token')
    const issued = issue(userId, sid)
    await client.query({
      name: 'rotate',
      text: `update express_tokens set token_hash = $2, expires_at = now() + interval '30 days' where id = $1`,
      values: [sid, hashOf(issued.refresh)],
    })
    await client.query('commit')
    return { userId, ...issued }
  } catch (error) {
    await client.query('rollback')
    throw error
  } finally {
    client.release()
  }
}

const app = express()
app.use(helmet())
app.use(cookieParser())
app.use(express.json())

const limiter = rateLimit({
  windowMs: 15 * 60_000,
  limit: 100_000_000,
  standardHeaders: 'draft-8',
  legacyHeaders: false,
  store: new RedisStore({ prefix, sendCommand: (command, ...args) => redis.call(command, ...args) }),
})

app.get('/health', (_request, response) => response.status(204).end())
// Stands for a sign-in: what is measured begins with a session.
app.post('/session/:name', async (request, response) => {
  const [userId, sid] = [request.params.name, randomUUID()]
  const issued = issue(userId, sid)
  const values = [sid, userId, hashOf(issued.refresh)]
  await pool.query(`insert into express_tokens values ($1, $2, $3, now() + interval '30 days')`, values)
  setCookies(response, issued)
  response.json({ user: { id: userId } })
})
app.get('/api/auth/me', (request, response) => {
  try {
    const { userId, username } = verify(request.cookies.access_token)
    response.json({ user: { id: userId, username } })
  } catch {
    response.status(401).json({ error: 'Not authenticated' })
  }
})
app.post('/api/auth/refresh', limiter, async (request, response) => {
  try {
    const { userId, ...issued } = await rotate(request.cookies.refresh_token)
    setCookies(response, issued)
    response.json({ user: { id: userId } })
  } catch {
    response.status(401).json({ error: 'Not authenticated' })
  }
})
app.listen(Number(port), '127.0.0.1')

// Whether a code, a refresh or UserInfo gets slower when the tables of applications' tokens are large: two instances of the service
// with a database each, in turns. PostgreSQL's core time per request is that of the connections of the instance.
import { Pool } from 'pg'
import { openConnection } from '../load/connection.mjs'
import { runClients } from '../load/loads.mjs'
import { measureInRounds, median, printTable } from '../load/rounds.mjs'
import { connectionTimes, fill, idInSql, idOf, source, stride } from '../subjects/filled.mjs'
import { scope, startLatchkeyProvider } from '../subjects/openid.mjs'
import { createLoads } from './openid.mjs'

/** @typedef {NonNullable<import('../subjects/stores.mjs').Stores>} Stores */
/** @typedef {import('../load/rounds.mjs').Measurement} Measurement */

const clients = 16
const plan = { rounds: 6, seconds: 4 }

/** An application has so many sets of tokens in a session here: each is a sign-in at it. */
const tokensInSession = 10

const sizesOf = (/** @type {number} */ tokens) => {
  const sessions = Math.ceil(tokens / tokensInSession)
  return { users: Math.ceil(sessions / 2), sessions }
}

/** Text of the n-th access token. */
const accessToken = (/** @type {number} */ n) => String(n).padStart(43, '0')

/** @type {(url: string, applicationId: string, tokens: number) => Promise<void>} */
const fillTokens = async (url, applicationId, tokens) => {
  const { users, sessions } = sizesOf(tokens)
  await fill(url, { users, sessions })
  const sql = new Pool({ connectionString: url, max: 1 })
  const content = { authTime: 1_760_000_000, methods: ['pwd'], secondFactor: false, scopes: scope.split(' ') }
  try {
    await sql.query('set session_replication_role = replica')
    await sql.query(
      `insert into application_sessions (id, sid, application_id, user_id, scopes, created_at, last_used_at)
       select ${idInSql('authorization', 'n')}, ${idInSql('session', 'n')}, $1, ${idInSql('user', `1 + (n::bigint * 7919) % ${users}`)},
         string_to_array($2, ' '), now(), now() from generate_series(1, ${sessions}) as n`,
      [applicationId, scope],
    )
    await sql.query(
      `insert into application_tokens (id, application_session_id, refresh_hash, token_content, issued_at, rotated_at, expires_at)
       select ${idInSql('tokens', 'n')}, ${idInSql('authorization', `1 + n % ${sessions}`)}, sha256(n::text::bytea), $1, now(), now(),
         now() + interval '30 days' from generate_series(1, ${tokens}) as n`,
      [content],
    )
    await sql.query(
      `insert into application_access_tokens (hash, application_tokens_id, expires_at)
       select sha256(lpad(n::text, 43, '0')::bytea), ${idInSql('tokens', 'n')}, now() + interval '1 day' from generate_series(1, ${tokens}) as n`,
    )
    await sql.query('vacuum analyze application_sessions, application_tokens, application_access_tokens')
    await sql.query('checkpoint')
  } finally {
    await sql.end()
  }
}

/**
 * The n-th refresh token in a generation that is newer than its row, which the service accepts.
 * @type {(settings: Record<string, string>) => Promise<(n: number, generation: number) => string>}
 */
const createRefreshTokens = async (settings) => {
  const { createRefreshTokenTexts } = /** @type {typeof import('../../src/openid/token/refresh-token-texts.js')} */ (
    await source('openid/token/refresh-token-texts.ts')
  )
  const { deriveKey } = /** @type {typeof import('../../src/lib/random.js')} */ (await source('lib/random.ts'))
  const texts = createRefreshTokenTexts([deriveKey(settings.JWT_SECRET ?? '', 'refresh tokens of applications')])
  return (n, generation) => texts.sign({ tid: idOf('tokens', n), gen: generation, iat: Math.floor(Date.now() / 1000) })
}

/**
 * Runs a load, and also says how much core time of PostgreSQL an answer took.
 * @type {(sql: Pool, runLoad: (seconds: number) => Promise<Measurement & { done: number }>) => (seconds: number) => Promise<Measurement>}
 */
const withStoreTime = (sql, runLoad) => async (seconds) => {
  const before = await connectionTimes(sql)
  const measured = await runLoad(seconds)
  const after = await connectionTimes(sql)
  const used = [...after].reduce((sum, [pid, time]) => sum + time - (before.get(pid) ?? 0), 0)
  return { ...measured, core: used / measured.done }
}

/** @type {(stores: Stores, tokens: number) => Promise<{ loads: Record<string, (seconds: number) => Promise<Measurement>>, size: string, stop: () => Promise<void> }>} */
const startFilled = async (stores, tokens) => {
  const databaseUrl = await stores.database()
  const latchkey = await startLatchkeyProvider({ databaseUrl, redisUrl: stores.redisUrl })
  const begun = performance.now()
  await fillTokens(databaseUrl, latchkey.registered.id, tokens)
  console.log(`Filled ${tokens} tokens in ${((performance.now() - begun) / 1000).toFixed(0)} s`)
  const sql = new Pool({ connectionString: databaseUrl, max: 1 })
  const { rows } = await sql.query('select pg_size_pretty(pg_database_size(current_database())) as size')
  const refreshToken = await createRefreshTokens(latchkey.settings)
  const own = await createLoads(latchkey)
  const connections = Array.from({ length: clients }, () => openConnection(latchkey.port))
  let count = 0
  const all = (/** @type {(n: number, round: number) => string} */ text) => (/** @type {number} */ seconds) =>
    runClients({
      clients,
      seconds,
      step: async (client) => {
        const n = 1 + ((count * stride) % tokens)
        const answer = await connections[client]?.ask(text(n, Math.floor(count++ / tokens)))
        if (answer?.status !== 200) throw new Error(`A request ended with ${answer?.status}: ${answer?.body}`)
        return true
      },
    })
  return {
    loads: {
      'code → tokens': withStoreTime(sql, own['code → tokens']),
      refresh: withStoreTime(
        sql,
        all((n, round) => latchkey.refreshRequest(refreshToken(n, 2 + 2 * round))),
      ),
      UserInfo: withStoreTime(
        sql,
        all((n) => latchkey.userInfoRequest(accessToken(n))),
      ),
    },
    size: String(rows[0]?.size),
    stop: async () => {
      own.close()
      for (const connection of connections) connection.close()
      await sql.end()
      await latchkey.stop()
    },
  }
}

/** @type {(name: string, own: Measurement[], small: Measurement[]) => string[]} */
const row = (name, own, small) => {
  const cells = (/** @type {(measurement: Measurement) => number} */ value) => {
    const ratios = own.map((measurement, round) => value(measurement) / value(small[round] ?? measurement))
    const range = `${median(ratios).toFixed(2)} (${Math.min(...ratios).toFixed(2)}–${Math.max(...ratios).toFixed(2)})`
    return { value: median(own.map(value)).toFixed(0), range }
  }
  const rate = cells(({ perSecond }) => perSecond)
  const core = cells(({ core: time = Number.NaN }) => time)
  return [name, rate.value, rate.range, `${core.value} µs`, core.range]
}

/** @param {Stores} stores @param {{ small: number, large: number }} tokens */
export const measureTokenTables = async (stores, { small, large }) => {
  const one = await startFilled(stores, small)
  const other = await startFilled(stores, large)
  const rows = [['', 'per second', 'ratio (range)', 'PostgreSQL core time', 'core time ratio']]
  try {
    for (const kind of Object.keys(one.loads)) {
      const candidates = [one, other].map(({ loads }) => ({
        name: kind,
        runLoad: loads[kind] ?? (async () => ({ perSecond: 0 })),
      }))
      const [first = [], second = []] = await measureInRounds(candidates, plan)
      rows.push(row(`${kind}, ${small.toLocaleString('en')} tokens`, first, first))
      rows.push(row(`${kind}, ${large.toLocaleString('en')} tokens`, second, first))
    }
  } finally {
    await Promise.all([one.stop(), other.stop()])
  }
  printTable(
    `Tables of tokens: ${one.size} against ${other.size}, ${clients} clients, ${plan.rounds} rounds of ${plan.seconds} s, medians. The core time of a code includes making it`,
    rows,
  )
}

// The one database of the bench of scale: filled in pieces, so that a fill that was stopped goes on where it was, and kept for the
// measures, which may run one after another in processes of their own.
import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { promisify } from 'node:util'
import bcrypt from 'bcrypt'
import { Pool } from 'pg'
import { idInSql } from './filled.mjs'
import { cost, password, program, settingsFor, startLatchkey } from './latchkey.mjs'

/** @typedef {NonNullable<import('./stores.mjs').Stores>} Stores */
/** @typedef {{ users: number, sessions: number, expired: number, events: number }} LargeSizes */
/** @typedef {keyof LargeSizes} Part */

const piece = 250_000

/** @param {Stores} stores */
export const largeDatabase = (stores) => stores.keptDatabase('latchkey_scale')

/** The same for each process of a measure: the keys in the database are sealed with it. */
const secret = { JWT_SECRET: createHash('sha512').update('a database that nobody needs').digest('hex') }

/** The service on the large database. @type {(stores: Stores, own?: Record<string, string>) => ReturnType<typeof startLatchkey>} */
export const startLarge = async (stores, own = {}) =>
  startLatchkey({ databaseUrl: await largeDatabase(stores), redisUrl: stores.redisUrl }, 1, { ...secret, ...own })

/** The environment of a command on the large database. @param {Stores} stores @param {string} folder */
export const environment = async (stores, folder) => ({
  PATH: process.env.PATH ?? '',
  ...settingsFor({ databaseUrl: await largeDatabase(stores), redisUrl: stores.redisUrl }, folder),
  ...secret,
})

const letters = (/** @type {string} */ n) => `chr(97 + (${n} % 26)::int) || chr(97 + (${n} / 26 % 26)::int)`

/** @type {(kind: 'session' | 'expired', users: number) => string} */
const sessions = (kind, users) => `insert into sessions (id, user_id, token_hash, generation, issued_at, rotated_at,
    expires_at, ip, user_agent, created_at, last_used_at, methods, authenticated_at, second_factor_required, signed_in_as)
  select ${idInSql(kind, 'n')}, ${idInSql('user', `1 + (n::bigint * 7919) % ${users}`)}, sha256(n::text::bytea), 0,
    now(), now(), now() + interval '${kind === 'session' ? '30 days' : '-1 day'}', '203.0.113.77',
    repeat('Mozilla/5.0 ', 10), now(), now(), '{pwd}', now(), false, 'user-' || 1 + (n::bigint * 7919) % ${users}
  from generate_series($1::int, $2::int) as n`

/**
 * One user in 1000 is disabled, and another one in a group. Names have one of 26 × 26 beginnings.
 * @type {(sizes: LargeSizes, hash: string) => Record<Part, string>}
 */
const statements = ({ users }, hash) => ({
  users: `insert into users (id, email, email_key, username, username_key, name, password_hash, created_at, disabled_at, groups)
    select ${idInSql('user', 'n')}, 'user-' || n || '@example.com', 'user-' || n || '@example.com', 'user-' || n, 'user-' || n,
      ${letters('n')} || ' First' || n || ' ' || ${letters('n / 676')} || 'Last' || n, '${hash}', now(),
      case when n % 1000 = 1 then now() end, case when n % 1000 = 2 then '{few}'::text[] else '{}' end
    from generate_series($1::int, $2::int) as n`,
  expired: sessions('expired', users),
  sessions: sessions('session', users),
  // Ids begin with their time, one event in each second before now.
  events: `insert into events (id, kind, user_id, session_id, ip, user_agent, created_at)
    select (lpad(to_hex((extract(epoch from made) * 1000)::bigint), 12, '0') || '7' || substr(md5(n::text), 1, 3) || '8' ||
      substr(md5(n::text), 4, 15))::uuid, 'signed_in', ${idInSql('user', `1 + (n::bigint * 7919) % ${users}`)},
      ${idInSql('session', 'n')}, '203.0.113.77', repeat('Mozilla/5.0 ', 10), made
    from generate_series($1::int, $2::int) as n, lateral (select now() - interval '80 days' * (n::float / 1e7) as made) as moment`,
})

const order = /** @type {const} */ (['users', 'expired', 'sessions', 'events'])
const filledTables = ['users', 'sessions', 'events']

/** Remembers the indexes that no constraint has, and drops them: they are made at the end. @param {Pool} sql */
const setIndexesAside = async (sql) => {
  const { rows } = await sql.query(
    `select indexname, indexdef from pg_indexes where tablename = any($1)
       and not exists (select 1 from pg_constraint where conname = indexname)`,
    [filledTables],
  )
  for (const { indexname, indexdef } of rows) {
    await sql.query('insert into bench_indexes values ($1, $2)', [indexname, indexdef])
    await sql.query(`drop index ${indexname}`)
  }
}

/** @type {(sql: Pool, isOver: () => boolean) => Promise<boolean>} */
const makeIndexes = async (sql, isOver) => {
  const { rows } = await sql.query('select name, definition from bench_indexes order by name')
  for (const { name, definition } of rows) {
    if (isOver()) return false
    const begun = performance.now()
    await sql.query(definition)
    await sql.query('delete from bench_indexes where name = $1', [name])
    console.log(`Made the index ${name} in ${((performance.now() - begun) / 1000).toFixed(0)} s`)
  }
  return true
}

/** @type {(sql: Pool, part: Part, text: string, wanted: number, isOver: () => boolean) => Promise<boolean>} */
const fillPart = async (sql, part, text, wanted, isOver) => {
  const { rows } = await sql.query('select done from bench_filled where part = $1', [part])
  for (let done = Number(rows[0]?.done ?? 0); done < wanted; ) {
    if (isOver()) return false
    const next = Math.min(done + piece, wanted)
    await sql.query('begin')
    await sql.query(text, [done + 1, next])
    const note = 'insert into bench_filled values ($1, $2) on conflict (part) do update set done = excluded.done'
    await sql.query(note, [part, next])
    await sql.query('commit')
    done = next
  }
  return true
}

/**
 * Fills a migrated database as sign-ins would. Foreign keys are not checked: that would take most of the time. Ends after these
 * seconds, and says whether all is there.
 * @type {(stores: Stores, sizes: LargeSizes, seconds: number) => Promise<boolean>}
 */
export const fillLarge = async (stores, sizes, seconds) => {
  const end = performance.now() + seconds * 1000
  const isOver = () => performance.now() > end
  const url = await largeDatabase(stores)
  await promisify(execFile)(process.execPath, [program, 'migrate'], { env: await environment(stores, '.') })
  const sql = new Pool({ connectionString: url, max: 1 })
  try {
    await sql.query('set session_replication_role = replica')
    await sql.query(`create table if not exists bench_filled (part text primary key, done int not null);
      create table if not exists bench_indexes (name text primary key, definition text not null)`)
    const { rowCount } = await sql.query(
      `insert into groups (name, created_at) values ('few', now()) on conflict do nothing`,
    )
    if (rowCount) await setIndexesAside(sql)
    const texts = statements(sizes, await bcrypt.hash(password, cost))
    for (const part of order) if (!(await fillPart(sql, part, texts[part], sizes[part], isOver))) return false
    if (!(await makeIndexes(sql, isOver)) || isOver()) return false
    for (const table of filledTables) await sql.query(`vacuum analyze ${table}`)
    await sql.query('checkpoint')
    return true
  } finally {
    await sql.end()
  }
}

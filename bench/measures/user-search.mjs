// How long a page of the users takes that administrators search and filter, and which index answers it. Every search is also followed for some
// pages: a cursor must not make it slower.
import { Pool } from 'pg'
import { inMilliseconds, median, printTable } from '../load/rounds.mjs'
import { fill, idInSql, source } from '../subjects/filled.mjs'
import { startLatchkey } from '../subjects/latchkey.mjs'

/** @typedef {NonNullable<import('../subjects/stores.mjs').Stores>} Stores */

const runs = 40
const followed = 5

/** By what is typed. Names have one of 26 × 26 beginnings; `user-` begins every username and address. */
const searches = {
  'nothing: all users': '',
  'one letter': 'u',
  'all usernames begin so': 'user-',
  'one username': 'user-123456',
  'one address': 'user-123456@example.com',
  'a first name': 'qx first',
  'a last name': 'dalast',
  'no user': 'zzzzzz',
}

/** One user in 1000 is disabled, another one in 1000 is in the group, and one in 1000 has no second factor: few among very many. */
/** @type {Record<string, { search?: string, group?: string, state?: 'active' | 'disabled', factor?: 'none' }>} */
const filters = {
  disabled: { state: 'disabled' },
  'disabled, by one letter': { search: 'u', state: 'disabled' },
  'in the group': { group: 'few' },
  active: { state: 'active' },
  'without a second factor': { factor: 'none' },
  'active members without a second factor': { group: 'few', state: 'active', factor: 'none' },
  'without a second factor, by a last name': { search: 'dalast', factor: 'none' },
}

const letters = (/** @type {string} */ n) => `chr(97 + (${n} % 26)::int) || chr(97 + (${n} / 26 % 26)::int)`

/** Names, and one sign-in of each user in the events. @param {Pool} sql @param {number} users */
const fillNames = async (sql, users) => {
  await sql.query(
    `update users set name = ${letters('n')} || ' First' || n || ' ' || ${letters('n / 676')} || 'Last' || n
     from generate_series(1, ${users}) as n where id = ${idInSql('user', 'n')}`,
  )
  await sql.query(
    `insert into events (id, kind, user_id, session_id, ip, user_agent, created_at)
     select ${idInSql('session', 'n')}, 'signed_in', ${idInSql('user', 'n')}, ${idInSql('session', 'n')}, '203.0.113.77', '', now()
     from generate_series(1, ${users}) as n`,
  )
  await sql.query(`insert into groups (name, created_at) values ('few', now())`)
  await sql.query(
    `update users set disabled_at = case when n % 1000 = 1 then now() end, groups = case when n % 1000 = 2 then '{few}'::text[] else '{}' end
     from generate_series(1, ${users}) as n where id = ${idInSql('user', 'n')} and n % 1000 in (1, 2)`,
  )
  await sql.query(
    `insert into passkeys (id, user_id, credential_id, public_key, counter, transports, relying_party, name, synced, created_at)
     select gen_random_uuid(), ${idInSql('user', 'n')}, convert_to(n::text, 'UTF8'), '', 0, '{}', 'localhost', '', false, now()
     from generate_series(1, ${users}) as n where n % 1000 <> 2`,
  )
  await sql.query('vacuum analyze users, events, passkeys, totp_secrets')
}

/** The indexes of a plan, without those that look one row up by its user. @type {(plan: any) => string[]} */
const indexesIn = ({ 'Index Name': name, 'Node Type': type, 'Relation Name': table, Plans: parts = [] }) => [
  ...(name?.startsWith('users_') ? [name] : []),
  ...(type === 'Seq Scan' && table === 'users' ? ['reads the whole table'] : []),
  ...parts.flatMap(indexesIn),
]

/** @param {Stores} stores @param {{ users: number }} sizes */
export const measureUserSearch = async (stores, { users }) => {
  const databaseUrl = await stores.database()
  const latchkey = await startLatchkey({ databaseUrl, redisUrl: stores.redisUrl })
  await latchkey.stop()
  await fill(databaseUrl, { users, sessions: users })
  const sql = new Pool({ connectionString: databaseUrl, max: 1 })
  try {
    await fillNames(sql, users)
    const { createUserSearch } = /** @type {typeof import('../../src/users/search.js')} */ (
      await source('users/search.ts')
    )
    const used = new Set()
    let isExplained = false
    const query = async (/** @type {string} */ text, /** @type {unknown[]} */ values) => {
      if (isExplained) {
        const { rows } = await sql.query(`explain (format json) ${text}`, values)
        for (const index of indexesIn(rows[0]['QUERY PLAN'][0].Plan)) used.add(index)
      }
      return (await sql.query(text, values)).rows
    }
    const { page } = createUserSearch({ database: /** @type {any} */ ({ query }) })
    const rows = [['search', 'users', 'p50', 'longest', 'indexes']]
    const asked = {
      ...Object.fromEntries(Object.entries(searches).map(([name, search]) => [name, { search }])),
      ...filters,
    }
    for (const [name, filter] of Object.entries(asked)) {
      /** @type {number[]} */
      const times = []
      let found = 0
      for (let run = 0; run < runs; run++) {
        let after
        for (let pages = 0; pages < followed; pages++) {
          const begun = performance.now()
          const answer = await page({ ...filter, after })
          times.push(performance.now() - begun)
          if ('refused' in answer) throw new Error('The search was refused')
          if (run === 0) found += answer.users.length
          if (answer.next === null) break
          after = answer.next
        }
      }
      used.clear()
      isExplained = true
      await page(filter)
      isExplained = false
      const shown = found === followed * 50 ? `${found} and more` : String(found)
      rows.push([name, shown, inMilliseconds(median(times)), inMilliseconds(Math.max(...times)), [...used].join(', ')])
    }
    printTable(`Users: a page of 50 of ${users.toLocaleString('en')}, ${runs} times ${followed} pages`, rows)
  } finally {
    await sql.end()
  }
}

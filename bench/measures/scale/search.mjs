// What administrators search and look at, through HTTP: the first page, and pages that were reached by following `next`.
import { Pool } from 'pg'
import { keepCountersEmpty } from '../../load/cleared-counters.mjs'
import { openConnection, request } from '../../load/connection.mjs'
import { inMilliseconds, median, printTable } from '../../load/rounds.mjs'
import { idOf } from '../../subjects/filled.mjs'
import { largeDatabase, startLarge } from '../../subjects/large.mjs'

/** @typedef {NonNullable<import('../../subjects/stores.mjs').Stores>} Stores */

const repeated = 10
const deep = 100
const administrator = 'person-0'

/** @type {(user: number) => Record<string, Record<string, string>>} */
const searches = (user) => ({
  'nothing: all users': {},
  'how all addresses begin': { search: 'user-' },
  'the start of an address': { search: `user-${String(user).slice(0, -2)}` },
  'one address': { search: `user-${user}@example.com` },
  'a first name': { search: 'qx first' },
  'a last name': { search: 'dalast' },
  'what no user has': { search: 'zzzzzz' },
  'disabled users': { state: 'disabled' },
  'members of a group': { group: 'few' },
  'users without a second factor': { factor: 'none' },
})

/** @type {(user: number) => Record<string, string>} */
const looks = (user) => ({
  overview: '/overview',
  events: '/events',
  'one user': `/users/${idOf('user', user)}`,
  groups: '/groups',
})

/** Signs a member of the group in, and notes a second factor in the session: there is no app here that could prove one. */
const signInAdministrator = async (
  /** @type {Awaited<ReturnType<typeof startLarge>>} */ latchkey,
  /** @type {string} */ url,
) => {
  const sql = new Pool({ connectionString: url, max: 1 })
  try {
    await sql.query(`insert into groups (name, created_at) values ('bench', now()) on conflict do nothing`)
    await sql.query(`update users set groups = '{bench}' where username_key = $1`, [administrator])
    const cookie = await latchkey.signIn(administrator)
    await sql.query(
      `update sessions set methods = '{pwd,otp}', second_factor_at = now()
       where user_id = (select id from users where username_key = $1)`,
      [administrator],
    )
    return cookie
  } finally {
    await sql.end()
  }
}

/** @param {Stores} stores @param {import('../../subjects/large.mjs').LargeSizes} sizes */
export const measureSearch = async (stores, { users }) => {
  const latchkey = await startLarge(stores, { ADMIN_GROUP: 'bench' })
  const stopEmptying = keepCountersEmpty(stores.redisUrl)
  const connection = openConnection(latchkey.port)
  try {
    const cookie = await signInAdministrator(latchkey, await largeDatabase(stores))
    const ask = async (/** @type {string} */ path) => {
      const begun = performance.now()
      const answer = await connection.ask(request('GET', `/api/auth/admin/api${path}`, { cookie }))
      const took = performance.now() - begun
      if (answer.status !== 200) throw new Error(`${path} was answered with ${answer.status}: ${answer.body}`)
      return { took, body: answer.body }
    }
    const rows = [['', 'first page', 'again, p50', `page ${deep}`, 'longest']]
    for (const [name, query] of Object.entries(searches(users >> 1))) {
      const first = await ask(`/users?${new URLSearchParams(query)}`)
      /** @type {number[]} */
      const again = []
      for (let run = 0; run < repeated; run++) again.push((await ask(`/users?${new URLSearchParams(query)}`)).took)
      /** @type {number[]} */
      const followed = []
      let { next } = JSON.parse(first.body)
      while (next !== null && followed.length < deep) {
        const page = await ask(`/users?${new URLSearchParams({ ...query, after: next })}`)
        followed.push(page.took)
        next = JSON.parse(page.body).next
      }
      const last = followed.length === deep ? inMilliseconds(followed.at(-1)) : ''
      const all = [first.took, ...again, ...followed]
      rows.push([
        name,
        inMilliseconds(first.took),
        inMilliseconds(median(again)),
        last,
        inMilliseconds(Math.max(...all)),
      ])
    }
    for (const [name, path] of Object.entries(looks(users >> 1))) {
      const first = await ask(path)
      const again = [await ask(path), await ask(path), await ask(path)].map(({ took }) => took)
      rows.push([
        name,
        inMilliseconds(first.took),
        inMilliseconds(median(again)),
        '',
        inMilliseconds(Math.max(first.took, ...again)),
      ])
    }
    printTable(`Administrators among ${users.toLocaleString('en')} users`, rows)
  } finally {
    connection.close()
    stopEmptying()
    await latchkey.stop()
  }
}

import { afterAll, beforeAll, expect, it } from 'vitest'
import { testPostgres } from '../support/databases.js'
import { type Latchkey, startLatchkey } from '../support/latchkey.js'

const maximum = 3

let latchkey: Latchkey
beforeAll(async () => {
  latchkey = await startLatchkey({ settings: { GENERAL_LIMIT: `${maximum}/15m`, ADMIN_GROUP: 'admins' } })
})
afterAll(() => latchkey.stop())

/** Meanwhile no statement can read a table of the service. */
const whileTablesAreLocked = async (work: () => Promise<void>) => {
  const other = testPostgres(String(latchkey.config.databaseUrl), { statementTimeoutMs: 120_000 })
  try {
    await other.transaction(async (sql) => {
      const tables = await sql.query<{ name: string }>(
        "select quote_ident(tablename) as name from pg_tables where schemaname = 'public'",
      )
      await sql.query(`lock table ${tables.map(({ name }) => name).join(', ')} in access exclusive mode`)
      await work()
    })
  } finally {
    await other.close()
  }
}

// A session that may send no more requests must cost the database nothing: otherwise a flood of refused requests is a flood of statements.
it('a session whose limit is used up is refused by every guarded route before a table is read', async () => {
  const tab = await latchkey.signedUp('ada')
  const token = await tab.csrfToken()
  for (let sent = 0; sent < maximum; sent += 1) expect((await tab.get('/api/auth/account')).status).toBe(200)
  const routes = latchkey.app.routes
    .list()
    .filter(
      ({ byAccessToken, byEnrolment, limiters }) => (byAccessToken || byEnrolment) && limiters.includes('general'),
    )
  expect(routes.length).toBeGreaterThan(30)
  expect(routes.filter(({ isSensitive }) => isSensitive).length).toBeGreaterThan(10)
  const ask = async ({ method, url }: (typeof routes)[number]) => {
    const asked = new URL(url.replaceAll(/:\w+/g, 'x'), latchkey.url)
    const headers = { cookie: tab.jar.header(), origin: latchkey.url, 'x-csrf-token': token }
    // Without a limiter in front, the answer waits for the tables.
    return fetch(asked, { method, headers, signal: AbortSignal.timeout(5_000) }).then(
      ({ status }) => status,
      () => 'no answer',
    )
  }
  await whileTablesAreLocked(async () => {
    const answers = await Promise.all(routes.map(async (route) => [`${route.method} ${route.url}`, await ask(route)]))
    expect(answers.filter(([, status]) => status !== 429)).toEqual([])
  })
})

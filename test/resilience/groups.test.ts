import { afterAll, beforeAll, expect, it } from 'vitest'
import { operatorClient } from '../../src/http/request-origin.js'
import { seconds } from '../../src/lib/durations.js'
import { type Latchkey, startLatchkey } from '../support/latchkey.js'
import { inLongRun } from '../support/long-run.js'
import { passwordFacts, unchecked } from '../support/session-facts.js'
import { secretOf } from '../support/site/instance.js'
import { until } from '../support/until.js'

const members = inLongRun(200, 40)
const JWT_SECRET = secretOf('groups')
const client = operatorClient('root')
type Member = { id: string; username: string; email: string; name: null }
type Tokens = { accessToken: string; refreshToken: string }

let first: Latchkey
let second: Latchkey
beforeAll(async () => {
  first = await startLatchkey({ settings: { JWT_SECRET } })
  const { databaseUrl, redisUrl = '', redisPrefix, publicUrl } = first.config
  const shared = { DATABASE_URL: databaseUrl, REDIS_URL: redisUrl, REDIS_PREFIX: redisPrefix, PUBLIC_URL: publicUrl }
  second = await startLatchkey({ settings: { JWT_SECRET, ...shared }, clock: first.clock })
  await first.app.rooms.groups.add('staff', client)
})
afterAll(async () => {
  await second.stop()
  await first.stop()
})

const urls = () => [first.url, `http://127.0.0.1:${second.config.port}`]
const verify = async (url: string | undefined, { accessToken }: Tokens) => {
  const headers = { cookie: `access_token=${accessToken}`, host: new URL(first.url).host }
  return (await fetch(`${url}/api/auth/verify?group=staff`, { headers })).status
}
/** How many of all checks have each answer. */
const answers = async (all: readonly Tokens[]) => {
  const statuses = await Promise.all(urls().flatMap((url) => all.map((each) => verify(url, each))))
  const count = (status: number) => statuses.filter((each) => each === status).length
  return Object.fromEntries([...new Set(statuses)].map((status) => [status, count(status)]))
}

/** Without passwords, which would take most of the time. */
const signedIn = async () => {
  const users = await first.sql.query<Member>(
    `insert into users (id, username, username_key, email, email_key, groups, created_at)
     select gen_random_uuid(), name, name, name || '@example.com', name || '@example.com', '{staff}', now()
     from generate_series(1, $1::int) as n, concat('member', n) as name
     returning id, username, email, null as name`,
    [members],
  )
  const begin = (user: Member) =>
    first.sql.transaction((sql) => first.app.rooms.sessions.beginSession(sql, unchecked(user), passwordFacts, client))
  return (await Promise.all(users.map(begin))).flatMap((issued) => issued ?? [])
}

it(`${members} users lose a group at once: at both instances all are refused, and nobody is signed out`, async () => {
  const before = await signedIn()
  expect(await answers(before)).toEqual({ 204: 2 * members })
  const startedAt = performance.now()
  expect(await first.app.rooms.groupChanges.removeMembers(client, 'staff', 500)).toBe(members)
  const committedAt = performance.now()
  await until('all are refused at both instances', async () => !('204' in (await answers(before))))
  const took = [committedAt - startedAt, performance.now() - committedAt].map((each) => (each / seconds).toFixed(2))
  console.log(`${members} users left the group in ${took[0]} s, and were refused everywhere ${took[1]} s later`)
  const after = await Promise.all(
    before.map(async ({ accessToken, refreshToken }, at) => {
      const tab = first.browser()
      tab.jar.set('access_token', accessToken)
      tab.jar.set('refresh_token', refreshToken)
      expect((await tab.post('/api/auth/refresh')).status, `session ${at}`).toBe(200)
      return { accessToken: tab.jar.get('access_token') ?? '', refreshToken: '' }
    }),
  )
  // Signed in as before, and no member.
  expect(await answers(after)).toEqual({ 403: 2 * members })
})

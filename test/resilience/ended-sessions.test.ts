import { afterAll, beforeAll, expect, it } from 'vitest'
import { openRoomsForCommand } from '../../src/commands/open-for-commands.js'
import { seconds } from '../../src/lib/durations.js'
import type { Database } from '../../src/platform/database/database.js'
import { loadConfig } from '../../src/settings/config.js'
import { type Browser, createBrowser } from '../support/client.js'
import { createCookieJar } from '../support/cookie-jar.js'
import { freshPostgres, testPostgres } from '../support/databases.js'
import { inLongRun } from '../support/long-run.js'
import { type PostgresServer, startPostgres } from '../support/servers/postgres.js'
import { freePort } from '../support/servers/server.js'
import { type BegunSession, beginSessions } from '../support/site/begun-sessions.js'
import { type Instance, secretOf, startInstance } from '../support/site/instance.js'
import { addPeople } from '../support/site/site.js'
import { startStopwatch } from '../support/stopwatch.js'
import { latchkey } from '../support/terminal.js'
import { until } from '../support/until.js'

const publicUrl = 'https://localhost'

let postgres: PostgresServer
let settings: Record<string, string>
let metricsUrl: string
let [first, second]: Instance[] = []
let sql: Database
let [endedBefore, aliveBefore] = [
  { sid: '', token: '' },
  { sid: '', token: '' },
]
const instances = () => [first, second].filter((each) => each !== undefined)

beforeAll(async () => {
  postgres = await startPostgres()
  const { url } = await freshPostgres(postgres.url)
  await addPeople(url, ['ada', 'bea', 'cy'])
  sql = testPostgres(url)
  settings = {
    DATABASE_URL: url,
    REDIS_URL: process.env.TEST_REDIS_URL ?? '',
    REDIS_PREFIX: `test:${Math.random().toString(36).slice(2)}:`,
    SMTP_URL: 'smtp://127.0.0.1:2525',
    PUBLIC_URL: publicUrl,
  }
  ;[endedBefore, aliveBefore] = (await begin('ada', 2)) as [Session, Session]
  await endInSql(endedBefore.sid)
  const metricsPort = await freePort()
  metricsUrl = `http://127.0.0.1:${metricsPort}/metrics`
  ;[first, second] = await Promise.all([
    startInstance(await freePort(), settings),
    startInstance(await freePort(), { ...settings, METRICS_PORT: String(metricsPort) }),
  ])
})
afterAll(async () => {
  await sql?.close()
  await Promise.all(instances().map((each) => each.stop()))
  await postgres?.stop()
})

type Session = BegunSession
const begin = (username: string, count: number) => beginSessions(sql, publicUrl, username, count)
const one = async (username: string) => (await begin(username, 1))[0] as Session

const statusAt = async (instance: Instance | undefined, token: string) =>
  (await fetch(`${instance?.url}/api/auth/verify`, { headers: { cookie: `access_token=${token}` } })).status
const statuses = (token: string) => Promise.all(instances().map((each) => statusAt(each, token)))
const isRefused = async (token: string) => (await statuses(token)).every((status) => status === 401)
const browserAt = (instance: Instance | undefined, token: string): Browser =>
  createBrowser(instance?.url ?? '', createCookieJar([['access_token', token]]))
const endInSql = (sid: string) => sql.query('delete from sessions where id = $1', [sid])

it('knows at its start what ended before it', async () => {
  expect(await statuses(endedBefore.token)).toEqual([401, 401])
  expect(await statuses(aliveBefore.token)).toEqual([204, 204])
})

const [rounds, lanes] = inLongRun([10, 20], [2, 10])

it(`refuses the token of a session that was logged out elsewhere within two seconds, ${rounds * lanes} times`, async () => {
  const sessions = await begin('ada', rounds * lanes)
  const delays: number[] = []
  const logOut = async ({ token }: Session, here: Instance | undefined, there: Instance | undefined) => {
    // Both have seen the token before: it is remembered, and answered in front of the framework.
    expect(await statuses(token)).toEqual([204, 204])
    expect((await browserAt(here, token).act('/api/auth/logout')).status).toBe(204)
    const delay = startStopwatch()
    expect(await statusAt(here, token)).toBe(401)
    await until('the other instance refuses it', async () => (await statusAt(there, token)) === 401)
    delays.push(delay())
  }
  const lane = async (own: Session[]) => {
    for (const [round, session] of own.entries())
      await (round % 2 ? logOut(session, first, second) : logOut(session, second, first))
  }
  await Promise.all(Array.from({ length: lanes }, (_, at) => lane(sessions.slice(at * rounds, (at + 1) * rounds))))
  console.log(`largest of ${delays.length} delays: ${Math.max(...delays)} ms`)
  expect(delays).toHaveLength(rounds * lanes)
  expect(Math.max(...delays)).toBeLessThan(2 * seconds)
})

it('misses no end that commits late', async () => {
  const [late, meanwhile, alive] = (await begin('ada', 3)) as [Session, Session, Session]
  await sql.transaction(async (held) => {
    await held.query('delete from sessions where id = $1', [late.sid])
    await browserAt(first, meanwhile.token).act('/api/auth/logout')
    await held.query('select pg_sleep(3)')
    await until('what ended in the meantime is refused', () => isRefused(meanwhile.token))
    expect(await statuses(late.token)).toEqual([204, 204])
  })
  await until('the late one is refused everywhere', () => isRefused(late.token))
  expect(await statuses(alive.token)).toEqual([204, 204])
})

it('misses no end that another program made: plain SQL, a deleted user, the command line', async () => {
  const [bySql, byCascade, byCommand] = [await one('ada'), await one('cy'), await one('bea')]
  await endInSql(bySql.sid)
  await sql.query(`delete from users where username = 'cy'`)
  const config = loadConfig({ ...settings, NODE_ENV: 'test', JWT_SECRET: secretOf('a') })
  const command = await latchkey({ openRooms: (role) => openRoomsForCommand(config, role) }, [
    'user',
    'sessions',
    'end',
    'bea',
  ])
  expect(command).toMatchObject({ code: 0, err: '' })
  for (const { token } of [bySql, byCascade, byCommand]) await until('it is refused everywhere', () => isRefused(token))
})

const age = async () =>
  Number(/^latchkey_ended_sessions_age_seconds (\S+)$/m.exec(await (await fetch(metricsUrl)).text())?.[1])

it('goes on with what it knows while the database is away, and forgets nothing when it is back', async () => {
  const [before, during, alive] = (await begin('ada', 3)) as [Session, Session, Session]
  await endInSql(before.sid)
  await until('it is refused everywhere', () => isRefused(before.token))
  postgres.signal('SIGKILL')
  await until('the age of the list grows', async () => (await age()) > 3)
  expect(await statuses(before.token)).toEqual([401, 401])
  expect(await statuses(alive.token)).toEqual([204, 204])
  await postgres.restart()
  await until('it can be written', () =>
    endInSql(during.sid).then(
      () => true,
      () => false,
    ),
  )
  await until('the next end is refused everywhere', () => isRefused(during.token))
  await until('the list is young again', async () => (await age()) < 3)
  expect(await statuses(before.token)).toEqual([401, 401])
  expect(await statuses(alive.token)).toEqual([204, 204])
})

import { setTimeout as pause } from 'node:timers/promises'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { codeOf, stepAt } from '../../../src/factors/totp.js'
import { migrate } from '../../../src/platform/database/migrate.js'
import { emptyPostgres, type FreshDatabase, migrationsDirectory, testPostgres } from '../../support/databases.js'
import { type PostgresServer, startPostgres } from '../../support/servers/postgres.js'
import type { Visitor } from '../../support/site/https-client.js'
import { addPeople, password, type Site, startSite } from '../../support/site/site.js'
import { startLoad } from '../load.js'
import { type PreviousRelease, providePreviousRelease } from './previous-release.js'

const names = Array.from({ length: 8 }, (_, index) => `person-${index}`)
/** nginx tries a failed instance again after `fail_timeout`, two seconds. It counts whole ones: up to three may pass. */
const trustReturnsAfter = 3_000

let server: PostgresServer
let database: FreshDatabase
let previous: PreviousRelease
let site: Site
beforeAll(async () => {
  server = await startPostgres()
  database = await emptyPostgres(server.url)
  previous = await providePreviousRelease()
  await previous.command(['migrate'], { DATABASE_URL: database.url, DATABASE_OWNER_URL: database.url })
  await addPeople(database.url, names)
  site = await startSite({ instances: 2, databaseUrl: database.url, program: previous.program })
}, 600_000)
afterAll(async () => {
  await site?.stop()
  await previous?.remove()
  await server?.stop()
}, 60_000)

const asks = {
  'an access check': (one: Visitor) => one.get('/api/auth/me'),
  'a refresh': (one: Visitor) => one.refresh(),
  'a page': (one: Visitor) => one.get('/login'),
  'a sensitive call': (one: Visitor) => one.act('/api/sensitive'),
  'a sign-in': () => site.visitor().post('/login', { username: 'person-6', password }),
}

/** In this order, one after the other: undefined is this release. */
const restart = async (order: number[], program?: string) => {
  for (const index of order) {
    await site.instances[index]?.terminate()
    await site.instances[index]?.again({}, program)
    await pause(trustReturnsAfter)
  }
}
const failedLines = async () => (await site.front.logs()).split('\n').filter((line) => /"status":[45]/.test(line))

it('an upgrade, a way back and another upgrade fail no request under load, and sign no user out', async () => {
  const people = await Promise.all(names.slice(0, 6).map((name) => site.signedIn(name)))
  const idle = await site.signedIn('person-7')
  const load = startLoad(people, asks)
  await load.more(50)
  const owner = testPostgres(database.url)
  await migrate({ database: owner, directory: migrationsDirectory })
  await owner.close()
  await load.more(50)
  await restart([0, 1])
  await load.more(50)
  await restart([0, 1], previous.program)
  await load.more(50)
  await restart([1, 0])
  await load.more(50)
  const faults = await load.stop()
  expect({ faults, lines: await failedLines() }).toEqual({ faults: [], lines: [] })
  expect((await idle.refresh()).status).toBe(200)
}, 600_000)

it('the previous release gives an account with two-step sign-in no session for its password, and signs in the others', async () => {
  const person = await site.signedIn('person-0')
  const { body } = await person.act('/api/auth/totp')
  const code = codeOf(String(body.secret), stepAt(Date.now() / 1000))
  expect((await person.act('/api/auth/totp/confirm', { code })).status).toBe(200)

  await restart([0, 1], previous.program)
  const visitor = site.visitor()
  expect((await visitor.post('/login', { username: 'person-0', password })).status).toBe(202)
  expect(visitor.jar.get('refresh_token')).toBeUndefined()
  expect((await person.refresh()).status).toBe(200)
  expect((await site.visitor().post('/login', { username: 'person-1', password })).status).toBe(200)
}, 120_000)

import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Database, type Sql, StoreUnavailable } from '../../src/platform/database/database.js'
import { createHousekeeping } from '../../src/platform/jobs.js'

import { freshPostgres, testPostgres } from '../support/databases.js'
import { inLongRun, isLongRun } from '../support/long-run.js'
import type { Visitor } from '../support/site/https-client.js'
import { secretOf } from '../support/site/instance.js'
import { addPeople, type Site, startSite } from '../support/site/site.js'
import { until } from '../support/until.js'
import { pauseMs, startLoad } from './load.js'

const names = Array.from({ length: 8 }, (_, index) => `person-${index}`)
const pause = (milliseconds: number) => new Promise((resolve) => setTimeout(resolve, milliseconds))

/** nginx tries a failed instance again after `fail_timeout`, two seconds. It counts whole ones: up to three may pass. */
const trustReturnsAfter = 3_000

const count = 2

const [old, fresh] = [secretOf('a'), secretOf('b')]
/**
 * First every instance learns to read the new secret, in a round of its own; only then does one begin to sign with it. Every
 * run begins after the first round.
 */
const firstSecrets = inLongRun(old, `${old},${fresh}`)
const lastSecrets = `${fresh},${old}`
/** In every run, the instance that is killed comes back with them, and only the other one is restarted under load. */
const afterKill = inLongRun<Record<string, string>>({}, { JWT_SECRET: lastSecrets })

/** docs/scale.md says how many were made by hand; one is enough to notice a mistake. */
const killRounds = Number(process.env.KILL_ROUNDS ?? inLongRun(20, 1))

/** Which secret signed the refresh token that a visitor holds. */
const keyIdOf = ({ jar }: Visitor) => {
  const [header = ''] = (jar.get('refresh_token') ?? '').split('.')
  return JSON.parse(Buffer.from(header, 'base64url').toString()).kid
}

describe(`${count} instances behind nginx`, () => {
  let site: Site
  let database: Database
  /** Signs in first, with the old secret, and is away until every instance has another one. */
  let idle: Visitor
  beforeAll(async () => {
    site = await startSite({
      instances: count,
      settings: { LOGIN_LIMIT: '5/15m', JWT_SECRET: firstSecrets, DRAIN_DELAY: '1s' },
    })
    database = testPostgres(site.databaseUrl)
    await addPeople(site.databaseUrl, names)
    idle = await site.signedIn('person-7')
  })
  afterAll(async () => {
    await database?.close()
    await site?.stop()
  })

  it('try exactly five wrong passwords among them, however many come at once', async () => {
    const guess = (index: number) =>
      site.visitor('127.0.0.9').post('/login', { username: 'person-0', password: `wrong ${index}` })
    const answers = await Promise.all(Array.from({ length: 40 }, (_, index) => guess(index)))
    const counted = (status: number) => answers.filter((answer) => answer.status === status).length
    expect([counted(401), counted(429)]).toEqual([5, 35])
  })

  it('rotate a token once for fifty refreshes at the same moment, and the session lives', async () => {
    const person = await site.signedIn('person-1')
    const old = person.jar.get('refresh_token')
    const copies = Array.from({ length: 50 }, () => person.copy())
    const answers = await Promise.all(copies.map((copy) => copy.refresh()))
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]))
    const successors = new Set(copies.map(({ jar }) => jar.get('refresh_token')))
    expect(successors.size).toBe(1)
    expect(successors).not.toContain(old)

    const [record] = await database.query<{ generation: number }>(
      `select generation from sessions r join users u on u.id = r.user_id where username = 'person-1'`,
    )
    expect(record?.generation).toBe(1)
    expect((await copies[0]?.refresh())?.status).toBe(200)
    const logs = await site.front.logs()
    for (const { port } of site.instances) expect(logs).toContain(`"instance":"127.0.0.1:${port}"`)
  })

  it('know a session wherever it was begun, and its end wherever it ended', async () => {
    const person = await site.signedIn('person-2')
    for (let turn = 0; turn < count * 2; turn += 1) expect((await person.refresh()).status).toBe(200)
    const thief = person.copy()
    expect((await person.act('/api/auth/logout')).status).toBe(204)
    for (let turn = 0; turn < count; turn += 1) expect((await thief.copy().refresh()).status).toBe(401)
  })

  it('send each mail once', async () => {
    // Not a registration: its password would load the dictionaries in each instance, which takes most of a core second.
    const wanted = names.slice(4).map((name) => `${name}@example.com`)
    const answers = await Promise.all(
      wanted.map((email, index) => site.visitor(`127.0.0.${10 + index}`).post('/reset-password', { email })),
    )
    expect(answers.map(({ status }) => status)).toEqual(wanted.map(() => 202))
    const sent = () =>
      database.query<{ attempts: number }>('select attempts from outgoing_mail where sent_at is not null')
    await until('all mails are sent', async () => (await sent()).length === wanted.length)
    expect(await sent()).toEqual(wanted.map(() => ({ attempts: 1 })))
    expect(site.inbox.received.flatMap(({ recipients }) => recipients).sort()).toEqual([...wanted].sort())
  })

  it(
    `leave the client with a token that works when one is killed in the middle of rotations, ${killRounds} times`,
    async () => {
      const people = await Promise.all(names.slice(inLongRun(3, 5)).map((name) => site.signedIn(name)))
      let going = true
      const rotate = async (person: Visitor) => {
        while (going) {
          await person.refresh().catch(() => undefined)
          await pause(Math.random() * 2 * pauseMs)
        }
      }
      const work = people.map(rotate)
      for (let round = 0; round < killRounds; round += 1) {
        await pause(Math.random() * 150)
        const instance = site.instances[round % 2]
        instance?.signal('SIGKILL')
        await until('it is gone', () => !instance?.alive())
        await instance?.again(afterKill)
      }
      going = false
      await Promise.all(work)
      // Until then nginx sends nothing to the killed one, and the next test stops the other.
      await pause(trustReturnsAfter)
      await until('both instances serve', async () => {
        const answers = await Promise.all(Array.from({ length: 4 }, () => site.visitor().get('/health')))
        return answers.every(({ status }) => status === 200)
      })
      const statuses = await Promise.all(people.map(async (person) => (await person.refresh()).status))
      expect(statuses).toEqual(people.map(() => 200))
      expect(people.filter(({ jar }) => !jar.has('refresh_token'))).toEqual([])
    },
    240_000 + killRounds * 8_000,
  )

  const restart = async (settings: Record<string, string>) => {
    for (const instance of site.instances.slice(inLongRun(0, 1))) {
      await instance.terminate()
      await instance.again(settings)
      await pause(trustReturnsAfter)
    }
  }
  /** What nginx wrote about it, for the report of a failed test. */
  const failedLines = async () => (await site.front.logs()).split('\n').filter((line) => /"status":[45]/.test(line))

  it('fail no request in a rolling restart under load and sign no user out, with a new secret', async () => {
    const people = await Promise.all(names.slice(0, inLongRun(4, 2)).map((name) => site.signedIn(name)))
    const earlier = (await failedLines()).length
    const load = startLoad(people, {
      'an access check': (one) => one.get('/api/auth/me'),
      'a refresh': (one) => one.refresh(),
      'a page': (one) => one.get('/login'),
      'a sensitive call': (one) => one.act('/api/sensitive'),
    })
    await load.more(20)
    if (isLongRun) await restart({ JWT_SECRET: `${old},${fresh}` })
    await restart({ JWT_SECRET: lastSecrets })
    await load.more(20)
    const faults = await load.stop()
    expect({ faults, lines: (await failedLines()).slice(earlier) }).toEqual({ faults: [], lines: [] })

    // A user who was away meanwhile is still signed in, and nothing is signed with the old secret any more.
    const before = keyIdOf(idle)
    expect((await idle.refresh()).status).toBe(200)
    const keyIds = new Set([idle, ...people].map(keyIdOf))
    expect(keyIds.size).toBe(1)
    expect(keyIds).not.toContain(before)
  })
})

describe('the purges of several instances', () => {
  it('run one at a time: an instance that finds the lock taken leaves the work to its holder', async () => {
    const fresh = await freshPostgres()
    const databases = [testPostgres(fresh.url), testPostgres(fresh.url), testPostgres(fresh.url)]
    let [runs, finished] = [0, 0]
    const purge = async () => {
      runs += 1
      await until('the others have found the lock taken', () => finished >= databases.length - 1)
      return 0
    }
    const failures: unknown[] = []
    const housekeepers = databases.map((database) =>
      createHousekeeping({
        database,
        interval: 60_000,
        jobs: [{ name: 'purge', run: purge }],
        onFailure: (error) => failures.push(error),
      }),
    )
    const sweepAll = housekeepers.map(async ({ sweep }) => {
      await sweep()
      finished += 1
    })
    await Promise.all(sweepAll)
    expect({ runs, failures }).toEqual({ runs: 1, failures: [] })
    await housekeepers[1]?.sweep()
    expect(runs).toBe(2)
    await Promise.all(databases.map((database) => database.close()))
    await fresh.drop()
  })

  it('take nothing back of each other when one fails every time', async () => {
    const fresh = await freshPostgres()
    const database = testPostgres(fresh.url)
    const failed: string[] = []
    const onFailure = (_: unknown, job: string) => failed.push(job)
    const failing = (name: string, error: Error) => ({ name, run: () => Promise.reject(error) })
    const run = async (sql: Sql) => (await sql.query('insert into webhooks_wanted values (true, now())')).length + 7
    const [first, second] = [failing('first', new Error('no')), failing('second', new Error('no'))]
    const away = failing('away', new StoreUnavailable('away'))
    const jobs = [first, { name: 'staying', run }, second, away, first]
    const { sweep } = createHousekeeping({ database, interval: 60_000, jobs, onFailure })
    // Where the database is away, the others would only wait for it.
    expect([await sweep(), failed]).toEqual([7, ['first', 'second', 'away']])
    expect(await database.query('select 1 from webhooks_wanted')).toHaveLength(1)
    await database.close()
    await fresh.drop()
  })
})

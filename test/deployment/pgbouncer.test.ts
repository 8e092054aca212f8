import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { emptyPostgres, type FreshDatabase, testPostgres, testServerUrl } from '../support/databases.js'
import { type Latchkey, startLatchkey } from '../support/latchkey.js'
import { inLongRun } from '../support/long-run.js'
import { type PgBouncer, startPgBouncer } from '../support/servers/pgbouncer.js'
import { secretOf } from '../support/site/instance.js'
import { addPeople, password } from '../support/site/site.js'
import { noStore } from '../support/stores.js'
import { latchkey } from '../support/terminal.js'

const names = Array.from({ length: inLongRun(12, 6) }, (_, index) => `person-${index}`)
const rounds = inLongRun(20, 5)

const transactionMode = { pool_mode: 'transaction' as const, default_pool_size: '3' }
const sessionMode = { pool_mode: 'session' as const, default_pool_size: '20' }

// Two instances, so that one meets the connections that the other has just used.
describe.each(inLongRun([transactionMode, sessionMode], [transactionMode]))(
  'behind PgBouncer in $pool_mode mode',
  (settings) => {
    let pooler: PgBouncer
    let fresh: FreshDatabase
    let instances: Latchkey[] = []

    beforeAll(async () => {
      pooler = await startPgBouncer(testServerUrl(), settings)
      fresh = await emptyPostgres()
      const shared = {
        DATABASE_URL: pooler.through(fresh.url),
        DATABASE_POOL: '6',
        JWT_SECRET: secretOf('p'),
      }
      for (let count = 0; count < 2; count += 1) instances.push(await startLatchkey({ settings: shared }))
      await addPeople(fresh.url, names)
    })

    afterAll(async () => {
      await Promise.all(instances.map((each) => each.stop()))
      instances = []
      await pooler.stop()
      await fresh.drop()
    })

    it(`signs ${names.length} people in and refreshes ${names.length * rounds} times: no user is signed out`, async () => {
      const statuses = new Map<string, number>()
      const note = (what: string, status: number) =>
        statuses.set(`${what} ${status}`, (statuses.get(`${what} ${status}`) ?? 0) + 1)
      const visit = async (name: string, place: number) => {
        const browser = instances[place % 2]?.browser()
        if (!browser) return
        note('login', (await browser.post('/login', { username: name, password })).status)
        for (let round = 0; round < rounds; round += 1) {
          note('refresh', (await browser.post('/api/auth/refresh', {})).status)
        }
      }
      await Promise.all(names.map(visit))

      expect(Object.fromEntries(statuses)).toEqual({
        'login 200': names.length,
        'refresh 200': names.length * rounds,
      })
      const direct = testPostgres(fresh.url)
      const [stored] = await direct.query(
        `select count(*) as sessions, count(*) filter (where octet_length(token_hash) = 32) as whole, max(generation) as newest
       from sessions`,
      )
      await direct.close()
      expect(stored).toEqual({ sessions: names.length, whole: names.length, newest: rounds })
    })

    it('answers health, which commits', async () => {
      for (const { browser } of instances) expect((await browser().get('/health')).status).toBe(200)
    })

    it('has the doctor ask for timeouts on the role', async () => {
      const environment = { NODE_ENV: 'test', DATABASE_URL: pooler.through(fresh.url) }
      const { out: report } = await latchkey(noStore, ['doctor'], { environment })
      expect(report).toMatch(/^warning +database +the pooler does not accept timeouts: set /m)
    })

    it('refuses settings in the address with one sentence that says where they belong', async () => {
      const database = testPostgres(`${pooler.through(fresh.url)}?search_path=auth`)
      await expect(database.ping()).rejects.toThrow('remove them there, and set them on the role')
      await database.close()
    })
  },
)

import { setTimeout as pause } from 'node:timers/promises'
import { afterAll, describe, expect, it } from 'vitest'
import { freshPostgres, testPostgres } from '../../support/databases.js'
import { startPostgres } from '../../support/servers/postgres.js'
import type { Visitor } from '../../support/site/https-client.js'
import { addPeople, password, startSite } from '../../support/site/site.js'
import { until } from '../../support/until.js'
import { pauseMs } from '../load.js'
import { createRedisCluster, createSentinelGroup } from '../redis-groups.js'

const leftovers: (() => Promise<void>)[] = []
afterAll(async () => {
  for (const leave of leftovers.reverse()) await leave()
})
const later = <Started extends { stop(): Promise<void> }>(started: Started) => {
  leftovers.push(started.stop)
  return started
}

const names = Array.from({ length: 6 }, (_, index) => `person-${index}`)

describe('PostgreSQL with a synchronous standby', () => {
  it('loses its primary under load, and nothing that was answered', async () => {
    const primary = later(await startPostgres({ ofMachine: true, settings: { synchronous_standby_names: 'second' } }))
    const standby = later(await startPostgres({ standby: { of: primary, name: 'second' } }))
    const { url } = await freshPostgres(primary.url)
    const both = url.replace(`127.0.0.1:${primary.port}`, `127.0.0.1:${primary.port},127.0.0.1:${standby.port}`)
    await addPeople(url, names)
    const site = later(await startSite({ instances: 2, databaseUrl: both }))

    const [ended, ending] = [await site.signedIn('person-4'), await site.signedIn('person-5')]
    const [endedCopy, endingCopy] = [ended.copy(), ending.copy()]
    /** By every instance: nginx asks them in turn. */
    const isRefused = async (visitor: Visitor) => {
      const asks = Array.from({ length: 4 }, async () => (await visitor.get('/api/auth/me')).status)
      return (await Promise.all(asks)).every((status) => status === 401)
    }
    expect((await ended.act('/api/auth/logout')).status).toBe(204)
    await until('the ended session is refused', () => isRefused(endedCopy))

    const signedIn: Visitor[] = []
    const surprises: string[] = []
    let going = true
    /** A lost answer and a 503 are what a failover costs. Anything else is a fault; cookies stay as they are. */
    const attempt = async (ask: () => Promise<{ status: number; text: string }>) => {
      const { status, text } = await ask().catch(() => ({ status: 503, text: '' }))
      if (![200, 202, 503].includes(status)) surprises.push(`${status} ${text}`)
      return status
    }
    const signIn = async (name: string) => {
      while (going) {
        await pause(pauseMs)
        const visitor = site.visitor()
        if ((await attempt(() => visitor.post('/login', { username: name, password }))) !== 200) continue
        signedIn.push(visitor)
        await attempt(() => visitor.refresh())
      }
    }
    const registerAgain = async () => {
      const body = { username: 'newcomer', email: 'newcomer@example.com', password }
      while (going) {
        await attempt(() => site.visitor().post('/api/auth/register', body))
        await pause(5 * pauseMs)
      }
    }
    const work = [...names.slice(0, 3).map(signIn), registerAgain()]
    await until('some have signed in', () => signedIn.length >= 6)
    primary.signal('SIGKILL')
    const admin = testPostgres(standby.url)
    await admin.query('select pg_promote()')
    const before = signedIn.length
    await until('they sign in again', () => signedIn.length >= before + 6)
    going = false
    await Promise.all(work)
    await admin.close()

    expect(surprises).toEqual([])
    expect([await isRefused(endedCopy), await isRefused(endingCopy)]).toEqual([true, false])
    expect((await ending.act('/api/auth/logout')).status).toBe(204)
    await until('what ends on the new primary is refused', () => isRefused(endingCopy))
    const statuses = await Promise.all(signedIn.map(async (visitor) => (await visitor.refresh()).status))
    expect(statuses).toEqual(signedIn.map(() => 200))
    const promoted = testPostgres(url.replace(`:${primary.port}/`, `:${standby.port}/`))
    const [users] = await promoted.query<{ all: number; different: number }>(
      'select count(*)::int as all, count(distinct email_key)::int as different from users',
    )
    await promoted.close()
    expect(users).toEqual({ all: names.length, different: names.length })
  })
})

describe('counters on several Redis servers', () => {
  /** Small, because every guess that is tried costs a hash. */
  const limit = 2
  const guess = async (site: Awaited<ReturnType<typeof startSite>>, count: number, from: string) => {
    const ask = () => site.visitor(from).post('/login', { username: 'nobody', password: 'wrong' })
    const answers = await Promise.all(Array.from({ length: count }, ask))
    const tried = answers.filter(({ status }) => status === 401).length
    expect(answers.filter(({ status }) => status === 429)).toHaveLength(count - tried)
    return tried
  }

  let strangers = 0
  /** From an address that was not used before. The hashes of the last guesses are done by then: on a busy machine they delay Redis. */
  const guessAsStranger = async (site: Awaited<ReturnType<typeof startSite>>) => {
    await pause(500)
    strangers += 1
    return guess(site, 6, `127.1.${Math.floor(strangers / 250)}.${(strangers % 250) + 1}`)
  }

  it('go on when a Sentinel group elects a new master', async () => {
    const group = later(await createSentinelGroup())
    const site = later(
      await startSite({ instances: 2, redisUrl: group.url, settings: { LOGIN_LIMIT: `${limit}/15m` } }),
    )
    expect(await guess(site, 6, '127.0.0.21')).toBe(limit)
    group.killMaster()
    // In between each instance counts by itself: never more than the limit for each of them.
    expect(await guess(site, 10, '127.0.0.22')).toBeLessThanOrEqual(2 * limit)
    await until('the new master is found', async () => (await site.visitor().get('/health')).status === 200)
    await until('both instances count there', async () => (await guessAsStranger(site)) === limit)
    expect(await guess(site, 6, '127.0.0.21')).toBe(0)
  })

  it('are spread over a Cluster of six, and go on when one of its masters is gone', async () => {
    const cluster = later(await createRedisCluster())
    const site = later(
      await startSite({ instances: 2, redisUrl: cluster.url, settings: { LOGIN_LIMIT: `${limit}/15m` } }),
    )
    expect(await guess(site, 6, '127.0.0.31')).toBe(limit)
    cluster.killMaster()
    await until('a replica has taken over', cluster.hasTakenOver)
    // A client of a Cluster learns its new shape within seconds. Until then each instance counts by itself.
    await until('the count is one for all again', async () => {
      const tried = await guessAsStranger(site)
      expect(tried).toBeLessThanOrEqual(2 * limit)
      return tried === limit
    })
    await until('every instance is healthy', async () => (await site.visitor().get('/health')).status === 200)
  })
})

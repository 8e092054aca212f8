import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Browser } from '../support/client.js'
import { testPostgres } from '../support/databases.js'
import { goodPassword, type Latchkey, startLatchkey } from '../support/latchkey.js'
import { type PostgresServer, startPostgres } from '../support/servers/postgres.js'
import { type RedisServer, startRedis } from '../support/servers/redis.js'
import { type SmallDisk, smallDisk } from '../support/small-disk.js'
import { startStopwatch } from '../support/stopwatch.js'
import { noStore } from '../support/stores.js'
import { latchkey as runCommand } from '../support/terminal.js'
import { until } from '../support/until.js'

const credentials = { username: 'ada', password: goodPassword }
const healthOf = async (latchkey: Latchkey) => {
  const time = startStopwatch()
  const { status, body } = await latchkey.browser().get('/health')
  return { status, checks: body.checks, within: time() }
}

describe('PostgreSQL out of reach', () => {
  let postgres: PostgresServer
  let disk: SmallDisk
  let latchkey: Latchkey
  let tab: Browser
  beforeAll(async () => {
    postgres = await startPostgres()
    disk = await smallDisk(postgres)
    latchkey = await startLatchkey({
      settings: { DATABASE_URL: disk.url, HEALTH_TIMEOUT: '1s', SENSITIVE_LIMIT: '1/1h' },
      hasUsualTimeouts: true,
    })
    tab = await latchkey.signedUp('ada')
  })
  afterAll(async () => {
    await latchkey.stop()
    await postgres.stop()
    await disk.remove()
  })

  const expectUnavailable = async () => {
    for (const answer of [
      await tab.copy().post('/api/auth/refresh'),
      await latchkey.browser().post('/login', credentials),
    ]) {
      expect([answer.status, answer.headers.get('retry-after'), answer.setCookies]).toEqual([503, '5', []])
      expect(answer.body.error).toBe('Temporarily unavailable')
    }
    expect((await tab.get('/api/auth/me')).status).toBe(200)
    for (const path of ['/health/live', '/health/ready']) expect((await latchkey.browser().get(path)).status).toBe(200)
  }
  const expectRecovery = async () => {
    await expect.poll(async () => (await healthOf(latchkey)).status).toBe(200)
    expect((await tab.post('/api/auth/refresh')).status).toBe(200)
  }

  it('killed: 503 with Retry-After, cookies untouched, access checks go on, and no user has to sign in again', async () => {
    postgres.signal('SIGKILL')
    await expect.poll(async () => (await healthOf(latchkey)).status).toBe(503)
    await expectUnavailable()
    const requestReset = async () =>
      (await latchkey.browser().post('/api/auth/reset-password', { email: 'ada@example.com' })).status
    // The limiter allows one: what the service could not answer is given back.
    expect([await requestReset(), await requestReset()]).toEqual([503, 503])
    await postgres.restart()
    await expectRecovery()
    expect([await requestReset(), await requestReset()]).toEqual([202, 429])
  })

  it('with a full disk: health and doctor say so, also while most writes still succeed, and it heals by itself', async () => {
    const signIn = async () => (await latchkey.browser().post('/login', credentials)).status
    const doctorOnSpace = async () => {
      const { out } = await runCommand(noStore, ['doctor'], {
        environment: { NODE_ENV: 'test', DATABASE_URL: disk.url },
      })
      return out.split('\n').find((line) => line.includes('database space'))
    }
    expect(await doctorOnSpace()).toMatch(/^ok /)
    await disk.fill()
    await until('a sign-in needs more space', async () => (await signIn()) === 503)
    await expect.poll(async () => (await healthOf(latchkey)).checks).toMatchObject({ database: 'error', cache: 'ok' })
    await until('the log says why', () =>
      latchkey.logLines.some((line) => /"a health check fails"/.test(line) && /No space left on device/.test(line)),
    )
    expect((await tab.get('/api/auth/me')).status).toBe(200)
    if (disk.isReal) expect(await doctorOnSpace()).toMatch(/^error .*No space left on device/)
    await disk.free()
    await until('there is space again', async () => (await healthOf(latchkey)).status === 200)
    expect(await signIn()).toBe(200)
  })

  it('without a table, as while a backup is restored: health and the log say so, and it heals by itself', async () => {
    const administrator = testPostgres(disk.url)
    await administrator.query('alter table sessions rename to lost')
    await expect.poll(async () => (await healthOf(latchkey)).checks).toMatchObject({ database: 'error', cache: 'ok' })
    expect(latchkey.logLines.some((line) => line.includes('may not write them: sessions"'))).toBe(true)
    await administrator.query('alter table lost rename to sessions')
    await administrator.close()
    await expectRecovery()
  })

  it('hung: the same, within the deadlines', async () => {
    postgres.signal('SIGSTOP')
    await expect.poll(async () => (await healthOf(latchkey)).status).toBe(503)
    const health = await healthOf(latchkey)
    expect(health).toMatchObject({ status: 503, checks: { server: 'ok', cache: 'ok' } })
    expect(health.within).toBeLessThan(2500)
    await expectUnavailable()
    postgres.signal('SIGCONT')
    await expectRecovery()
  })
})

describe('Redis out of reach', () => {
  let redis: RedisServer
  let latchkey: Latchkey
  beforeAll(async () => {
    redis = await startRedis()
    latchkey = await startLatchkey({ settings: { REDIS_URL: redis.url, LOGIN_LIMIT: '5/15m' }, hasUsualTimeouts: true })
    await latchkey.signedUp('ada')
  })
  afterAll(async () => {
    await latchkey.stop()
    await redis.stop()
  })

  it.each(['SIGKILL', 'SIGSTOP'] as const)(
    'by %s: logins stay limited with the same numbers, health says so, and it heals by itself',
    async (signal) => {
      const address = signal === 'SIGKILL' ? '192.0.2.10' : '192.0.2.11'
      redis.signal(signal)
      // A result is used again for a moment.
      await expect.poll(async () => (await healthOf(latchkey)).status).toBe(503)
      const health = await healthOf(latchkey)
      expect(health).toMatchObject({ status: 503, checks: { database: 'ok' } })
      expect((await latchkey.browser().get('/health/ready')).status).toBe(200)
      expect(health.within).toBeLessThan(2500)
      const answers = await Promise.all(
        Array.from({ length: 12 }, () =>
          latchkey.browser().post('/login', { ...credentials, password: 'wrong' }, { address }),
        ),
      )
      expect(answers.filter(({ status }) => status === 401)).toHaveLength(5)
      expect(answers.filter(({ status }) => status === 429)).toHaveLength(7)
      expect((await latchkey.browser().post('/login', credentials, { address: '192.0.2.99' })).status).toBe(200)
      if (signal === 'SIGKILL') await redis.restart()
      else redis.signal('SIGCONT')
      await expect.poll(async () => (await healthOf(latchkey)).status).toBe(200)
    },
  )
})

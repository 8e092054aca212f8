import { randomUUID } from 'node:crypto'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest'
import { createMovableClock, type MovableClock } from '../../../test/support/clock.js'
import { type LogoutReceiver, startLogoutReceiver } from '../../../test/support/logout-receiver.js'
import { openPostgresStore, type TestStore } from '../../../test/support/stores.js'
import { days, hours, minutes, seconds } from '../../lib/durations.js'
import type { Database } from '../../platform/database/database.js'
import { createOutbound, type OutboundOptions } from '../../platform/outbound/outbound.js'

import { isPublicOrLoopbackAddress } from '../../platform/outbound/public-addresses.js'
import { createExpiredRows } from '../../service/background.js'
import { createLogoutNoticeSender } from './logout-notice-sender.js'
import { createLogoutNotices } from './logout-notices.js'

// Nothing here is about speed, and the machine may be busy.
vi.setConfig({ testTimeout: 60_000 })
vi.setConfig({ hookTimeout: 60_000 })

const encoded = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url')
const internalError = (response: ServerResponse) => response.writeHead(500).end()

describe('logout notices', () => {
  let store: TestStore
  let database: Database
  let clock: MovableClock
  let receiver: LogoutReceiver
  let lines: string[]
  let errors: string[]
  let outcomes: string[]
  let ends: (() => Promise<unknown>)[]
  let senders: ReturnType<typeof createLogoutNoticeSender>[]

  const logging = (details: unknown, message?: string) => void lines.push(`${message} ${JSON.stringify(details)}`)

  const addApplication = async (address: string | null = receiver.url, id = randomUUID()) => {
    await database.query(
      `insert into applications (id, name, home, kind, redirect_addresses, backchannel_logout, access, consent, pkce, algorithm, created_at)
       values ($1, $1, 'https://app.example/', 'web', '{https://app.example/callback}', $2, 'everyone', 'none', true, 'RS256', now())`,
      [id, address],
    )
    return id
  }

  /** An application that is used with a session which ends at once. */
  const queue = async (applicationId: string, sid = randomUUID()) => {
    await database.query(
      `insert into application_sessions (id, sid, application_id, user_id, scopes, created_at, last_used_at)
       values (gen_random_uuid(), $1, $2, $3, '{openid}', now(), now())`,
      [sid, applicationId, randomUUID()],
    )
    await database.query('delete from application_sessions where sid = $1', [sid])
    return sid
  }

  const find = async (id: string) => {
    const [row] = await database.query<{ backchannel_logout: string | null }>(
      'select backchannel_logout from applications where id = $1',
      [id],
    )
    return row && { id, name: id, algorithm: 'RS256' as const, backchannelLogout: row.backchannel_logout ?? undefined }
  }

  const startSender = (options: OutboundOptions = {}, on = database) => {
    const outbound = createOutbound({
      allowLoopbackHttp: true,
      mayReach: isPublicOrLoopbackAddress,
      maximumBytes: 4096,
      cutBody: true,
      ...options,
    })
    const sender = createLogoutNoticeSender({
      database: on,
      clock,
      applications: { find },
      logoutTokens: {
        issue: async ({ sid, userId }) =>
          `${encoded({ typ: 'logout+jwt' })}.${encoded({ sid, sub: userId, jti: randomUUID() })}.signature`,
      },
      applicationErrors: {
        note: ({ id }, kind, sentence) => {
          errors.push(sentence)
          void database.query(
            `insert into application_errors (application_id, message, kind, seen_at) values ($1, $2, $3, $4)
             on conflict do nothing`,
            [id, sentence, kind, clock.now()],
          )
        },
      },
      outbound,
      onOutcome: (outcome) => void outcomes.push(outcome),
      log: { warn: logging, error: logging },
    })
    ends.unshift(sender.stop)
    senders.push(sender)
    sender.start()
  }

  /** The senders would look once a second. */
  const advance = (duration: number) => {
    clock.advance(duration)
    for (const sender of senders) sender.wake()
  }

  const notices = () => createLogoutNotices({ database, clock })

  beforeAll(async () => {
    store = await openPostgresStore()
    database = store.database
  })
  beforeEach(async () => {
    clock = createMovableClock()
    lines = []
    errors = []
    outcomes = []
    ends = []
    senders = []
    receiver = await startLogoutReceiver()
    ends.push(receiver.stop)
  })
  afterEach(async () => {
    for (const end of ends) await end()
    await database.query('delete from applications')
  })
  afterAll(() => store.drop())

  it('are posted as a form, and are gone once the application took them', async () => {
    const application = await addApplication()
    const sid = await queue(application)
    startSender()
    await expect.poll(receiver.sids).toEqual([sid])
    expect(receiver.received[0]?.type).toMatch(/^application\/x-www-form-urlencoded/)
    await expect.poll(() => notices().oldest(application, 10)).toEqual([])
  })

  it('are written only for applications that have an address, and not sent when it was removed since', async () => {
    await queue(await addApplication(null))
    expect(await notices().count()).toEqual({ waiting: 0, givenUp: 0 })
    const application = await addApplication()
    await queue(application)
    await database.query('update applications set backchannel_logout = null where id = $1', [application])
    startSender()
    await expect.poll(notices().count).toEqual({ waiting: 0, givenUp: 0 })
    expect(receiver.received).toEqual([])
  })

  it('are signed anew for each attempt, until the application takes one of them', async () => {
    const answers = [500, 302, 404, 200]
    receiver.answerWith((response) => {
      response.writeHead(answers.shift() ?? 500, { location: 'http://127.0.0.1:9/private' }).end()
    })
    const sid = await queue(await addApplication())
    startSender()
    for (const expected of [1, 2, 3, 4]) {
      await expect.poll(() => outcomes.length, { timeout: 20_000 }).toBe(expected)
      advance(1 * hours)
    }
    expect(outcomes).toEqual(['failed', 'failed', 'failed', 'delivered'])
    expect(receiver.sids()).toEqual([sid, sid, sid, sid])
    expect(new Set(receiver.received.map(({ claims }) => claims.jti)).size).toBe(4)
    expect(errors).toEqual(
      [
        'notice: http://.* answered 500',
        'notices are refused with 302: http://.*',
        'notices are refused with 404: .*',
      ].map((sentence) => expect.stringMatching(`^logout ${sentence}$`)),
    )
  })

  it('that are refused with 400 are not sent again, and the operator can read why', async () => {
    receiver.answerWith((response) => response.writeHead(400).end())
    const application = await addApplication()
    await queue(application)
    startSender()
    await expect.poll(() => outcomes).toEqual(['refused'])
    await expect.poll(() => notices().oldest(application, 10)).toEqual([])
    expect(errors).toEqual([expect.stringContaining('refused with 400')])
    const none = { name: application, waiting: 0, oldest: 0, givenUp: 0, refusedWith: undefined }
    await expect.poll(notices().states).toEqual([{ ...none, refused: true }])
    clock.advance(25 * hours)
    expect(await notices().states()).toEqual([])
  })

  it('of an application that never answers delay no other application', async () => {
    receiver.answerWith(() => undefined)
    const silent = await Promise.all(Array.from({ length: 6 }, () => addApplication()))
    for (const application of silent) for (let at = 0; at < 5; at += 1) await queue(application)
    const healthy = await startLogoutReceiver()
    ends.push(healthy.stop)
    startSender({ totalTimeout: 50 * seconds })
    await expect.poll(() => receiver.received.length).toBeGreaterThanOrEqual(6)
    const sid = await queue(await addApplication(healthy.url))
    await expect.poll(healthy.sids, { timeout: 20_000 }).toEqual([sid])
    await expect.poll(() => outcomes).toEqual(['delivered'])
    // So that the sender has not to wait for the answers.
    await receiver.stop()
  })

  it('wait together while their application is away, at every instance, and reach it when it is back', async () => {
    const closed = createServer().listen(0, '127.0.0.1')
    await new Promise((resolve) => closed.once('listening', resolve))
    const { port } = closed.address() as AddressInfo
    await new Promise((resolve) => closed.close(resolve))
    const application = await addApplication(`http://127.0.0.1:${port}/`)
    const sids: string[] = []
    for (let at = 0; at < 20; at += 1) sids.push(await queue(application))
    startSender()
    startSender({}, await store.another())
    await expect.poll(() => lines.join()).toContain('"reason":"unreachable"')
    // Some were tried at the same time. The others were not tried at all while the application is paused.
    await expect
      .poll(async () => (await notices().oldest(application, 100)).filter((each) => each.failure).length)
      .toBeGreaterThan(0)
    await queue(application).then((sid) => sids.push(sid))
    const tried = (await notices().oldest(application, 100)).filter(({ attempts }) => attempts > 0)
    expect(tried.length).toBeLessThanOrEqual(8)
    expect(errors[0]).toBe(`logout notice: http://127.0.0.1:${port} cannot be reached`)
    const back = await startLogoutReceiver(port)
    ends.push(back.stop)
    advance(1 * hours)
    await expect.poll(() => back.sids().sort(), { timeout: 20_000 }).toEqual(sids.sort())
    expect(await database.query('select 1 from logout_pauses')).toEqual([])
  })

  it('go on past one that the application always fails at', async () => {
    const application = await addApplication()
    const broken = await queue(application)
    receiver.answerWith((response, { claims }) => response.writeHead(claims.sid === broken ? 500 : 200).end())
    startSender()
    await expect.poll(() => outcomes).toEqual(['failed'])
    const sid = await queue(application)
    advance(6 * seconds)
    await expect.poll(() => outcomes.filter((each) => each === 'delivered').length, { timeout: 20_000 }).toBe(1)
    expect(receiver.sids()).toContain(sid)
    expect(await notices().oldest(application, 10)).toMatchObject([{ failure: 'answered 500' }])
  })

  it('that an application refuses are tried again by themselves, and delay no other', async () => {
    const application = await addApplication()
    const refused: string[] = await Promise.all(Array.from({ length: 10 }, () => queue(application)))
    const good = () => receiver.sids().filter((sid) => !refused.includes(sid))
    receiver.answerWith((response, { claims }) => response.writeHead(refused.includes(claims.sid) ? 401 : 200).end())
    startSender()
    await expect.poll(() => outcomes.length).toBe(10)
    expect(outcomes).toEqual(refused.map(() => 'failed'))
    expect(await database.query('select 1 from logout_pauses where paused_until > $1', [clock.now()])).toEqual([])
    const sids = [await queue(application), await queue(application)]
    for (const sender of senders) sender.wake()
    await expect.poll(() => good().sort()).toEqual(sids.sort())
    await expect.poll(notices().states).toMatchObject([{ waiting: 10, refusedWith: 401 }])
    expect(new Set(errors)).toEqual(new Set([`logout notices are refused with 401: ${new URL(receiver.url).origin}`]))
    advance(7 * seconds)
    await expect.poll(() => outcomes.filter((each) => each === 'failed').length, { timeout: 20_000 }).toBe(20)
  })

  it('are sent a few times a second to an application that refuses all of them', async () => {
    receiver.answerWith((response) => response.writeHead(401).end())
    const application = await addApplication()
    for (let at = 0; at < 90; at += 1) await queue(application)
    const begin = Date.now()
    startSender()
    // Four may be on their way when the last one that is allowed is counted.
    const allowed = () => 60 + 4 + Math.ceil((4 * (Date.now() - begin)) / 1000)
    while (outcomes.length < 75) {
      await new Promise((resolve) => setTimeout(resolve, 50))
      expect(receiver.received.length).toBeLessThanOrEqual(allowed())
    }
    // So that it was the pause that held them up, and not a slow machine.
    expect(await database.query('select 1 from logout_pauses where failures = 0')).toHaveLength(1)
  })

  it('wait together when the application asks for time, or is broken', async () => {
    for (const status of [429, 503]) {
      receiver.answerWith((response) => response.writeHead(status).end())
      const application = await addApplication()
      for (let at = 0; at < 30; at += 1) await queue(application)
      if (senders.length === 0) startSender()
      await expect.poll(() => receiver.received.length).toBeGreaterThan(0)
      await expect
        .poll(
          async () =>
            (await database.query('select 1 from logout_pauses where application_id = $1', [application])).length,
        )
        .toBe(1)
      // A few are tried at the same time.
      expect(receiver.received.length).toBeLessThanOrEqual(8)
      receiver.received.splice(0)
    }
  })

  it('are given up after a day, stay for operators, and are deleted after a week', async () => {
    receiver.answerWith(internalError)
    const application = await addApplication()
    await queue(application)
    startSender()
    await expect.poll(() => outcomes).toEqual(['failed'])
    const [notice] = await notices().oldest(application, 1)
    const untold = () => notices().untoldOf(notice?.userId ?? '')
    expect(await untold()).toEqual([{ name: application, givenUp: false }])
    expect(await notices().oldestWaitSeconds()).toBeLessThan(300)
    advance(1 * days - 1 * minutes)
    expect(await notices().oldestWaitSeconds()).toBeGreaterThan(86_000)
    expect(await notices().states()).toMatchObject([{ name: application, waiting: 1, givenUp: 0, refused: false }])
    await expect.poll(() => outcomes, { timeout: 20_000 }).toEqual(['failed', 'failed'])
    advance(1 * hours)
    await expect.poll(() => outcomes, { timeout: 20_000 }).toEqual(['failed', 'failed', 'given_up'])
    expect(lines.join()).toContain('logout notice given up')
    expect(await notices().oldest(application, 10)).toMatchObject([{ nextAttemptAt: null, failure: 'answered 500' }])
    expect(await notices().count()).toEqual({ waiting: 0, givenUp: 1 })
    expect(await notices().oldestWaitSeconds()).toBe(0)
    expect(await notices().states()).toMatchObject([
      { name: application, waiting: 0, oldest: 0, givenUp: 1, refused: false },
    ])
    expect(await untold()).toEqual([{ name: application, givenUp: true }])
    const purge = createExpiredRows({ clock }).find(({ name }) => name === 'purge logout_notices')
    expect(await purge?.run(database, 10)).toBe(0)
    clock.advance(6 * days)
    expect(await purge?.run(database, 10)).toBe(1)
  })

  it('never follow a name into a private network or to what a cloud tells its machines', async () => {
    const addresses = ['10.0.0.1', '169.254.169.254', 'fd00:ec2::254']
    startSender({
      resolve: (_hostname, _options, callback) => {
        const address = addresses.shift() ?? '192.168.0.1'
        callback(null, [{ address, family: address.includes(':') ? 6 : 4 }])
      },
    })
    const application = await addApplication('https://receiver.example/logout')
    await queue(application)
    for (const expected of [1, 2, 3]) {
      await expect.poll(() => outcomes.length, { timeout: 20_000 }).toBe(expected)
      advance(1 * hours)
    }
    expect(addresses).toEqual([])
    expect(await notices().oldest(application, 10)).toMatchObject([{ failure: 'private_address' }])
    expect(errors[0]).toContain('https://receiver.example is in a private network')
  })

  it('are sent once by two instances at work together', async () => {
    const application = await addApplication()
    const sids: string[] = []
    for (let at = 0; at < 40; at += 1) sids.push(await queue(application))
    startSender()
    startSender({}, await store.another())
    await expect.poll(() => outcomes.length, { timeout: 30_000 }).toBe(40)
    expect(receiver.sids().sort()).toEqual(sids.sort())
  })

  it('outlive a sender that was killed between taking one and sending it', async () => {
    const application = await addApplication()
    const sid = await queue(application)
    await database.query("update logout_notices set attempts = 1, next_attempt_at = now() + interval '60 seconds'")
    startSender()
    advance(61 * seconds)
    await expect.poll(receiver.sids, { timeout: 20_000 }).toEqual([sid])
  })
})

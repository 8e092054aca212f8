import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest'
import { createMovableClock, type MovableClock } from '../../test/support/clock.js'
import { openPostgresStore, type TestStore } from '../../test/support/stores.js'
import { newWebhookSecret, startWebhookReceiver, type WebhookReceiver } from '../../test/support/webhook-receiver.js'
import { builtInFieldNames, builtInFields, builtInFieldsForPrograms, ServiceUser } from '../contract/schemas.js'
import { days, hours } from '../lib/durations.js'
import { uuidv7 } from '../lib/uuid.js'
import type { Database, Sql } from '../platform/database/database.js'
import { createOutbound, type OutboundOptions } from '../platform/outbound/outbound.js'

import { createExpiredRows } from '../service/background.js'
import { createWebhooks, pauses } from './webhooks.js'

// Nothing here is about speed, and the machine may be busy.
vi.setConfig({ testTimeout: 60_000 })

const addUser = async (sql: Sql, name = `user${Math.random().toString(36).slice(2)}`) => {
  const id = uuidv7(new Date())
  await sql.query(
    `insert into users (id, email, email_key, username, username_key, created_at)
     values ($1, $2, $2, $3, $3, now())`,
    [id, `${name}@example.com`, name],
  )
  return id
}

it('the pauses grow, and leave about three days', () => {
  expect([...pauses].sort((left, right) => left - right)).toEqual(pauses)
  const whole = pauses.reduce((sum, pause) => sum + pause, 0)
  expect(whole).toBeGreaterThan(2.5 * days)
  expect(whole).toBeLessThan(3 * days + 1 * hours)
})

describe('webhooks', () => {
  let store: TestStore
  let database: Database
  let clock: MovableClock
  let receiver: WebhookReceiver
  let lines: string[]
  let outcomes: string[]
  let ends: (() => Promise<unknown>)[]

  const logging = (details: unknown, message?: string) => void lines.push(`${message} ${JSON.stringify(details)}`)
  const log = { warn: logging, error: logging }

  const webhooksTo = (
    { url, secrets = [receiver.secret] }: { url: string; secrets?: string[] },
    options: OutboundOptions = {},
    on = database,
  ) => {
    const outbound = createOutbound({ allowPlainHttp: true, maximumBytes: 4096, cutBody: true, ...options })
    const onOutcome = (outcome: string) => void outcomes.push(outcome)
    const webhooks = createWebhooks({ database: on, clock, receiver: { url, secrets, outbound }, onOutcome, log })
    ends.unshift(webhooks.stop)
    return webhooks
  }

  const waiting = () => webhooksTo(receiver).oldest(100)

  beforeAll(async () => {
    store = await openPostgresStore()
    database = store.database
  })
  beforeEach(async () => {
    clock = createMovableClock()
    lines = []
    outcomes = []
    ends = []
    receiver = await startWebhookReceiver()
    ends.push(receiver.stop)
    await webhooksTo(receiver).subscribe()
  })
  afterEach(async () => {
    for (const end of ends) await end()
    await database.query('delete from users')
    await database.query('delete from outgoing_webhooks')
  })
  afterAll(() => store.drop())

  it('tell of a user who is created, changed, signed in and deleted, by whatever program', async () => {
    const webhooks = webhooksTo(receiver)
    webhooks.start()
    const id = await database.transaction(async (sql) => {
      const id = await addUser(sql, 'ada')
      await sql.query("insert into identities values ($1, 'provider_a', 'subject-1', now())", [id])
      return id
    })
    webhooks.wake()
    await expect.poll(receiver.types).toEqual(['user.created'])
    expect(receiver.received[0]?.body).toEqual({
      type: 'user.created',
      timestamp: expect.stringMatching(/^\d{4}-.*Z$/),
      data: {
        user: {
          id,
          email: 'ada@example.com',
          username: 'ada',
          ...Object.fromEntries(builtInFieldsForPrograms.map((field) => [field, null])),
          provider: null,
          providers: ['provider_a'],
          groups: [],
          fields: {},
          disabled: false,
          createdAt: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
        },
      },
    })
    await database.query('update users set disabled_at = now() where id = $1', [id])
    webhooks.wake()
    await expect.poll(receiver.types).toEqual(['user.created', 'user.updated'])
    expect(receiver.received[1]?.body.data.user).toMatchObject({ id, disabled: true })
    await database.query("update users set password_hash = 'x', disabled_at = now() where id = $1", [id])
    await database.query(
      `insert into sessions (id, user_id, token_hash, generation, issued_at, rotated_at, expires_at, ip,
         user_agent, created_at, last_used_at, methods, authenticated_at, second_factor_required, signed_in_as)
       values ($1, $2, '\\x00', 0, now(), now(), now() + interval '1 hour', '192.0.2.7', 'curl', now(), now(), '{pwd}', now(), false, '')`,
      [uuidv7(new Date()), id],
    )
    webhooks.wake()
    await expect.poll(() => receiver.types().at(-1)).toBe('user.signed_in')
    expect(receiver.received[2]?.body.data).toMatchObject({
      user: { id },
      session: { methods: ['pwd'], ip: '192.0.2.7', userAgent: 'curl' },
    })
    await database.query('delete from users where id = $1', [id])
    webhooks.wake()
    await expect.poll(() => receiver.types().at(-1)).toBe('user.deleted')
    expect(receiver.received).toHaveLength(4)
    expect(receiver.received[3]?.body.data).toEqual({ user: { id } })
    expect(receiver.rejected).toEqual([])
    await expect.poll(waiting).toEqual([])
    expect(outcomes).toEqual(['delivered', 'delivered', 'delivered', 'delivered'])
  })

  it('have the fields of a user that are for programs, and follow from a change of these only', async () => {
    const id = await addUser(database)
    type Queued = { type: string; data: { user: Record<string, unknown> } }
    const queued = () => database.query<Queued>('delete from outgoing_webhooks returning type, data')
    const [created] = await queued()
    expect(Object.keys(created?.data.user ?? {}).sort()).toEqual(Object.keys(ServiceUser.properties).sort())
    for (const field of builtInFieldNames) {
      await database.query(`update users set ${field} = $2 where id = $1`, [id, 'de'])
      const told = (await queued()).map(({ type, data }) => [type, data.user[field]])
      expect(told, field).toEqual(builtInFields[field].forPrograms ? [['user.updated', 'de']] : [])
    }
  })

  it('are not written for a change that is rolled back, or while no receiver is set', async () => {
    await database
      .transaction(async (sql) => {
        await addUser(sql)
        throw new Error('no')
      })
      .catch(() => undefined)
    expect(await waiting()).toEqual([])
    await database.query('delete from webhooks_wanted')
    const id = await addUser(database)
    await webhooksTo(receiver).queue(database, 'factor.changed', { user: { id }, factor: 'password' })
    await database.query('delete from users')
    expect(await waiting()).toEqual([])
  })

  it('of a deleted user go, except that it was deleted', async () => {
    const id = await addUser(database)
    await webhooksTo(receiver).queue(database, 'factor.changed', { user: { id }, factor: 'password' })
    expect(await waiting()).toHaveLength(2)
    await database.query('delete from users where id = $1', [id])
    expect(await waiting()).toMatchObject([{ type: 'user.deleted', userId: id }])
  })

  it('are tried again with the same id and body until the receiver takes them', async () => {
    const answers = [500, 302, 200]
    receiver.answerWith((response) => {
      const status = answers.shift() ?? 500
      response.writeHead(status, { location: 'http://127.0.0.1:9/private' }).end()
    })
    await addUser(database)
    const webhooks = webhooksTo(receiver)
    webhooks.start()
    await expect.poll(() => outcomes).toEqual(['failed'])
    expect((await waiting())[0]).toMatchObject({ attempts: 1, failure: 'answered 500' })
    for (const expected of [2, 3]) {
      clock.advance(1 * hours)
      webhooks.wake()
      await expect.poll(() => outcomes.length).toBe(expected)
    }
    expect(outcomes).toEqual(['failed', 'failed', 'delivered'])
    expect(new Set(receiver.received.map(({ id }) => id)).size).toBe(1)
    expect(new Set(receiver.received.map(({ body }) => JSON.stringify(body))).size).toBe(1)
    expect(lines.join()).toContain('answered 302')
    expect(lines.join()).not.toContain('example.com')
  })

  it('are put off when the receiver is silent, and go on when one of them is refused', async () => {
    receiver.answerWith(() => undefined)
    await addUser(database)
    const silent = webhooksTo(receiver, { totalTimeout: 200 })
    silent.start()
    await expect.poll(() => lines.join()).toContain('"reason":"timeout"')
    await silent.stop()
    const [first] = receiver.received
    receiver.answerWith((response, { id }) => response.writeHead(id === first?.id ? 422 : 200).end())
    clock.advance(1 * hours)
    for (let at = 0; at < 10; at += 1) await addUser(database)
    webhooksTo(receiver).start()
    await expect.poll(() => outcomes.filter((each) => each === 'delivered').length).toBe(10)
    await expect.poll(waiting).toMatchObject([{ id: first?.id, failure: 'answered 422' }])
  })

  it('stop at a receiver that answers 410, until they are retried or the service is restarted', async () => {
    const delivered = () => outcomes.filter((each) => each === 'delivered').length
    const gone = (response: ServerResponse) => response.writeHead(410).end()
    receiver.answerWith(gone)
    await addUser(database)
    const [webhooks, other] = [webhooksTo(receiver), webhooksTo(receiver, {}, await store.another())]
    webhooks.start()
    await expect.poll(() => lines.join()).toContain('410: nothing is sent')
    receiver.answerWith()
    for (let at = 0; at < 3; at += 1) await addUser(database)
    other.start()
    await other.stop()
    expect(receiver.types()).toHaveLength(1)
    expect(await webhooks.retryAll()).toBe(4)
    webhooks.wake()
    await expect.poll(delivered).toBe(4)
    receiver.answerWith(gone)
    await addUser(database).then(() => webhooks.wake())
    await expect.poll(webhooks.stoppedSince).toBeInstanceOf(Date)
    receiver.answerWith()
    clock.advance(1 * hours)
    await webhooksTo(receiver).subscribe()
    webhooks.wake()
    await expect.poll(delivered).toBe(5)
  })

  it('are given up after the last pause, and can be retried', async () => {
    receiver.answerWith((response) => response.writeHead(503).end())
    await addUser(database)
    await database.query('update outgoing_webhooks set attempts = $1', [pauses.length])
    const webhooks = webhooksTo(receiver)
    webhooks.start()
    await expect.poll(() => outcomes).toEqual(['given_up'])
    await expect.poll(() => lines.join()).toContain('webhook given up')
    expect(await waiting()).toMatchObject([{ nextAttemptAt: null, failure: 'answered 503' }])
    expect(await webhooks.count()).toEqual({ waiting: 0, givenUp: 1 })
    receiver.answerWith()
    expect(await webhooks.retryAll()).toBe(1)
    webhooks.wake()
    await expect.poll(() => outcomes).toEqual(['given_up', 'delivered'])
  })

  it('are signed with each secret while one is replaced', async () => {
    const newer = await startWebhookReceiver(newWebhookSecret())
    ends.push(newer.stop)
    const secrets = [newer.secret, receiver.secret]
    await addUser(database)
    const first = webhooksTo({ url: receiver.url, secrets })
    first.start()
    await expect.poll(() => outcomes.length).toBe(1)
    await first.stop()
    await addUser(database)
    webhooksTo({ url: newer.url, secrets }).start()
    await expect.poll(() => outcomes).toEqual(['delivered', 'delivered'])
    expect([receiver, newer].map(({ received, rejected }) => [received.length, rejected.length])).toEqual([
      [1, 0],
      [1, 0],
    ])
    expect(String(newer.received[0]?.headers['webhook-signature']).split(' ')).toHaveLength(2)
  })

  it('are sent once by two senders at work together, a few at a time', async () => {
    let [together, most] = [0, 0]
    receiver.answerWith((response) => {
      together += 1
      most = Math.max(most, together)
      setTimeout(() => {
        together -= 1
        response.end()
      }, 5)
    })
    await Promise.all(Array.from({ length: 40 }, () => addUser(database)))
    webhooksTo(receiver).start()
    webhooksTo(receiver, {}, await store.another()).start()
    await expect.poll(() => outcomes.length).toBe(40)
    expect(receiver.received).toHaveLength(40)
    expect(new Set(receiver.received.map(({ id }) => id)).size).toBe(40)
    expect(most).toBeLessThanOrEqual(8)
  })

  it('wait for a receiver that is away, and reach it when it is back', async () => {
    const closed = createServer().listen(0, '127.0.0.1')
    await new Promise((resolve) => closed.once('listening', resolve))
    const { port } = closed.address() as AddressInfo
    await new Promise((resolve) => closed.close(resolve))
    await addUser(database)
    const webhooks = webhooksTo({ url: `http://127.0.0.1:${port}/` })
    webhooks.start()
    await expect.poll(() => lines.join()).toContain('"reason":"unreachable"')
    const back = await startWebhookReceiver(receiver.secret, port)
    ends.push(back.stop)
    clock.advance(1 * hours)
    webhooks.wake()
    await expect.poll(back.types).toEqual(['user.created'])
  })

  it('are forgotten after 30 days', async () => {
    await addUser(database)
    webhooksTo(receiver)
    const purge = createExpiredRows({ clock }).find(({ name }) => name === 'purge outgoing_webhooks')
    clock.advance(29 * days)
    expect(await purge?.run(database, 10)).toBe(0)
    clock.advance(2 * days)
    expect(await purge?.run(database, 10)).toBe(1)
  })
})

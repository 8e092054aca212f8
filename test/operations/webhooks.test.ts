import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { checkWebhooks } from '../../src/commands/doctor/outside.js'
import { loadConfig } from '../../src/settings/config.js'
import { type CommandStore, openCommandStore } from '../support/stores.js'
import { latchkey } from '../support/terminal.js'
import { newWebhookSecret, startWebhookReceiver } from '../support/webhook-receiver.js'

let store: CommandStore
beforeAll(async () => {
  store = await openCommandStore()
})
afterAll(() => store.drop())
beforeEach(async () => {
  await store.database.query('delete from outgoing_webhooks')
  await store.database.query(
    `insert into outgoing_webhooks (type, user_id, data, attempts, next_attempt_at, failure, created_at)
     values ('user.created', gen_random_uuid(), '{}', 13, null, 'answered 500', now() - interval '4 days'),
            ('user.updated', gen_random_uuid(), '{}', 2, now() + interval '1 hour', 'timeout', now())`,
  )
})

describe('latchkey webhooks', () => {
  it('lists what waits or was given up, and why', async () => {
    const { code, out } = await latchkey(store, ['webhooks', 'list'])
    expect(code).toBe(0)
    expect(out).toMatch(/user\.created .* 13 .* given up +answered 500\n.*user\.updated .* 2 .*timeout/)
    const json = await latchkey(store, ['webhooks', 'list', '--limit', '1', '--json'])
    expect(JSON.parse(json.out)).toMatchObject({ type: 'user.created', attempts: 13, nextAttempt: null })
    expect(json.err).toContain('use --limit')
  })

  it('makes everything due again', async () => {
    expect((await latchkey(store, ['webhooks', 'retry'])).out).toBe('2 webhooks are due now.\n')
    const due = await store.database.query(
      'select 1 from outgoing_webhooks where attempts = 0 and next_attempt_at <= now()',
    )
    expect(due).toHaveLength(2)
    await store.database.query('delete from outgoing_webhooks')
    expect((await latchkey(store, ['webhooks', 'retry', '--json'])).out).toBe('{"due":0}\n')
    expect((await latchkey(store, ['webhooks', 'list'])).out).toBe('No webhook waits.\n')
  })

  it('counts those that were never tried too, and says that nothing is sent until it starts that again', async () => {
    await store.database.query('delete from webhooks_wanted')
    await store.database.query('insert into webhooks_wanted values (true, now(), now())')
    await store.database.query(
      "insert into outgoing_webhooks (type, user_id, data) values ('user.deleted', gen_random_uuid(), '{}')",
    )
    const stopped =
      /^Nothing is sent since \d{4}-.*: the receiver answered 410\. `latchkey webhooks retry` starts sending again\.\n$/
    expect((await latchkey(store, ['webhooks', 'list'])).err).toMatch(stopped)
    expect((await latchkey(store, ['webhooks', 'retry'])).out).toBe('3 webhooks are due now.\n')
    expect((await latchkey(store, ['webhooks', 'list'])).err).toBe('')
  })
})

describe("doctor's line about webhooks", () => {
  const check = (settings: Record<string, string>) =>
    checkWebhooks(loadConfig({ NODE_ENV: 'test', ...settings }), store.database)

  it('says that they are off, were given up, or that the receiver cannot be reached', async () => {
    expect(await check({})).toEqual({ level: 'ok', says: 'off: WEBHOOK_URL is not set' })
    const receiver = await startWebhookReceiver()
    const on = { WEBHOOK_URL: receiver.url, WEBHOOK_SECRET: newWebhookSecret(), WEBHOOK_ALLOW_PRIVATE: 'true' }
    expect(await check(on)).toEqual({
      level: 'warning',
      says: '1 webhook was given up: `latchkey webhooks list` says why',
    })
    await store.database.query('delete from outgoing_webhooks')
    await store.database.query('delete from webhooks_wanted')
    await store.database.query('insert into webhooks_wanted values (true, now(), now())')
    expect(await check(on)).toMatchObject({ level: 'warning', says: expect.stringContaining('answered 410') })
    await store.database.query('update webhooks_wanted set stopped_at = null')
    expect(await check(on)).toEqual({ level: 'ok', says: `127.0.0.1:${receiver.port} answers` })
    await receiver.stop()
    expect(await check(on)).toEqual({
      level: 'error',
      says: `127.0.0.1:${receiver.port} cannot be reached: unreachable`,
    })
  })
})

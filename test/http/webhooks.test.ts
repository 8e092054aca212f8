import type { ServerResponse } from 'node:http'
import { Compile } from 'typebox/compile'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { type WebhookType, webhookBody, webhookTypes } from '#contract/webhooks.js'
import { goodPassword, type Latchkey, startLatchkey } from '../support/latchkey.js'
import { startWebhookReceiver, type WebhookReceiver } from '../support/webhook-receiver.js'

let receiver: WebhookReceiver
let latchkey: Latchkey
let idOf: (username: string) => Promise<string | undefined>

beforeAll(async () => {
  receiver = await startWebhookReceiver()
  const settings = { WEBHOOK_URL: receiver.url, WEBHOOK_SECRET: receiver.secret, WEBHOOK_ALLOW_PRIVATE: 'true' }
  latchkey = await startLatchkey({ settings })
  idOf = async (username) => {
    const [row] = await latchkey.sql.query<{ id: string }>('select id from users where username = $1', [username])
    return row?.id
  }
})
beforeEach(() => receiver.answerWith())
afterAll(async () => {
  await latchkey.stop()
  await receiver.stop()
})

const newPassword = 'copper-Meadow-47-lighthouse'
const webhooksOf = (id: string | undefined) => receiver.received.filter(({ body }) => body.data.user.id === id)

describe('webhooks of the service', () => {
  it('come for each type of the contract, in its shape, without a secret', async () => {
    const ada = await latchkey.signedUp('ada')
    const id = await idOf('ada')
    const passwords = { currentPassword: goodPassword, newPassword }
    const changed = await ada.act('/api/auth/change-password', passwords)
    expect(changed.status).toBe(204)
    const old = ada.copy()
    for (const _ of [1, 2]) expect((await ada.post('/api/auth/refresh')).status).toBe(200)
    expect((await old.post('/api/auth/refresh')).status).toBe(401)
    await latchkey.sql.query("update users set name = 'Ada' where id = $1", [id])
    const expected = ['user.created', 'user.signed_in', 'factor.changed', 'session.theft_suspected', 'user.updated']
    await expect
      .poll(() => webhooksOf(id).map(({ type }) => type), { timeout: 60_000 })
      .toEqual(expect.arrayContaining(expected))
    await latchkey.sql.query('delete from users where id = $1', [id])
    await expect.poll(() => webhooksOf(id).map(({ type }) => type), { timeout: 60_000 }).toContain('user.deleted')

    expect(new Set(webhooksOf(id).map(({ type }) => type))).toEqual(new Set(Object.keys(webhookTypes)))
    for (const webhook of webhooksOf(id)) {
      const check = Compile(webhookBody(webhook.type as WebhookType))
      expect([...check.Errors(webhook.body)], webhook.type).toEqual([])
    }
    expect(receiver.rejected).toEqual([])
    const text = JSON.stringify(receiver.received)
    expect(text).not.toMatch(/\$2[aby]\$|password_?hash|token_/i)
    expect(text).not.toMatch(/eyJ[\w-]+\./)
    for (const secret of [goodPassword, newPassword, receiver.secret]) expect(text).not.toContain(secret)
  })

  it('do not delay a sign-in while the receiver is silent', async () => {
    await latchkey.signedUp('grace')
    const before = receiver.received.length
    const held: ServerResponse[] = []
    receiver.answerWith((response) => held.push(response))
    const login = () => latchkey.browser().post('/login', { username: 'grace', password: goodPassword })
    const answers = await Promise.all(Array.from({ length: 12 }, login))
    expect(answers.map(({ status }) => status)).toEqual(Array.from({ length: 12 }, () => 200))
    // At most four are under way, and none of them is answered yet.
    await expect.poll(() => receiver.received.length - before).toBeGreaterThan(0)
    expect(receiver.received.length - before).toBeLessThanOrEqual(4)
    receiver.answerWith()
    for (const response of held) response.end()
    await expect
      .poll(() => new Set(receiver.received.slice(before).map(({ id }) => id)).size)
      .toBeGreaterThanOrEqual(12)
  })

  it('stand in no log line, and neither does the secret', () => {
    const log = latchkey.logLines.join('')
    expect(log).not.toContain(receiver.secret)
    expect(log).not.toContain('from=latchkey')
  })
})

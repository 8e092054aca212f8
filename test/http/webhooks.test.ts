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

/** For each column of `users` a new value, and what a webhook then shows of the user. Null: applications are not told. */
const newValues: Record<string, { value: string; told: object | null }> = {
  id: { value: 'id', told: null },
  email: { value: "'new@example.com'", told: { email: 'new@example.com' } },
  email_key: { value: "'another@example.com'", told: null },
  email_proven: { value: 'not email_proven', told: null },
  username: { value: "'Linus'", told: { username: 'Linus' } },
  username_key: { value: "'another'", told: null },
  name: { value: "'Linus Example'", told: { name: 'Linus Example' } },
  groups: { value: "'{staff}'", told: { groups: ['staff'] } },
  fields: { value: `'{"department":"sales"}'`, told: { fields: { department: 'sales' } } },
  disabled_at: { value: 'now()', told: { disabled: true } },
  locked_down_at: { value: 'now()', told: null },
  password_distrusted: { value: 'not password_distrusted', told: null },
  // Its hash is replaced at a sign-in too. `factor.changed` is about a new password.
  password_hash: { value: "'another'", told: null },
  // Who made the account: no statement changes this.
  provider: { value: 'provider', told: null },
  created_at: { value: 'created_at', told: null },
  language: { value: "'fr'", told: null },
  email_claimed: { value: 'not email_claimed', told: null },
  first_factor_until: { value: 'now()', told: null },
  first_signed_in_at: { value: 'now()', told: null },
  undo_count: { value: 'undo_count + 1', told: null },
}

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

  it('tell of every column that applications are shown, and of no other', async () => {
    await latchkey.signedUp('linus')
    const id = await idOf('linus')
    const columns = await latchkey.sql.query<{ name: string }>(
      "select column_name as name from information_schema.columns where table_schema = 'public' and table_name = 'users'",
    )
    expect(columns.map(({ name }) => name).sort()).toEqual(Object.keys(newValues).sort())
    /** What a change queues. It is taken back, so that the changes do not mix. */
    const queuedBy = async (statement: string) => {
      const queued: { type: string; user: object }[] = []
      const undone = new Error('taken back')
      const changing = latchkey.sql.transaction(async (sql) => {
        await sql.query(statement, [id])
        queued.push(
          ...(await sql.query<{ type: string; user: object }>(
            "select type, data->'user' as user from outgoing_webhooks where user_id = $1 and xact = pg_current_xact_id()",
            [id],
          )),
        )
        throw undone
      })
      await expect(changing).rejects.toBe(undone)
      return queued
    }
    for (const [column, { value, told }] of Object.entries(newValues)) {
      const queued = await queuedBy(`update users set ${column} = ${value} where id = $1`)
      const expected = told ? [{ type: 'user.updated', user: expect.objectContaining({ id, ...told }) }] : []
      expect([column, queued]).toEqual([column, expected])
    }
    const link = "insert into identities (provider, subject, user_id, linked_at) values ('provider_b', 'x', $1, now())"
    expect(await queuedBy(link)).toMatchObject([{ type: 'user.updated', user: { id, providers: ['provider_b'] } }])
    await latchkey.sql.query(link, [id])
    expect(await queuedBy('delete from identities where user_id = $1')).toMatchObject([{ user: { providers: [] } }])
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

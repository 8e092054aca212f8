import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { days, minutes } from '../../src/lib/durations.js'
import { addAuthenticator } from '../support/authenticator.js'
import type { Browser } from '../support/client.js'
import { testPostgres } from '../support/databases.js'
import { createEmailChanges } from '../support/email-changes.js'
import { goodPassword, type Latchkey, startLatchkey } from '../support/latchkey.js'
import { untilBlocked } from '../support/waits-for-lock.js'
import { startWebhookReceiver, type WebhookReceiver } from '../support/webhook-receiver.js'

const secret = 'c6M0xkq2Vw9nYb4RtL8sHd3PzJ7gFa5EuN1oKi0WvTqXyBmCrGhSlDjZfUeApIxO'
const account = '/api/auth/account'
let receiver: WebhookReceiver
let latchkey: Latchkey

beforeAll(async () => {
  receiver = await startWebhookReceiver()
  const webhooks = { WEBHOOK_URL: receiver.url, WEBHOOK_SECRET: receiver.secret, WEBHOOK_ALLOW_PRIVATE: 'true' }
  latchkey = await startLatchkey({ settings: { JWT_SECRET: secret, ...webhooks } })
})
afterAll(async () => {
  await latchkey.stop()
  await receiver.stop()
})

const change = (tab: Browser, changes: object) => tab.send('PATCH', account, changes, { csrf: true })
const register = async (username: string) => {
  const registration = { username, email: `${Math.random()}@example.com`, password: goodPassword }
  return (await latchkey.browser().post('/api/auth/register', registration)).body.code
}
const login = async (username: string, tab = latchkey.browser()) => {
  const { status } = await tab.post('/login', { username, password: goodPassword })
  if (status !== 200) throw new Error(`Signing in as ${username} gave ${status}`)
  return tab
}
const claimsOf = ({ jar }: Browser) =>
  JSON.parse(Buffer.from(String(jar.get('refresh_token')).split('.')[1] ?? '', 'base64url').toString())
const idOf = async (tab: Browser) => ((await tab.get('/api/auth/me')).body.user as { id: string }).id
const usernameOf = async (tab: Browser) => ((await tab.get('/api/auth/me')).body.user as { username: string }).username
const webhooksAbout = (id: string) =>
  receiver.received.filter(({ body }) => body.data.user.id === id).map(({ type }) => type)

describe('the owner of an account', () => {
  it('changes the name at any time and the username in a fresh session; the next token has both', async () => {
    const tab = await latchkey.signedUp('ada')
    const lovelace = await idOf(tab)
    const other = await login('ada')
    const thief = tab.copy()
    await latchkey.advance(11 * minutes)
    const renamed = await change(tab, { username: 'lovelace' })
    expect([renamed.status, renamed.body.code]).toEqual([403, 'fresh_sign_in_required'])
    const named = await change(tab, { name: '  Ada\u202e Lovelace ' })
    expect(named.body.user).toMatchObject({ name: 'Ada Lovelace', username: 'ada' })
    expect((await thief.get('/api/auth/me')).status).toBe(401)
    await tab.act('/api/auth/step-up', { password: goodPassword })
    const both = await change(tab, { name: '', username: ' Lovelace ' })
    expect([both.status, both.body.user]).toMatchObject([200, { name: null, username: 'Lovelace' }])
    expect((await tab.get('/api/auth/verify')).headers.get('x-auth-username')).toBe('Lovelace')
    expect(await usernameOf(other)).toBe('ada')
    await other.post('/api/auth/refresh')
    expect(await usernameOf(other)).toBe('Lovelace')
    // A refresh token has the claims of the sign-in for the whole session, whatever rotates it.
    await tab.act('/api/auth/step-up', { password: goodPassword })
    await tab.post('/api/auth/refresh')
    expect([tab, other].map((each) => claimsOf(each).username)).toEqual(['ada', 'ada'])
    expect((await latchkey.mailTo('ada@example.com', /username at .* was changed/)).text).toContain(
      'from ada to Lovelace',
    )
    await expect.poll(() => webhooksAbout(lovelace)).toContain('user.updated')
    const { events } = (await tab.get('/api/auth/events')).body as { events: { kind: string }[] }
    expect(events.map(({ kind }) => kind)).toEqual(expect.arrayContaining(['name_changed', 'username_changed']))
  })

  it('is told what is wrong with a change', async () => {
    const tab = await latchkey.signedUp('curie')
    const codeFor = async (changes: object) => (await change(tab, changes)).body.code
    expect(await codeFor({})).toBe('bad_request')
    expect(await codeFor({ username: 7 })).toBe('bad_request')
    expect(await codeFor({ username: 'a@b' })).toBe('username_at_sign')
    expect(await codeFor({ username: 'сurie' })).toBe('username_alphabets')
    for (const name of ['../x', "a'--", '<b>', 'a/b', 'a b']) {
      expect([await codeFor({ username: name }), await register(name)]).toEqual(Array(2).fill('username_characters'))
    }
    expect([await codeFor({ username: '.curie' }), await register('curie-')]).toEqual(Array(2).fill('username_edges'))
    expect(await codeFor({ name: 'Marie', language: 'fr', username: 'Support' })).toBe('username_taken')
    expect((await tab.get(account)).body.user).toMatchObject({ name: null, language: 'en' })
    expect((await tab.send('PATCH', account, { name: 'x' })).body.code).toBe('invalid_csrf_token')
    expect((await latchkey.browser().send('PATCH', account, { name: 'x' })).status).toBe(401)
    expect(await usernameOf(tab)).toBe('curie')
  })

  it('keeps a username that could not be chosen today, and signs in with it', async () => {
    const tab = await latchkey.signedUp('odd')
    await latchkey.sql.query("update users set username = '<b>♥', username_key = '<b>♥' where username = 'odd'")
    const odd = await login('<B>♥')
    expect(await usernameOf(odd)).toBe('<b>♥')
    expect((await change(tab, { name: 'Odd', username: '<b>♥' })).body.user).toMatchObject({
      username: '<b>♥',
      name: 'Odd',
    })
    expect((await change(tab, { username: '<b>♥♥' })).body.code).toBe('username_characters')
    expect((await change(tab, { username: 'even' })).status).toBe(200)
  })

  it('keeps a former username for 30 days, and can have it back', async () => {
    const [tab, other] = [await latchkey.signedUp('former'), await latchkey.signedUp('other')]
    expect((await change(tab, { username: 'newer' })).status).toBe(200)
    for (const name of ['former', 'FORMER', 'ｆormer']) {
      expect(await register(name)).toBe('username_taken')
      expect((await change(other, { username: name })).body.code).toBe('username_taken')
    }
    const { newUsers } = latchkey.app.rooms
    const fromProvider = async (username: string, subject = username) => {
      const email = { email: `${subject}@example.org`, key: `${subject}@example.org` }
      const identity = { provider: 'provider_a', subject } as const
      return newUsers.createFromProvider({ email, username, name: null, identity })
    }
    expect(await fromProvider('former')).toMatchObject({ username: 'former-2' })
    expect(await fromProvider('admin')).toMatchObject({ username: 'admin-2' })
    expect(await fromProvider('ꓮꓓꓟꓲꓠ')).toMatchObject({ username: 'ꓮꓓꓟꓲꓠ-2' })
    expect((await change(tab, { username: 'Former' })).status).toBe(200)
    expect((await change(tab, { username: 'newer' })).status).toBe(200)
    await latchkey.advance(31 * days)
    expect(await fromProvider('former', 'later')).toMatchObject({ username: 'former' })
  })

  it('collects at most five former usernames', async () => {
    const tab = await latchkey.signedUp('many')
    for (const number of [1, 2, 3, 4, 5]) expect((await change(tab, { username: `many${number}` })).status).toBe(200)
    expect((await change(tab, { username: 'many6' })).body.code).toBe('too_many_usernames')
    expect((await change(tab, { username: 'MANY5' })).status).toBe(200)
    expect((await change(tab, { username: 'many' })).status).toBe(200)
    const { status, body, headers } = await change(tab, { username: 'many6' })
    expect([status, body.code, headers.get('retry-after')]).toEqual([409, 'too_many_usernames', null])
    await latchkey.advance(Date.parse(String(body.freeFrom)) - latchkey.clock.now().getTime())
    expect((await change(await login('many'), { username: 'many6' })).status).toBe(200)
  })

  it('loses no former name to a statement that waited for the change', async () => {
    await latchkey.signedUp('wanted')
    await latchkey.signedUp('greedy')
    const outside = testPostgres(String(latchkey.config.databaseUrl))
    const take = () => outside.query("update users set username_key = 'wanted' where username = 'greedy'")
    const { taken } = await latchkey.sql.transaction(async (sql) => {
      await sql.query(
        "insert into reserved_usernames select 'wanted', 'wanted', id, now() + interval '1 day' from users where username = 'wanted'",
      )
      await sql.query("update users set username = 'gone', username_key = 'gone' where username = 'wanted'")
      const refusal = take().catch((error: unknown) => error)
      await untilBlocked(outside)
      return { taken: refusal }
    })
    expect(await taken).toMatchObject({ code: '23505', constraint_name: 'users_username_taken' })
    await outside.close()
  })

  it('gets everything that is stored about the account, and no secret', async () => {
    const tab = await latchkey.registered('exported')
    const { recoveryCodes, secret: totp } = await addAuthenticator(tab, latchkey)
    await change(tab, { username: 'export' })
    await latchkey.sql.query("update sessions set provider = 'provider_a' where user_id = $1", [await idOf(tab)])
    await tab.act('/api/auth/email', { email: 'export@example.org' })
    const { headers, text, body } = await tab.get('/api/auth/export')
    expect(headers.get('content-disposition')).toBe('attachment; filename="account-data.json"')
    expect(body).toMatchObject({
      account: { username: 'export', email: 'exported@example.com', hasPassword: true },
      emailChange: { email: 'export@example.org' },
      formerEmails: [],
      registrations: [{ email: 'exported@example.com', confirmedAt: expect.any(String) }],
      invitations: [],
      formerUsernames: [{ username: 'exported' }],
      sessions: [{ username: 'exported', methods: ['pwd'], provider: 'provider_a' }],
      eventsComplete: true,
      factors: { recoveryCodes: { left: 10 } },
      events: expect.arrayContaining([expect.objectContaining({ kind: 'registered' })]),
      mails: expect.arrayContaining([expect.objectContaining({ kind: 'username-changed' })]),
    })
    // Which mail an address got that the user asked for would show whether it has an account.
    expect((body.mails as { to: string }[]).map(({ to }) => to)).not.toContain('export@example.org')
    for (const hidden of [...recoveryCodes, totp, goodPassword, '$2b$', 'eyJ', 'hash'])
      expect(text).not.toContain(hidden)
    await latchkey.advance(11 * minutes)
    expect((await tab.get('/api/auth/export')).body.code).toBe('fresh_sign_in_required')
    expect((await latchkey.browser().get('/api/auth/export')).status).toBe(401)
  })

  it('gets the mails to former addresses too, and learns that there are more events than the newest 10,000', async () => {
    const tab = await latchkey.signedUp('moved')
    await createEmailChanges(latchkey).change(tab, 'moved@example.org')
    await latchkey.sql.query(
      `insert into invitations (email_key, made_by, email, operator_hash, created_at, expires_at)
       values ($1, 'command line', $1, '\\x01', now(), now() + interval '1 year')`,
      ['moved@example.com'],
    )
    await latchkey.sql.query(
      `insert into events (id, kind, user_id, ip, user_agent, created_at)
       select gen_random_uuid(), 'signed_in', $1, '', '', now() from generate_series(1, 10000)`,
      [await idOf(tab)],
    )
    const { body } = await tab.get('/api/auth/export')
    expect(body).toMatchObject({
      formerEmails: [{ email: 'moved@example.com' }],
      invitations: [{ email: 'moved@example.com' }],
      mails: expect.arrayContaining([
        expect.objectContaining({ to: 'moved@example.com', kind: 'email-changed' }),
        expect.objectContaining({ to: 'moved@example.org', kind: 'confirm-email' }),
      ]),
      eventsComplete: false,
    })
    expect(body.events).toHaveLength(10_000)
  })
})

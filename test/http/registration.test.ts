import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { days, minutes } from '../../src/lib/durations.js'
import { goodPassword, type Latchkey, startLatchkey } from '../support/latchkey.js'
import { createMailLogins, mailLogin } from '../support/mail-login.js'

const tokenIn = (text: string) => /#token=([\w-]+)/.exec(text)?.[1]

describe('registering with a password', () => {
  let latchkey: Latchkey
  beforeAll(async () => {
    latchkey = await startLatchkey()
  })
  afterAll(() => latchkey.stop())

  const codeIn = (text: string) => /^\s*([A-Z0-9]{4}-[A-Z0-9]{4})\s*$/m.exec(text)?.[1]

  it('registers, proves the address, signs out and in again', async () => {
    const tab = latchkey.browser()
    const asked = await tab.post('/api/auth/register', {
      username: 'ada',
      email: 'ada@example.com',
      password: goodPassword,
      name: 'Ada Example',
    })
    expect(asked.status).toBe(202)
    expect((await tab.post('/login', { username: 'ada', password: goodPassword })).status).toBe(403)

    const { text } = await latchkey.mailTo('ada@example.com')
    expect(text).toMatch(new RegExp(`^${latchkey.url}/verify-email#token=[\\w-]{43}$`, 'm'))
    const verified = await tab.post('/api/auth/verify-email', { token: tokenIn(text) })
    expect(verified.body).toEqual({
      user: { id: expect.any(String), username: 'ada', email: 'ada@example.com', name: 'Ada Example' },
      accessTokenExpiresAt: expect.any(String),
    })
    expect((await tab.get('/api/auth/me')).body.user).toEqual({ id: expect.any(String), username: 'ada' })

    expect((await tab.act('/api/auth/logout')).status).toBe(204)
    expect((await tab.get('/api/auth/me')).status).toBe(401)
    for (const username of ['ada', 'ADA', 'ada@example.com', 'Ada@Example.COM']) {
      expect((await tab.post('/api/auth/login', { username, password: goodPassword })).status).toBe(200)
    }
  })

  it('lets only the browser that registered finish by the link alone', async () => {
    await latchkey
      .browser()
      .post('/api/auth/register', { username: 'bea', email: 'bea@example.com', password: goodPassword })
    const token = tokenIn((await latchkey.mailTo('bea@example.com')).text)
    const elsewhere = latchkey.browser()
    for (const body of [{}, { token, code: 'AAAA-AAAA' }])
      expect((await elsewhere.post('/api/auth/verify-email', body)).body.code).toBe('bad_request')
    expect((await elsewhere.post('/api/auth/verify-email', { token })).body.error).toBe('Password required')
    expect((await elsewhere.post('/api/auth/verify-email', { token, password: 'wrong' })).status).toBe(401)
    expect((await elsewhere.post('/api/auth/verify-email', { token, password: goodPassword })).status).toBe(200)
    expect((await elsewhere.post('/api/auth/verify-email', { token, password: goodPassword })).status).toBe(409)
  })

  it('takes the short code from the browser that registered, five times at most', async () => {
    const tab = latchkey.browser()
    await tab.post('/api/auth/register', { username: 'cy', email: 'cy@example.com', password: goodPassword })
    const code = codeIn((await latchkey.mailTo('cy@example.com')).text)
    expect(code).toBeDefined()
    expect((await latchkey.browser().post('/api/auth/verify-email', { code })).status).toBe(400)
    for (let wrong = 0; wrong < 4; wrong++) {
      expect((await tab.post('/api/auth/verify-email', { code: 'AAAA-AAAA' })).body.error).toBe('Invalid code')
    }
    const typed = code?.toLowerCase().replace('-', ' ')
    expect((await tab.post('/api/auth/verify-email', { code: typed })).status).toBe(200)

    const unlucky = latchkey.browser()
    await unlucky.post('/api/auth/register', { username: 'di', email: 'di@example.com', password: goodPassword })
    const mail = await latchkey.mailTo('di@example.com')
    const usedUp = { error: 'Invalid code', code: 'tries_used_up' }
    const guess = (code?: string) => unlucky.post('/api/auth/verify-email', { code: code ?? 'AAAA-AAAA' })
    for (let wrong = 0; wrong < 4; wrong++) expect((await guess()).body.code).toBe('invalid_code')
    expect((await guess()).body).toMatchObject(usedUp)
    // Another mail brings no more guesses. Its link is the way out, also in another browser.
    expect((await unlucky.post('/api/auth/verify-email/resend')).status).toBe(202)
    const known = tokenIn(mail.text)
    await expect.poll(async () => tokenIn((await latchkey.mailTo('di@example.com')).text)).not.toBe(known)
    expect((await guess(codeIn(mail.text))).body).toMatchObject(usedUp)
    const newest = await latchkey.mailTo('di@example.com')
    // A code that no longer works is not mailed.
    expect(codeIn(newest.text)).toBeUndefined()
    const token = tokenIn(newest.text)
    const phone = latchkey.browser()
    expect((await phone.post('/api/auth/verify-email', { token, password: goodPassword })).status).toBe(200)
  })

  it('says that the tries for the password are used up, and the browser that registered can still confirm', async () => {
    const tab = latchkey.browser()
    await tab.post('/api/auth/register', { username: 'max', email: 'max@example.com', password: goodPassword })
    const token = tokenIn((await latchkey.mailTo('max@example.com')).text)
    const elsewhere = (password: string) => latchkey.browser().post('/api/auth/verify-email', { token, password })
    for (let wrong = 0; wrong < 5; wrong++)
      expect((await elsewhere(`wrong ${wrong}`)).body.code).toBe('wrong_chosen_password')
    expect((await elsewhere(goodPassword)).body).toMatchObject({
      error: 'Invalid or expired link',
      code: 'password_tries_used_up',
    })
    expect((await tab.post('/api/auth/verify-email', { token })).status).toBe(200)
  })

  it.each([
    ['', 'a@example.com', 'username_length'],
    ['x'.repeat(300), 'a@example.com', 'username_length'],
    ['ok', '', 'email_shape'],
    ['ok', 'x@', 'email_shape'],
    ['ok', `${'x'.repeat(300)}@example.com`, 'email_shape'],
  ])('refuses the name %j or the email %j by the code of its own rule', async (username, email, code) => {
    const refused = await latchkey.browser().post('/api/auth/register', { username, email, password: goodPassword })
    expect([refused.status, refused.body.error, refused.body.code]).toEqual([400, 'Bad request', code])
  })

  it('needs a username, and the page asks for it', async () => {
    const email = 'nameless@example.com'
    const { status, body } = await latchkey.browser().post('/api/auth/register', { email, password: goodPassword })
    expect([status, body.code, body.message]).toEqual([400, 'bad_request', 'username is missing'])
    expect((await latchkey.browser().get('/register')).text).toContain('name="username"')
  })

  it('answers a registration for a taken address like any other and tells its owner by mail', async () => {
    await latchkey.registered('owner')
    const fresh = await latchkey
      .browser()
      .post('/api/auth/register', { username: 'new1', email: 'new1@example.com', password: goodPassword })
    const taken = await latchkey
      .browser()
      .post('/api/auth/register', { username: 'new2', email: 'OWNER@example.com', password: goodPassword })
    expect([taken.status, taken.body]).toEqual([fresh.status, fresh.body])
    expect(taken.setCookies.map((cookie) => cookie.replace(/=[\w-]+;/, ''))).toEqual(
      fresh.setCookies.map((cookie) => cookie.replace(/=[\w-]+;/, '')),
    )
    expect((await latchkey.mailTo('owner@example.com', /already/i)).text).not.toContain('token=')
  })

  it('refuses a taken username, whatever its case, and lets one of two at once win', async () => {
    await latchkey.registered('eve')
    const again = await latchkey
      .browser()
      .post('/api/auth/register', { username: 'EVE', email: 'e2@example.com', password: goodPassword })
    expect([again.status, again.body.error]).toEqual([409, 'Username taken'])

    const tabs = await Promise.all(
      ['Twin', 'tWIN'].map(async (username, index) => {
        const tab = latchkey.browser()
        const email = `twin${index}@example.com`
        await tab.post('/api/auth/register', { username, email, password: goodPassword })
        return { tab, token: tokenIn((await latchkey.mailTo(email)).text) }
      }),
    )
    const ends = await Promise.all(tabs.map(({ tab, token }) => tab.post('/api/auth/verify-email', { token })))
    expect(ends.map(({ status }) => status).sort()).toEqual([200, 409])
  })

  it('forgets a registration that was not proven within a day', async () => {
    const tab = latchkey.browser()
    await tab.post('/api/auth/register', { username: 'late', email: 'late@example.com', password: goodPassword })
    const token = tokenIn((await latchkey.mailTo('late@example.com')).text)
    await latchkey.advance(1 * days + 1 * minutes)
    expect((await tab.post('/api/auth/verify-email', { token })).status).toBe(400)
  })

  it('answers an account that is deleted before its first session begins like a link that has expired', async () => {
    await latchkey.sql.transaction((sql) =>
      sql.script(`create function delete_at_once() returns trigger language plpgsql as $$
          begin delete from users where id = new.id; return null; end $$;
        create constraint trigger deleted_at_once after insert on users deferrable initially deferred
          for each row when (new.username = 'mayfly') execute function delete_at_once();`),
    )
    const tab = latchkey.browser()
    const email = 'mayfly@example.com'
    await tab.post('/api/auth/register', { username: 'mayfly', email, password: goodPassword })
    const { text } = await latchkey.mailTo(email)
    const { status, body } = await tab.post('/api/auth/verify-email', { token: tokenIn(text) })
    expect([status, body.code]).toEqual([400, 'invalid_link'])
  })

  it('rejects a password that breaks the rules with the sentence of each rule', async () => {
    const answer = await latchkey
      .browser()
      .post('/api/auth/register', { username: 'weak', email: 'weak@example.com', password: 'short' })
    expect(answer.status).toBe(422)
    expect(answer.body).toMatchObject({ valid: false })
    expect((answer.body.errors as string[]).slice(0, 4)).toEqual([
      'Password must be at least 8 characters',
      'Password must contain uppercase letters',
      'Password must contain numbers',
      'Password must contain special characters',
    ])
  })
})

describe('registering by email alone (USERNAMES=from_email)', () => {
  let latchkey: Latchkey
  beforeAll(async () => {
    latchkey = await startLatchkey({ settings: { USERNAMES: 'from_email', MAIL_SIGN_IN: 'on' } })
  })
  afterAll(() => latchkey.stop())

  const begin = async (email: string, more: object = {}) => {
    const tab = latchkey.browser()
    return { tab, email, asked: await tab.post('/api/auth/register', { email, password: goodPassword, ...more }) }
  }
  const finish = async ({ tab, email }: Awaited<ReturnType<typeof begin>>) =>
    tab.post('/api/auth/verify-email', { token: tokenIn((await latchkey.mailTo(email, /verify-email#/)).text) })
  const nameIn = ({ body }: { body: Record<string, unknown> }) => (body.user as { username?: string })?.username
  const nameOf = async (email: string, more: object = {}) => nameIn(await finish(await begin(email, more)))

  it('asks for no username on the page, from its first card on', async () => {
    const { text } = await latchkey.browser().get('/register')
    expect(text).toContain('name="email"')
    expect(text).not.toContain('name="username"')
  })

  it.each([
    ['q@example.com', 'q'],
    ["O'Neil+news@example.com", 'ONeilnews'],
    ['a..b@example.com', undefined],
    ['_dots.and-more_@example.com', 'dots.and-more'],
    ['+!+@example.com', 'user'],
    ['{}@example.com', 'user-2'],
    ['admin@example.com', 'admin-2'],
    [`${'x'.repeat(64)}@example.com`, 'x'.repeat(56)],
    ['"a b"@example.com', undefined],
    ['zoë@example.com', undefined],
  ])('makes of %s the username %s', async (email, username) => {
    const begun = await begin(email)
    if (username === undefined) expect([begun.asked.status, begun.asked.body.code]).toEqual([400, 'email_shape'])
    else expect(nameIn(await finish(begun))).toBe(username)
  })

  it('answers the same whether the name or the address is taken, and gives each of several at once a name', async () => {
    const hosts = ['com', 'net', 'org', 'info']
    const begun = await Promise.all(hosts.map((host) => begin(`same@example.${host}`)))
    const finished = await Promise.all(begun.map(finish))
    expect(finished.map(({ status }) => status)).toEqual([200, 200, 200, 200])
    expect(finished.map(nameIn).sort()).toEqual(['same', 'same-2', 'same-3', 'same-4'])
    const later = await Promise.all(['same@example.com', 'same@example.eu', 'fresh@example.eu'].map((to) => begin(to)))
    expect(later.map(({ asked }) => [asked.status, asked.text])).toEqual(
      later.map(() => [begun[0]?.asked.status, begun[0]?.asked.text]),
    )
  })

  it('takes a username that is sent as if users chose it', async () => {
    expect(await nameOf('carla@example.com', { username: 'carlotta' })).toBe('carlotta')
    const refusals = []
    for (const username of ['Carlotta', 'admin', '', 'a b'])
      refusals.push((await begin('dan@example.com', { username })).asked.body.code)
    expect(refusals).toEqual(['username_taken', 'username_taken', 'username_length', 'username_characters'])
  })

  it('makes one for the invited and for those who register by a mailed code', async () => {
    const email = 'same@invited.example.com'
    await latchkey.app.rooms.invitations.invite({ email, key: email }, { ip: 'command line', userAgent: '' })
    const invite = tokenIn((await latchkey.mailTo(email, /invite#/)).text)
    expect(nameIn((await begin(email, { invite, signIn: true })).asked)).toBe('same-5')

    const logins = createMailLogins(latchkey)
    const tabs = await Promise.all(
      ['mail@example.com', 'mail@example.org'].map(async (address) => {
        const { tab, code } = await logins.mailed(address)
        await logins.confirm(tab, { code })
        return tab
      }),
    )
    const entered = await Promise.all(tabs.map((tab) => tab.post(`${mailLogin}/registration`, {})))
    expect(entered.map(nameIn).sort()).toEqual(['mail', 'mail-2'])
  })
})

import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { days, minutes } from '../../src/lib/durations.js'
import { goodPassword, type Latchkey, startLatchkey } from '../support/latchkey.js'

describe('signing in with a password', () => {
  let latchkey: Latchkey
  beforeAll(async () => {
    latchkey = await startLatchkey()
  })
  afterAll(() => latchkey.stop())

  const tokenIn = (text: string) => /#token=([\w-]+)/.exec(text)?.[1]
  const codeIn = (text: string) => /^\s*([A-Z0-9]{4}-?[A-Z0-9]{4})\s*$/m.exec(text)?.[1]

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

  it('sets the two session cookies and puts no token into a body', async () => {
    await latchkey.signedUp('cookies')
    const tab = latchkey.browser()
    const { setCookies, text } = await tab.post('/login', { username: 'cookies', password: goodPassword })
    expect(setCookies.map((cookie) => cookie.replace(/=[\w.-]+;/, '=…;'))).toEqual([
      'access_token=…; Max-Age=900; Path=/; HttpOnly; SameSite=Strict',
      'refresh_token=…; Max-Age=2592000; Path=/; HttpOnly; SameSite=Strict',
    ])
    for (const token of [tab.jar.get('access_token'), tab.jar.get('refresh_token')]) expect(text).not.toContain(token)
  })

  it('answers an unknown user, a wrong password and a refused one alike', async () => {
    await latchkey.signedUp('alike')
    const tab = latchkey.browser()
    const answers = [
      await tab.post('/login', { username: 'nobody', password: goodPassword }),
      await tab.post('/login', { username: 'alike', password: `${goodPassword}x` }),
      await tab.post('/login', { username: 'alike@example.com', password: 'x' }),
    ]
    for (const answer of answers) {
      const { error, message, ...more } = answer.body
      expect([answer.status, error, message]).toEqual([401, 'Invalid credentials', 'Username or password is incorrect'])
      expect([more, answer.setCookies]).toEqual([{ code: 'invalid_credentials' }, []])
      expect([...answer.headers.keys()]).toEqual([...(answers[0]?.headers.keys() ?? [])])
    }
  })

  it('takes a space at the end of a password for what it is', async () => {
    await latchkey.signedUp('spaced', { password: `${goodPassword} ` })
    const tab = latchkey.browser()
    expect((await tab.post('/login', { username: 'spaced', password: goodPassword })).status).toBe(401)
    expect((await tab.post('/login', { username: 'spaced', password: `${goodPassword} ` })).status).toBe(200)
  })

  it('lets nobody but the browser that registered finish by the link alone', async () => {
    await latchkey
      .browser()
      .post('/api/auth/register', { username: 'bea', email: 'bea@example.com', password: goodPassword })
    const token = tokenIn((await latchkey.mailTo('bea@example.com')).text)
    const elsewhere = latchkey.browser()
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
    expect((await tab.post('/api/auth/verify-email', { code: code?.toLowerCase() })).status).toBe(200)

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
    const token = tokenIn((await latchkey.mailTo('di@example.com')).text)
    const phone = latchkey.browser()
    expect((await phone.post('/api/auth/verify-email', { token, password: goodPassword })).status).toBe(200)
  })

  it('answers a registration for a taken address like any other and tells its owner by mail', async () => {
    await latchkey.signedUp('owner')
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
    await latchkey.signedUp('eve')
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
    latchkey.clock.advance(1 * days + 1 * minutes)
    expect((await tab.post('/api/auth/verify-email', { token })).status).toBe(400)
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

  it('resets a password by mail: once, ends every session, and signs nobody in', async () => {
    const tab = await latchkey.signedUp('fay')
    const newPassword = 'amber-Meadow-27-kettle'
    const known = await latchkey.browser().post('/reset-password', { email: 'FAY@example.com' })
    const unknown = await latchkey.browser().post('/api/auth/reset-password', { email: 'nobody@example.com' })
    expect([known.status, known.body]).toEqual([unknown.status, unknown.body])
    expect(known.status).toBe(202)
    const token = tokenIn((await latchkey.mailTo('fay@example.com', /reset-password#/)).text)

    const tries = await Promise.all(
      Array.from({ length: 20 }, () =>
        latchkey.browser().post('/api/auth/reset-password/confirm', { token, password: newPassword }),
      ),
    )
    expect(tries.filter(({ status }) => status === 204)).toHaveLength(1)
    expect(tries.filter(({ status }) => status === 400)).toHaveLength(19)
    for (const { setCookies } of tries) expect(setCookies).toEqual([])

    expect((await tab.post('/api/auth/refresh')).status).toBe(401)
    expect((await tab.post('/login', { username: 'fay', password: goodPassword })).status).toBe(401)
    expect((await tab.post('/login', { username: 'fay', password: newPassword })).status).toBe(200)
    await latchkey.mailTo('fay@example.com', /was (reset|changed)|has been/i)
  })

  it('forgets a reset after 30 minutes, and when a newer one was asked for', async () => {
    await latchkey.signedUp('gus')
    const tokens: (string | undefined)[] = []
    for (const round of [1, 2]) {
      await latchkey.browser().post('/reset-password', { email: 'gus@example.com' })
      await expect
        .poll(
          () =>
            latchkey.mails().filter(({ to, text }) => to === 'gus@example.com' && text.includes('reset-password#'))
              .length,
        )
        .toBe(round)
      tokens.push(tokenIn((await latchkey.mailTo('gus@example.com', /reset-password#/)).text))
    }
    const confirm = (token: string | undefined) =>
      latchkey.browser().post('/api/auth/reset-password/confirm', { token, password: 'amber-Meadow-27-kettle' })
    expect((await confirm(tokens[0])).status).toBe(400)
    latchkey.clock.advance(30 * minutes + 1000)
    expect((await confirm(tokens[1])).status).toBe(400)
  })

  it('a change of the password makes a reset mail worthless', async () => {
    const tab = await latchkey.signedUp('lia')
    await latchkey.browser().post('/reset-password', { email: 'lia@example.com' })
    const token = tokenIn((await latchkey.mailTo('lia@example.com', /reset-password#/)).text)
    await tab.act('/api/auth/change-password', {
      currentPassword: goodPassword,
      newPassword: 'copper-Willow-83-anchor',
    })
    const late = await latchkey.browser().post('/api/auth/reset-password/confirm', { token, password: goodPassword })
    expect(late.status).toBe(400)
  })

  it('changes a password, ends the other sessions and keeps this one', async () => {
    const tab = await latchkey.signedUp('hal')
    const other = latchkey.browser()
    await other.post('/login', { username: 'hal', password: goodPassword })
    const newPassword = 'copper-Willow-83-anchor'
    expect((await tab.act('/api/auth/change-password', { currentPassword: 'wrong', newPassword })).status).toBe(401)
    expect(
      (await tab.act('/api/auth/change-password', { currentPassword: goodPassword, newPassword: 'short' })).status,
    ).toBe(422)
    expect((await tab.act('/api/auth/change-password', { currentPassword: goodPassword, newPassword })).status).toBe(
      204,
    )
    expect((await tab.post('/api/auth/refresh')).status).toBe(200)
    expect((await other.post('/api/auth/refresh')).status).toBe(401)
    await latchkey.mailTo('hal@example.com', /password/i)
  })

  it('shows the account, its sessions and its events, and ends a session', async () => {
    const tab = await latchkey.signedUp('ida')
    const phone = latchkey.browser()
    const userAgent = 'Mozilla/5.0 (Windows NT 10.0; Win64; x64; rv:140.0) Gecko/20100101 Firefox/140.0'
    await phone.post(
      '/login',
      { username: 'ida', password: goodPassword },
      { headers: { 'user-agent': userAgent }, address: '192.0.2.7' },
    )
    expect((await tab.get('/api/auth/account')).body.user).toMatchObject({
      email: 'ida@example.com',
      username: 'ida',
      provider: null,
      providers: [],
      hasPassword: true,
    })
    const { sessions } = (await tab.get('/api/auth/sessions')).body as {
      sessions: Record<string, unknown>[]
    }
    expect(sessions).toHaveLength(2)
    const theirs = sessions.find(({ current }) => !current)
    expect(theirs).toMatchObject({ ip: '192.0.2.7', device: 'Firefox on Windows', userAgent })

    expect((await tab.remove(`/api/auth/sessions/${theirs?.id}`)).status).toBe(204)
    expect((await tab.remove(`/api/auth/sessions/${theirs?.id}`)).status).toBe(404)
    expect((await phone.post('/api/auth/refresh')).status).toBe(401)

    const { events } = (await tab.get('/api/auth/events')).body as { events: { kind: string }[] }
    expect(events.map(({ kind }) => kind)).toEqual(['session_ended', 'signed_in', 'registered'])
  })

  it('ends every session at once', async () => {
    const tab = await latchkey.signedUp('jo')
    const other = latchkey.browser()
    await other.post('/login', { username: 'jo', password: goodPassword })
    expect((await tab.act('/api/auth/logout-all')).status).toBe(204)
    expect((await other.post('/api/auth/refresh')).status).toBe(401)
  })

  it('serves content to who is signed in, and nobody else', async () => {
    const tab = await latchkey.signedUp('kim')
    const { content } = (await tab.get('/api/content')).body as { content: { slug: string }[] }
    expect(content.map(({ slug }) => slug)).toContain('welcome')
    expect((await tab.get('/api/content/welcome')).body).toMatchObject({ slug: 'welcome', body: expect.any(String) })
    expect((await tab.get('/api/content/nothing')).status).toBe(404)
    const { body } = await latchkey.browser().get('/api/content')
    expect(body).toEqual({ error: 'Not authenticated', message: 'Sign in to continue', code: 'not_authenticated' })
  })
})

import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { refuse } from '#contract/outcome.js'
import { days, hours, minutes } from '../../src/lib/durations.js'
import { provePassword } from '../../src/sign-in/password.routes.js'
import type { Browser } from '../support/client.js'
import { goodPassword, type Latchkey, startLatchkey } from '../support/latchkey.js'

const otherPassword = 'amber-Meadow-27-kettle'

describe('a registration that is not confirmed yet', () => {
  let latchkey: Latchkey
  beforeAll(async () => {
    latchkey = await startLatchkey({ settings: { LOGIN_LIMIT: '5/15m' } })
  })
  afterAll(() => latchkey.stop())

  const addressOf = (username: string) => `${username}@example.com`
  type Given = { email?: string; password?: string; name?: string }
  const register = async (username: string, given: Given = {}) => {
    const tab = latchkey.browser()
    const asked = { username, email: addressOf(username), password: goodPassword, ...given }
    const { status } = await tab.post('/api/auth/register', asked)
    expect(status).toBe(202)
    return tab
  }
  const mailsTo = (email: string, pattern = /#token=/) =>
    latchkey.mails().filter(({ to, text }) => to === email && pattern.test(text))
  /** The tokens of the mails to an address, oldest first, once there are this many. */
  const tokensTo = async (email: string, count: number) => {
    await expect.poll(() => mailsTo(email).length).toBe(count)
    return mailsTo(email)
      .map(({ text }) => /#token=([\w-]+)/.exec(text)?.[1])
      .reverse()
  }
  const codeIn = (text = '') => /^\s*([A-Z0-9]{4}-[A-Z0-9]{4})\s*$/m.exec(text)?.[1]
  const loginFrom = (address: string, tab: Browser, username: string, password = goodPassword) =>
    tab.post('/login', { username, password }, { address })
  const login = (tab: Browser, username: string, password = goodPassword) =>
    loginFrom(`198.51.100.${username.length}`, tab, username, password)
  const check = async (tab: Browser, body: object = {}) => (await tab.post('/api/auth/verify-email/check', body)).body
  const verify = (tab: Browser, body: object) => tab.post('/api/auth/verify-email', body)
  const resend = (tab: Browser) => tab.post('/api/auth/verify-email/resend')
  const stateOnly = (state: string) => ({ state, passwordRequired: false, newerMail: false, codeUsable: false })
  const waiting = stateOnly('waiting')

  it('says "Confirm your email first" in the browser that registered and nowhere else, and sends the mail again', async () => {
    const tab = await register('una')
    for (const [index, username] of ['una', addressOf('una'), 'UNA', addressOf('Una')].entries()) {
      const answer = await loginFrom(`198.51.100.${100 + index}`, tab, username)
      expect([answer.status, answer.body]).toEqual([
        403,
        { error: 'Email not confirmed', message: 'Confirm your email first', code: 'email_not_confirmed' },
      ])
      expect(answer.headers.get('ratelimit-remaining')).toBe('4')
    }
    expect((await login(tab, 'una', otherPassword)).body.error).toBe('Invalid credentials')
    const phone = latchkey.browser()
    expect((await login(phone, 'una')).body.error).toBe('Invalid credentials')
    expect((await resend(phone)).body.error).toBe('No registration waiting')

    expect(await resend(tab)).toMatchObject({ status: 202, body: { message: 'A mail is on its way' } })
    const [older, newest] = await tokensTo(addressOf('una'), 2)
    for (const { text } of mailsTo(addressOf('una'))) expect(text).toContain('24 hours')
    expect(await check(tab, { token: older })).toEqual(stateOnly('replaced'))
    expect((await verify(tab, { token: older })).body.error).toBe('Link replaced')
    expect(await check(tab, { token: newest })).toEqual(waiting)
    expect((await verify(tab, { token: newest })).status).toBe(200)
    for (const token of [older, newest]) expect(await check(tab, { token })).toEqual(stateOnly('confirmed'))
  })

  it('a stranger who registered an address too sees nothing of its owner: no registration, no confirmation, no deletion', async () => {
    const stranger = await register('eve', { email: addressOf('ula'), password: otherPassword })
    const headersOf = ({ headers }: { headers: Headers }) =>
      [...headers].filter(([name]) => name.startsWith('ratelimit') || name === 'set-cookie')
    let networks = 0
    /** Everything that the stranger can ask, each time from a network that has not asked before. */
    const look = async () => {
      networks += 1
      const from = (part: number) => `203.0.113.${networks * 10 + part}`
      const answers = [
        await loginFrom(from(1), stranger, addressOf('ula'), otherPassword),
        await loginFrom(from(2), stranger, 'eve', otherPassword),
        await loginFrom(from(3), latchkey.browser(), addressOf('ula'), otherPassword),
        await loginFrom(from(4), stranger, addressOf('ula'), 'a guess'),
        await stranger.post('/api/auth/verify-email/resend', {}, { address: from(5) }),
        await stranger.post('/api/auth/verify-email/check', {}, { address: from(6) }),
      ]
      return answers.map((answer) => [answer.status, answer.body, headersOf(answer)])
    }
    const alone = await look()
    expect(alone.map(([status]) => status)).toEqual([403, 403, 401, 401, 202, 200])
    const owner = await register('ula')
    expect(await look()).toEqual(alone)
    const [token] = (await tokensTo(addressOf('ula'), 4)).slice(-2)
    expect((await verify(owner, { token })).status).toBe(200)
    expect(await look()).toEqual(alone)
    expect((await owner.act('/api/auth/delete-account', { username: 'ula' })).status).toBe(204)
    expect(await look()).toEqual(alone)
    const left = JSON.stringify(await latchkey.sql.query('select * from pending_registrations'))
    expect(left).not.toContain('ula')
    expect(left).not.toContain('eve')
    // One registration for each of several strangers.
    await register('eva', { email: addressOf('ulb'), password: otherPassword })
    const second = await register('evb', { email: addressOf('ulb'), password: otherPassword })
    const answer = await loginFrom('203.0.113.250', second, addressOf('ulb'), otherPassword)
    expect([answer.status, answer.body, headersOf(answer)]).toEqual(alone[0])
  })

  it('whose account was deleted is never confirmed, by its link or its code', async () => {
    const [first, second] = [await register('ugo'), await register('ugo2', { email: addressOf('ugo') })]
    const [firstLink, secondLink] = await tokensTo(addressOf('ugo'), 2)
    const code = codeIn(mailsTo(addressOf('ugo'))[0]?.text)
    expect((await verify(first, { token: firstLink })).status).toBe(200)
    expect((await first.act('/api/auth/delete-account', { username: 'ugo' })).status).toBe(204)
    expect(await check(second)).toEqual({ ...waiting, codeUsable: true })
    expect((await verify(second, { code })).body.code).toBe('invalid_code')
    expect((await verify(second, { token: secondLink })).body.code).toBe('invalid_link')
  })

  it('the account is compared last: an attempt that finds the queue full, and is not counted, has not guessed its password', async () => {
    await latchkey.registered('uma')
    const stranger = await register('uma-too', { email: addressOf('uma'), password: otherPassword })
    const { rooms } = latchkey.app
    const compared: unknown[] = []
    const verify: typeof rooms.passwords.verify = async (password, hash, ...rest) => {
      if (compared.length > 0) return refuse('busy')
      compared.push(hash)
      return rooms.passwords.verify(password, hash, ...rest)
    }
    const hashing = { ...rooms, passwords: { ...rooms.passwords, verify } }
    const client = { ip: '192.0.2.1', userAgent: '' }
    const login = addressOf('uma')
    const attemptedUser = rooms.users.findByLogin(login)
    const guess = { login, password: 'a guess', attemptedUser, browserToken: stranger.jar.get('registration') }
    expect(await provePassword(hashing, guess, { client, knownDevices: [] })).toEqual({
      refused: 'busy',
    })
    const [row] = await latchkey.sql.query("select password_hash from pending_registrations where username = 'uma-too'")
    expect(compared).toEqual([row?.password_hash])
  })

  it('tells neither by answer nor by mail count whether an address that was registered has an account', async () => {
    await latchkey.registered('vic')
    const seen = []
    for (const victim of ['vic', 'nobody']) {
      const stranger = await register(`stranger-${victim}`, { email: addressOf(victim), password: otherPassword })
      const answers = [
        await login(stranger, addressOf(victim), otherPassword),
        await login(latchkey.browser(), `stranger-${victim}`, otherPassword),
        await login(stranger, `stranger-${victim}`, otherPassword),
        await login(latchkey.browser(), addressOf(victim), 'wrong'),
        await resend(stranger),
        await stranger.post('/api/auth/verify-email', { code: 'AAAA-AAAA' }),
      ]
      seen.push([answers.map(({ status, body }) => [status, body]), await check(stranger)])
    }
    expect(seen[0]).toEqual(seen[1])
    // The owner of the account still signs in, and hears of both tries.
    expect((await login(latchkey.browser(), addressOf('vic'))).status).toBe(200)
    await expect.poll(() => mailsTo(addressOf('vic'), /already have an account/).length).toBe(2)
  })

  it('of several registrations for one address each browser signs in with its own, and every link stays good', async () => {
    const first = await register('wes', { email: addressOf('shared') })
    const second = await register('wes2', { email: addressOf('shared'), password: otherPassword })
    const [link] = await tokensTo(addressOf('shared'), 2)
    expect((await login(first, addressOf('shared'))).status).toBe(403)
    expect((await login(first, addressOf('shared'), otherPassword)).status).toBe(401)
    expect((await login(second, addressOf('shared'), otherPassword)).status).toBe(403)
    expect((await login(second, 'wes', otherPassword)).status).toBe(401)
    expect(await check(latchkey.browser(), { token: link })).toEqual({
      ...waiting,
      passwordRequired: true,
      newerMail: true,
    })
    expect(await check(first, { token: link })).toEqual({ ...waiting, newerMail: true })
    expect((await verify(first, { token: link })).status).toBe(200)
  })

  it('a registration that begins again after the last mail that is allowed keeps the earlier code and link, also beside one of a stranger', async () => {
    const tab = await register('xue')
    const [link] = await tokensTo(addressOf('xue'), 1)
    const code = codeIn(mailsTo(addressOf('xue'))[0]?.text)
    for (let again = 0; again < 4; again++) await resend(tab)
    const links = await tokensTo(addressOf('xue'), 5)
    const newest = links.at(-1)
    expect(newest).not.toBe(link)

    const stranger = await register('xue2', { email: addressOf('xue'), password: otherPassword })
    expect(await check(tab, { token: newest })).toEqual(waiting)
    const before = tab.jar.get('registration')
    const again = { username: 'xue3', email: addressOf('xue'), password: otherPassword }
    expect((await tab.post('/api/auth/register', again)).status).toBe(202)
    expect(tab.jar.get('registration')).not.toBe(before)
    expect(await check(tab, { token: newest })).toEqual(waiting)
    expect(await check(tab)).toEqual({ ...waiting, codeUsable: true })
    expect((await login(tab, 'xue3', otherPassword)).status).toBe(403)
    // Guesses count for both, and what another browser began is not meant by the code.
    expect((await verify(tab, { code: 'AAAAAAAA' })).body.code).toBe('invalid_code')
    const left = await latchkey.sql.query(
      'select username, code_tries_left, mailed from pending_registrations where email = $1 order by id',
      [addressOf('xue')],
    )
    expect(left).toEqual([
      { username: 'xue', code_tries_left: 4, mailed: true },
      { username: 'xue2', code_tries_left: 5, mailed: false },
      { username: 'xue3', code_tries_left: 4, mailed: false },
    ])
    expect((await verify(stranger, { code })).body.code).toBe('invalid_code')
    expect((await verify(tab, { code })).body).toMatchObject({ user: { username: 'xue' } })
  })

  it('sends again only for the browser that registered, five times in an hour, and the last mailed link stays good', async () => {
    const tab = await register('xia')
    await latchkey.advance(10 * minutes)
    expect((await resend(latchkey.browser())).body.error).toBe('No registration waiting')
    for (let again = 0; again < 7; again++) expect((await resend(tab)).status).toBe(202)
    const tokens = await tokensTo(addressOf('xia'), 5)
    expect((await latchkey.mailTo(addressOf('xia'))).text).toContain('Both work for 24 hours.')
    expect(await check(tab, { token: tokens[4] })).toEqual(waiting)
    expect(await check(tab, { token: tokens[3] })).toEqual(stateOnly('replaced'))
    // All mails carry the same code, and it works for this browser.
    const codes = new Set(mailsTo(addressOf('xia')).map(({ text }) => codeIn(text)))
    expect(codes.size).toBe(1)
    expect((await verify(tab, { code: [...codes][0] })).status).toBe(200)
  })

  it('a second click says "already confirmed", the first tab notices, and strangers learn nothing', async () => {
    const tab = await register('yan', { name: ' Yan\n\u001b[31m\u202eOno ' })
    const [token] = await tokensTo(addressOf('yan'), 1)
    const phone = latchkey.browser()
    expect(await check(tab)).toEqual({ ...waiting, codeUsable: true })
    expect(await check(phone)).toEqual(stateOnly('unknown'))
    expect(await check(phone, { token: 'made-up' })).toEqual(stateOnly('unknown'))
    expect(await check(phone, { token })).toEqual({ ...waiting, passwordRequired: true })
    const { body } = await verify(phone, { token, password: goodPassword })
    expect(body.user).toMatchObject({ username: 'yan', name: 'Yan [31mOno' })

    expect(await check(tab)).toEqual(stateOnly('confirmed'))
    expect((await verify(tab, { token })).body.error).toBe('Already confirmed')
    expect((await verify(tab, { code: 'AAAA-AAAA' })).body.error).toBe('Already confirmed')
    expect((await resend(tab)).body.error).toBe('Already confirmed')
    expect((await verify(latchkey.browser(), { token })).body.error).toBe('Already confirmed')
    const [row] = await latchkey.sql.query("select password_hash from pending_registrations where username = 'yan'")
    expect(row).toEqual({ password_hash: '' })

    await latchkey.advance(1 * days)
    expect((await verify(tab, { token })).body.error).toBe('Invalid or expired link')
  })

  it('"Forgot password?" sends the confirmation again, with the same answer', async () => {
    await register('zoe')
    const [older] = await tokensTo(addressOf('zoe'), 1)
    await latchkey.advance(3 * hours)
    const asked = await latchkey.browser().post('/reset-password', { email: addressOf('ZOE') })
    const unknown = await latchkey.browser().post('/reset-password', { email: addressOf('nobody-at-all') })
    expect([asked.status, asked.body]).toEqual([unknown.status, unknown.body])
    const [, newest] = await tokensTo(addressOf('zoe'), 2)
    expect(mailsTo(addressOf('zoe'))[0]?.text).toContain('21 hours')
    expect(await check(latchkey.browser(), { token: older })).toEqual(stateOnly('replaced'))
    expect((await verify(latchkey.browser(), { token: newest, password: goodPassword })).status).toBe(200)
  })
})

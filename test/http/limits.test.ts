import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { days, hours, minutes } from '../../src/lib/durations.js'
import type { Browser } from '../support/client.js'
import { goodPassword, type Latchkey, startLatchkey } from '../support/latchkey.js'

/** Sends some requests at once, and not all: on a busy machine a request that waits too long is answered with 503. */
const inTurns = async <Result>(count: number, send: () => Promise<Result>) => {
  const results: Result[] = []
  while (results.length < count) {
    const turn = Math.min(20, count - results.length)
    results.push(...(await Promise.all(Array.from({ length: turn }, send))))
  }
  return results
}

describe.each([
  { name: 'Redis', redis: process.env.TEST_REDIS_URL ?? '' },
  { name: 'PostgreSQL', redis: '' },
])('limits that are counted in $name', ({ redis: REDIS_URL }) => {
  let latchkey: Latchkey
  beforeAll(async () => {
    const settings = { LOGIN_LIMIT: '5/15m', SENSITIVE_LIMIT: '3/1h', GENERAL_LIMIT: '20/15m', REDIS_URL }
    latchkey = await startLatchkey({ settings })
    await latchkey.signedUp('ada')
  })
  afterAll(() => latchkey.stop())

  let network = 0
  const freshAddress = () => `198.51.100.${++network}`
  const guess = (address: string, password = 'wrong', username = 'ada') =>
    latchkey.browser().post('/login', { username, password }, { address })

  it('tries exactly five of forty guesses at once, and refuses the others with the specified body', async () => {
    const address = freshAddress()
    const answers = await Promise.all(Array.from({ length: 40 }, () => guess(address)))
    expect(answers.filter(({ status }) => status === 401)).toHaveLength(5)
    const limited = answers.filter(({ status }) => status === 429)
    expect(limited).toHaveLength(35)
    for (const { body, headers } of limited) {
      expect(body).toEqual({
        error: 'Too many login attempts',
        message: 'Please try again after 15 minutes',
        retryAfter: 900,
      })
      expect(Number(headers.get('retry-after'))).toBeGreaterThan(890)
    }
    expect((await guess(address, goodPassword)).status).toBe(429)
    expect((await guess(freshAddress(), goodPassword)).status).toBe(200)
  })

  it('sends both families of headers and none of the old ones', async () => {
    const { headers } = await guess(freshAddress())
    expect(headers.get('ratelimit-limit')).toBe('5')
    expect(headers.get('ratelimit-remaining')).toBe('4')
    expect(headers.get('ratelimit-reset')).toBe('900')
    expect(headers.get('ratelimit-policy')).toBe('"login";q=5;w=900')
    expect(headers.get('ratelimit')).toBe('"login";r=4;t=900')
    expect([...headers.keys()].filter((name) => name.startsWith('x-ratelimit'))).toEqual([])
  })

  it('does not count a success, and does not forgive the failures before it', async () => {
    const address = freshAddress()
    for (let round = 0; round < 6; round++) expect((await guess(address, goodPassword)).status).toBe(200)
    for (let wrong = 0; wrong < 4; wrong++) expect((await guess(address)).status).toBe(401)
    const success = await guess(address, goodPassword)
    expect([success.status, success.headers.get('ratelimit-remaining')]).toEqual([200, '1'])
    expect((await guess(address)).status).toBe(401)
    expect((await guess(address)).status).toBe(429)
  })

  it('refuses none of twelve who sign in at the same moment, and no failure more than five', async () => {
    const address = freshAddress()
    const colleagues = await Promise.all(Array.from({ length: 12 }, () => guess(address, goodPassword)))
    expect(new Set(colleagues.map(({ status }) => status))).toEqual(new Set([200]))
    const mixed = Array.from({ length: 20 }, (_, at) => guess(address, at % 2 === 0 ? goodPassword : 'wrong'))
    const wrong = (await Promise.all(mixed)).filter((_, at) => at % 2 === 1)
    expect(wrong.filter(({ status }) => status === 401)).toHaveLength(5)
    expect((await guess(address, goodPassword)).status).toBe(429)
  })

  it('counts both mounts, usernames and emails in one set of counters', async () => {
    const address = freshAddress()
    for (const path of ['/login', '/api/auth/login', '/login', '/api/auth/login', '/login']) {
      await latchkey.browser().post(path, { username: `nobody${path.length}`, password: 'x' }, { address })
    }
    expect((await guess(address, 'wrong', 'ada@example.com')).status).toBe(429)
  })

  it('counts a malformed attempt too', async () => {
    const address = freshAddress()
    for (let round = 0; round < 5; round++) await latchkey.browser().post('/login', { username: 1 }, { address })
    expect((await guess(address)).status).toBe(429)
  })

  it('opens again when the window has ended', async () => {
    const address = freshAddress()
    for (let round = 0; round < 6; round++) await guess(address)
    await latchkey.advance(15 * minutes - 5000)
    expect((await guess(address)).status).toBe(429)
    await latchkey.advance(10_000)
    expect((await guess(address, goodPassword)).status).toBe(200)
  })

  it('counts an IPv6 /64 as one, an embedded IPv4 as itself, and believes only the trusted proxy', async () => {
    for (let host = 1; host <= 5; host++) expect((await guess(`2001:db8::${host}`)).status).toBe(401)
    expect((await guess('2001:db8::ffff:6')).status).toBe(429)
    expect((await guess('2001:db8:0:1::1')).status).toBe(401)
    for (let round = 0; round < 5; round++) await guess('::ffff:192.0.2.1')
    expect((await guess('192.0.2.1')).status).toBe(429)
    expect((await guess('192.0.2.1:5001')).status).toBe(429)
    expect((await guess('64:ff9b::192.0.2.1')).status).toBe(429)
    expect((await guess('[2001:db8::7]:443')).status).toBe(429)
    expect((await guess('192.0.2.2')).status).toBe(401)
    expect((await guess('64:ff9b::192.0.2.3')).status).toBe(401)
    for (let made = 0; made < 6; made++) await guess(`203.0.113.${made}, 198.51.100.250`)
    expect((await guess('198.51.100.250')).status).toBe(429)
  })

  it('gives no free guesses to who registers the address of an account anew for each of them', async () => {
    const address = freshAddress()
    const left = []
    for (const [turn, password] of ['violet-Harbor-11-lantern', 'violet-Harbor-12-lantern'].entries()) {
      const registration = { username: `guesser${turn}`, email: 'ada@example.com', password }
      const tab = latchkey.browser()
      await tab.post('/api/auth/register', registration, { address })
      const answer = await tab.post('/login', { username: 'ada@example.com', password }, { address })
      expect([answer.status, answer.body.error]).toEqual([403, 'Email not confirmed'])
      left.push(answer.headers.get('ratelimit-remaining'))
    }
    expect(left).toEqual(['4', '3'])
  })

  it('refuses reset mails after three an hour, with the specified body', async () => {
    const address = freshAddress()
    const ask = (path: string) => latchkey.browser().post(path, { email: 'nobody@example.com' }, { address })
    for (const path of ['/reset-password', '/api/auth/reset-password', '/reset-password'])
      expect((await ask(path)).status).toBe(202)
    const limited = await ask('/reset-password')
    expect(limited.status).toBe(429)
    expect(limited.body).toEqual({
      error: 'Too many attempts',
      message: 'Account temporarily locked. Try again in 1 hour.',
    })
    expect(Number(limited.headers.get('retry-after'))).toBeGreaterThan(3500)
    await latchkey.advance(1 * hours)
    expect((await ask('/reset-password')).status).toBe(202)
  })

  it('slows an anonymous network after twenty requests, but not a session behind it, nor the access check', async () => {
    const address = freshAddress()
    const tab = latchkey.browser()
    await tab.post('/login', { username: 'ada', password: goodPassword }, { address })
    const stranger = latchkey.browser()
    const answers = await inTurns(30, () => stranger.post('/api/auth/verify-email', {}, { address }))
    expect(answers.filter(({ status }) => status === 429)).toHaveLength(10)
    expect(answers.find(({ status }) => status === 429)?.body).toEqual({
      error: 'Too many requests',
      message: 'Please slow down',
    })
    expect((await tab.get('/api/auth/account', { address })).status).toBe(200)
    tab.jar.delete('access_token')
    expect((await tab.post('/api/auth/refresh', undefined, { address })).status).toBe(200)
    // A person who comes back from a provider then gets a page.
    const callback = (accept: string) =>
      stranger.get('/api/auth/provider-a/callback?code=x', { address, headers: { accept } })
    const person = await callback('text/html,application/xhtml+xml')
    const page = '/login?error=provider_a_auth_failed&reason=too_many_requests'
    expect([person.status, person.headers.get('location'), person.text]).toEqual([303, page, ''])
    expect((await callback('*/*')).status).toBe(429)
    const checks = await inTurns(30, () => tab.get('/api/auth/me', { address }))
    expect(checks.every(({ status }) => status === 200)).toBe(true)
  })

  it('limits every other path that takes a password or a token too', async () => {
    const tab = latchkey.browser()
    const address = freshAddress()
    await tab.post('/login', { username: 'ada', password: goodPassword }, { address })
    const wrong = { currentPassword: 'wrong', newPassword: 'copper-Willow-83-anchor' }
    const change = () => tab.post('/api/auth/change-password', wrong, { address, csrf: true })
    for (let round = 0; round < 5; round++) expect((await change()).status).toBe(401)
    expect((await change()).status).toBe(429)

    const body = { token: 'x'.repeat(43), password: goodPassword }
    const confirm = () =>
      latchkey.browser().post('/api/auth/reset-password/confirm', body, { address: '198.51.100.201' })
    for (let round = 0; round < 5; round++) expect((await confirm()).status).toBe(400)
    expect((await confirm()).status).toBe(429)

    const verify = () => latchkey.browser().post('/api/auth/verify-email', body, { address: '198.51.100.202' })
    const verified = await inTurns(21, verify)
    expect(verified.filter(({ status }) => status === 429)).toHaveLength(1)
  })

  it('never clears cookies because of a limit', async () => {
    const address = freshAddress()
    const tab = latchkey.browser()
    await tab.post('/login', { username: 'ada', password: goodPassword }, { address })
    const copy = tab.copy()
    const renewed = await inTurns(21, () => copy.copy().post('/api/auth/refresh', undefined, { address }))
    const limited = renewed.filter(({ status }) => status !== 200)
    expect(limited.map(({ status, setCookies }) => [status, setCookies])).toEqual([[429, []]])
    // Refreshes use up nothing that ending the session needs.
    expect((await tab.act('/api/auth/logout')).status).toBe(204)
  })

  it('lets a session that has used up its calls renew and end itself', async () => {
    const address = freshAddress()
    const tab = latchkey.browser()
    await tab.post('/login', { username: 'ada', password: goodPassword }, { address })
    const calls = await inTurns(21, () => tab.get('/api/auth/events', { address }))
    expect(calls.filter(({ status }) => status === 429)).toHaveLength(1)
    expect((await tab.post('/api/auth/refresh', undefined, { address })).status).toBe(200)
    tab.jar.delete('access_token')
    expect((await tab.act('/api/auth/logout')).status).toBe(204)
  })

  it('counts open routes by network, whatever tokens come along', async () => {
    const address = freshAddress()
    const tab = await latchkey.signedUp('bearer')
    const ended = tab.copy()
    expect((await tab.act('/api/auth/logout-all')).status).toBe(204)
    await inTurns(20, () => latchkey.browser().post('/api/auth/verify-email', {}, { address }))
    const open = [
      await ended.post('/api/auth/register', {}, { address }),
      await ended.post('/api/auth/verify-email', {}, { address }),
      await ended.post('/api/auth/password-strength', { password: 'x' }, { address }),
      await ended.get('/api/auth/provider-a', { address }),
      await ended.get('/api/auth/provider-b/callback', { address }),
    ]
    expect(open.map(({ status }) => status)).toEqual([429, 429, 429, 429, 429])
  })

  it('counts a refresh for the session of its refresh token, whatever access token was planted beside it', async () => {
    const tab = await latchkey.signedUp('refreshing')
    const planter = await latchkey.signedUp('planting')
    const renew = async (browser: Browser) =>
      Number((await browser.post('/api/auth/refresh')).headers.get('ratelimit-remaining'))
    const left = await renew(tab)
    await renew(planter)
    tab.jar.set('access_token', planter.jar.get('access_token') ?? '')
    expect(await renew(tab)).toBe(left - 1)
    expect(await renew(planter)).toBe(left - 1)
  })

  it('counts a refresh by network once its token has expired', async () => {
    const address = freshAddress()
    const tabs = await Promise.all([latchkey.signedUp('old'), latchkey.signedUp('new')])
    await latchkey.advance(31 * days)
    const renew = (tab: Browser) => tab.copy().post('/api/auth/refresh', undefined, { address })
    const first = await inTurns(20, () => renew(tabs[0]))
    expect(new Set(first.map(({ status }) => status))).toEqual(new Set([401]))
    expect((await renew(tabs[1])).status).toBe(429)
  })

  it("counts nothing for another site's page, nor for a visitor who is not signed in where that is needed", async () => {
    const address = freshAddress()
    const stranger = latchkey.browser()
    const image = { 'sec-fetch-site': 'cross-site', 'sec-fetch-dest': 'image' }
    const ask = (path: string, headers: Record<string, string>) => stranger.get(path, { address, headers })
    const paths = ['/api/auth/provider-a', '/%61pi/auth/provider-a', '/api/auth/account', '/api/auth/csrf-token']
    for (const path of paths) {
      const answers = await Promise.all(Array.from({ length: 21 }, () => ask(path, image)))
      expect(new Set(answers.map(({ status, body }) => `${status} ${String(body.error)}`))).toEqual(
        new Set(['403 Cross-site request']),
      )
    }
    expect((await ask('/api/auth/verify', image)).status).toBe(401)
    const prefetch = { 'sec-fetch-site': 'cross-site', 'sec-fetch-dest': 'document', 'sec-purpose': 'prefetch' }
    expect((await ask('/api/auth/provider-a', prefetch)).status).toBe(403)
    const anonymous = await inTurns(21, () => ask('/api/auth/account', {}))
    expect(new Set(anonymous.map(({ status }) => status))).toEqual(new Set([401]))
    const navigation = { 'sec-fetch-site': 'cross-site', 'sec-fetch-dest': 'document' }
    const begun = await ask('/api/auth/provider-a', navigation)
    expect([begun.status, begun.headers.get('ratelimit-remaining')]).toEqual([303, '19'])
  })

  it('bounds the mails to one address, from however many networks they are asked for', async () => {
    await latchkey.signedUp('flooded')
    const count = () =>
      latchkey.mails().filter(({ to, text }) => to === 'flooded@example.com' && text.includes('reset-password#')).length
    for (let round = 0; round < 9; round++) {
      const answer = await latchkey
        .browser()
        .post('/reset-password', { email: 'flooded@example.com' }, { address: freshAddress() })
      expect(answer.status).toBe(202)
    }
    await expect.poll(count).toBe(5)
  })
})

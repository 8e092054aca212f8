import { createHmac } from 'node:crypto'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { minutes, seconds } from '../../src/lib/durations.js'
import type { Browser } from '../support/client.js'
import { goodPassword, type Latchkey, startLatchkey } from '../support/latchkey.js'
import { until } from '../support/until.js'

const limit = 40
let latchkey: Latchkey
beforeAll(async () => {
  latchkey = await startLatchkey({ settings: { GENERAL_LIMIT: `${limit}/15m`, TRUST_PROXY: '127.0.0.1' } })
  await latchkey.signedUp('ada')
  await latchkey.sql.query("update users set name = 'Zoë \u{1f600}' where username = 'ada'")
})
afterAll(() => latchkey.stop())

const signedIn = async () => {
  const tab = latchkey.browser()
  expect((await tab.post('/login', { username: 'ada', password: goodPassword })).status).toBe(200)
  return tab
}

const identity = ({ headers }: { headers: Headers }) =>
  Object.fromEntries([...headers].filter(([name]) => name.startsWith('x-auth-')))

const thefts = async () => (await latchkey.sql.query("select 1 from events where kind = 'refresh_theft'")).length

describe('the access check', () => {
  it('names the user, percent-encoded where a header could not hold it', async () => {
    const tab = await signedIn()
    const { user, sessionId } = (await tab.get('/api/auth/me')).body as { user: { id: string }; sessionId: string }
    const expected = {
      'x-auth-user-id': user.id,
      'x-auth-username': 'ada',
      'x-auth-name': 'Zo%C3%AB%20%F0%9F%98%80',
      'x-auth-email': 'ada@example.com',
      'x-auth-session-id': sessionId,
      'x-auth-factors': '1',
      'x-auth-groups': '',
      'x-auth-time': String(Math.floor(latchkey.clock.now().getTime() / 1000)),
    }
    const answer = await tab.get('/api/auth/verify')
    const { 'x-auth-time': time, ...rest } = identity(answer)
    expect(answer.status).toBe(204)
    expect(rest).toEqual({ ...expected, 'x-auth-time': undefined })
    expect(Math.abs(Number(time) - Number(expected['x-auth-time']))).toBeLessThan(60)
  })

  it.each([
    'factor=2',
    'factors=1',
    'factors=2&factors=2',
    'fresh=10',
    'group=',
    'group=Admins',
    'group=admins,',
    'group=admins&group=staff',
    `group=${Array(17).fill('a')}`,
    'fresh=0m',
    'renew=0',
    'renew',
    'Renew=1',
    '=1',
  ])('is closed by a parameter that it does not understand: %s', async (query) => {
    const tab = await signedIn()
    expect((await tab.get(`/api/auth/verify?${query}`)).body.code).toBe('bad_request')
    expect((await latchkey.browser().get(`/api/auth/verify?${query}`)).status).toBe(400)
  })

  it('asks for a step-up when the last proof is too old, or was one factor', async () => {
    const tab = await signedIn()
    expect((await tab.get('/api/auth/verify?fresh=10m')).status).toBe(204)
    const both = await tab.get('/api/auth/verify?factors=2&renew=1&fresh=10m')
    expect([both.status, both.body.code]).toEqual([403, 'step_up_required'])
    expect(identity(both)).toEqual({ 'x-auth-step-up': '/step-up?fresh=10m&factors=2' })
    await latchkey.advance(11 * minutes)
    expect((await tab.get('/api/auth/verify?fresh=15m')).status).toBe(204)
    const stale = await tab.get('/api/auth/verify?fresh=10m')
    expect([stale.status, identity(stale)]).toEqual([403, { 'x-auth-step-up': '/step-up?fresh=10m' }])
    expect((await latchkey.browser().get('/api/auth/verify?fresh=10m')).status).toBe(401)
  })

  it('says nothing about the host to which a proxy may copy its answer: no HSTS, whatever the answer', async () => {
    const tab = await signedIn()
    const planted = { 'sec-fetch-site': 'cross-site' }
    const answers = [
      await tab.get('/api/auth/verify'),
      await tab.get('/api/auth/verify?renew=1&group=admins'),
      await tab.get('/api/auth/verify?fresh=0m'),
      await tab.get('/api/auth/verify', { headers: planted }),
      await latchkey.browser().get('/api/auth/verify?renew=1'),
    ]
    expect(answers.map(({ status }) => status)).toEqual([204, 403, 400, 401, 401])
    for (const { headers } of answers)
      expect([headers.get('strict-transport-security'), headers.get('x-frame-options')]).toEqual([null, 'DENY'])
    expect((await tab.get('/api/auth/me')).headers.get('strict-transport-security')).toMatch(/preload/)
  })

  it('answers a page of another site as if there were no session', async () => {
    const tab = await signedIn()
    const headers = { 'sec-fetch-site': 'cross-site', 'sec-fetch-dest': 'image' }
    expect((await tab.get('/api/auth/verify?renew=1', { headers })).status).toBe(401)
  })
})

describe('a refused access check', () => {
  type Line = Record<string, unknown> & { msg: string }
  const refusedLines = () =>
    latchkey.logLines.map((line) => JSON.parse(line) as Line).filter(({ msg }) => msg === 'access check refused')
  /** The lines that the checks cause, without the ids of their requests. */
  const linesOf = async (work: () => Promise<unknown>) => {
    const before = refusedLines().length
    await work()
    return refusedLines()
      .slice(before)
      .map(({ level, time: _, msg: __, requestId, ...line }) => {
        expect([level, requestId]).toEqual(['info', expect.any(String)])
        return line
      })
  }
  const whoIs = async (tab: Browser) => {
    const { user, sessionId } = (await tab.get('/api/auth/me')).body as { user: { id: string }; sessionId: string }
    return { userId: user.id, sessionId, ip: '127.0.0.1' }
  }
  /** Nobody was refused for a minute. */
  beforeEach(() => latchkey.advance(2 * minutes))

  it('is logged at most once a minute for a session, with the reason and the groups that were asked for', async () => {
    const [tab, other] = [await signedIn(), await signedIn()]
    const [who, otherWho] = [await whoIs(tab), await whoIs(other)]
    const ask = (asking: Browser, query: string) => asking.get(`/api/auth/verify?${query}`)
    const first = await linesOf(async () => {
      for (const query of ['group=admins,staff', 'group=admins', 'factors=2']) await ask(tab, query)
      await ask(other, 'factors=2')
    })
    expect(first).toEqual([
      { reason: 'group_required', ...who, groups: ['admins', 'staff'] },
      { reason: 'step_up_required', ...otherWho },
    ])
    await latchkey.advance(59 * seconds)
    expect(await linesOf(() => ask(tab, 'group=admins'))).toEqual([])
    await latchkey.advance(2 * seconds)
    expect(await linesOf(() => ask(tab, 'factors=2'))).toEqual([{ reason: 'step_up_required', ...who }])
  })

  it('is logged for a token that has expired, ended, or is none; a visitor without a token is not', async () => {
    const tab = await signedIn()
    const who = await whoIs(tab)
    const token = tab.jar.get('access_token') ?? ''
    const check = (cookie: string, query = '') =>
      latchkey.browser().get(`/api/auth/verify${query}`, { headers: { cookie } })
    expect(await linesOf(() => latchkey.browser().get('/api/auth/verify?renew=1'))).toEqual([])
    expect(await linesOf(() => check('theme=dark'))).toEqual([])
    expect(await linesOf(() => tab.get('/api/auth/verify'))).toEqual([])
    expect(await linesOf(() => check(`access_token=${token}x`))).toEqual([{ reason: 'invalid', ip: '127.0.0.1' }])
    await latchkey.advance(2 * minutes)
    const doubled = [{ reason: 'doubled', ip: '127.0.0.1' }]
    expect(await linesOf(() => check(`access_token=${token}; access_token=x`))).toEqual(doubled)
    await latchkey.advance(2 * minutes)
    expect(await linesOf(() => check('refresh_token=x'))).toEqual([])
    expect(await linesOf(() => check('refresh_token=x', '?renew=1'))).toEqual([{ reason: 'invalid', ip: '127.0.0.1' }])

    await latchkey.advance(16 * minutes)
    expect(await linesOf(() => check(`access_token=${token}`))).toEqual([{ reason: 'expired', ...who }])
    // What is renewed is no refusal.
    await latchkey.advance(2 * minutes)
    expect(await linesOf(() => tab.get('/api/auth/verify?renew=1'))).toEqual([])
    const [access, refresh] = [tab.jar.get('access_token'), tab.jar.get('refresh_token')]
    await tab.post('/api/auth/logout', undefined, { csrf: true })
    expect(await linesOf(() => check(`access_token=${access}`))).toEqual([{ reason: 'ended', ...who }])
    await latchkey.advance(2 * minutes)
    expect(await linesOf(() => check(`refresh_token=${refresh}`, '?renew=1'))).toEqual([
      { reason: 'not_renewed', ...who },
    ])
    const log = latchkey.logLines.join('')
    for (const secret of [token, access ?? '', refresh ?? '']) expect(log).not.toContain(secret)
  })

  it('of strangers fills no memory, and hides no refusal of a session', async () => {
    const tab = await signedIn()
    const who = await whoIs(tab)
    const forwarded = (index: number) => ({ 'x-forwarded-for': `198.18.${index >> 8}.${index & 255}` })
    const strangers = await linesOf(async () => {
      for (let index = 0; index < 1_050; index += 50) {
        const made = Array.from({ length: 50 }, (_, more) => {
          const headers = { cookie: 'access_token=x', ...forwarded(index + more) }
          return latchkey.browser().get('/api/auth/verify', { headers })
        })
        await Promise.all(made)
      }
    })
    expect(strangers).toHaveLength(1_000)
    expect(await linesOf(() => tab.get('/api/auth/verify?factors=2'))).toEqual([{ reason: 'step_up_required', ...who }])
  })
})

describe('the access check with renew=1', () => {
  const renew = (tab: Browser) => tab.get('/api/auth/verify?renew=1')
  let tab: Browser
  beforeEach(async () => {
    tab = await signedIn()
    await latchkey.advance(16 * minutes)
  })

  it('renews an expired access token, and leaves one that is good alone', async () => {
    expect((await tab.get('/api/auth/verify')).status).toBe(401)
    const before = tab.jar.get('refresh_token')
    const renewed = await renew(tab)
    expect([renewed.status, renewed.headers.get('x-auth-username')]).toEqual([204, 'ada'])
    expect(renewed.setCookies.map((line) => line.replace(/=[^;]+/, ''))).toEqual([
      'access_token; Max-Age=900; Path=/; HttpOnly; SameSite=Strict',
      expect.stringMatching(/^refresh_token; Max-Age=\d+; Path=\/; HttpOnly; SameSite=Strict$/),
    ])
    expect(tab.jar.get('refresh_token')).not.toBe(before)
    const again = await renew(tab)
    expect([again.status, again.setCookies]).toEqual([204, []])
  })

  it('goes together with a page that refreshes by itself: a request that comes late with the first token signs nobody out', async () => {
    const late = tab.copy()
    await renew(tab)
    const given = [tab.jar.get('access_token'), tab.jar.get('refresh_token')]
    const refreshed = await tab.post('/api/auth/refresh', { ifOld: true })
    expect([refreshed.status, refreshed.setCookies]).toEqual([200, []])
    expect(refreshed.body).toMatchObject({ user: { username: 'ada', email: 'ada@example.com' } })
    expect(Date.parse(String(refreshed.body.accessTokenExpiresAt))).toBeGreaterThan(latchkey.clock.now().getTime())
    expect((await renew(late)).status).toBe(204)
    expect(late.jar.get('refresh_token')).toBe(given[1])

    // Without the access token of the same session, or when it is no longer new, the refresh token is exchanged.
    const stranger = await latchkey.signedUp('eve')
    stranger.jar.set('refresh_token', given[1] ?? '')
    expect((await stranger.post('/api/auth/refresh', { ifOld: true })).setCookies).toHaveLength(2)
    await latchkey.advance(3 * minutes)
    expect((await stranger.post('/api/auth/refresh', { ifOld: true })).setCookies).toHaveLength(2)
    expect((await tab.post('/api/auth/refresh', { ifOld: 'no' })).status).toBe(400)
  })

  it('is exchanged at once by an instance that has not heard yet that another one has replaced it', async () => {
    const tab = await latchkey.signedUp('gus')
    const { user } = (await tab.get('/api/auth/me')).body as { user: { id: string } }
    // As a change of groups at another instance does it, without telling this one.
    await latchkey.sql.query('update sessions set oldest_generation = generation + 1 where user_id = $1', [user.id])
    expect((await tab.post('/api/auth/refresh', { ifOld: true })).setCookies).toHaveLength(2)
    expect((await tab.get('/api/auth/account')).status).toBe(200)
  })

  it.each([
    ['is missing', (browser: Browser) => browser.jar.delete('access_token')],
    ['is garbage', (browser: Browser) => browser.jar.set('access_token', 'a.b.c')],
  ])('renews an access token that %s', async (_, spoil) => {
    spoil(tab)
    expect((await renew(tab)).setCookies).toHaveLength(2)
  })

  it('is one rotation for the many requests of a page, which all get the same refresh token', async () => {
    // More than the limit of rotations allows. They come while the first of them waits for the row.
    const copies = Array.from({ length: limit + 20 }, () => tab.copy())
    let arrived = 0
    latchkey.app.server.server.on('request', () => {
      arrived += 1
    })
    const answers = await latchkey.sql.transaction(async (sql) => {
      await sql.query('select 1 from sessions for update')
      const asked = copies.map(renew)
      await until('all have come', () => arrived === copies.length)
      return asked
    })
    const statuses = (await Promise.all(answers)).map(({ status }) => status)
    expect(new Set(statuses)).toEqual(new Set([204]))
    expect(new Set(copies.map(({ jar }) => jar.get('refresh_token'))).size).toBe(1)
    const [row] = await latchkey.sql.query<{ generation: number }>(
      'select generation from sessions order by id desc limit 1',
    )
    expect(row?.generation).toBe(1)
  })

  it('never renews for HEAD, nor with a cookie that is there twice', async () => {
    const head = await tab.send('HEAD', '/api/auth/verify?renew=1')
    expect([head.status, head.setCookies]).toEqual([401, []])
    const planted = `access_token=planted; access_token=x; refresh_token=${tab.jar.get('refresh_token')}`
    const doubled = await latchkey.browser().get('/api/auth/verify?renew=1', { headers: { cookie: planted } })
    expect([doubled.status, doubled.setCookies]).toEqual([401, []])
    expect((await renew(tab)).setCookies).toHaveLength(2)
  })

  it('answers 503 over the limit of rotations, and counts only rotations', async () => {
    for (let count = 0; count < limit; count += 1) {
      expect((await renew(tab)).status).toBe(204)
      tab.jar.delete('access_token')
    }
    const over = await renew(tab)
    expect([over.status, over.setCookies]).toEqual([503, []])
    expect(Number(over.headers.get('retry-after'))).toBeGreaterThan(800)
    await latchkey.advance(16 * minutes)
    const late = tab.copy()
    expect((await renew(tab)).status).toBe(204)
    for (let count = 0; count < 2 * limit; count += 1) expect((await renew(late.copy())).status).toBe(204)
  })

  it('gives the tokens again for two minutes when the answer was lost, to the direct parent only', async () => {
    const lost = tab.copy()
    await renew(lost)
    await latchkey.advance(110 * seconds)
    expect((await renew(tab)).status).toBe(204)
    expect(tab.jar.get('refresh_token')).toBe(lost.jar.get('refresh_token'))
    expect(await thefts()).toBe(0)
  })

  it('finds out a stolen refresh token, and ends the session', async () => {
    const thief = tab.copy()
    await renew(tab)
    await latchkey.advance(130 * seconds)
    const before = await thefts()
    const found = await renew(thief)
    expect([found.status, found.setCookies]).toEqual([401, []])
    expect(await thefts()).toBe(before + 1)
    tab.jar.delete('access_token')
    expect((await renew(tab)).status).toBe(401)
  })

  it('gives a refresh by the browser itself its own, shorter grace time', async () => {
    const lost = tab.copy()
    await lost.post('/api/auth/refresh')
    await latchkey.advance(40 * seconds)
    expect((await renew(tab)).status).toBe(401)
  })

  it('accepts no token that does not name the issuer, and renews it', async () => {
    await renew(tab)
    const [header = '', payload = ''] = (tab.jar.get('access_token') ?? '').split('.')
    const { userId, username, sid, gen, iat, exp } = JSON.parse(Buffer.from(payload, 'base64url').toString())
    const { secrets } = latchkey.app.platform
    const signed = `${header}.${Buffer.from(JSON.stringify({ userId, username, sid, gen, iat, exp })).toString('base64url')}`
    const old = `${signed}.${createHmac('sha256', secrets[0] ?? '')
      .update(signed)
      .digest('base64url')}`
    tab.jar.set('access_token', old)
    expect((await tab.get('/api/auth/verify')).status).toBe(401)
    expect((await tab.get('/api/auth/me')).status).toBe(401)
    const renewed = await renew(tab)
    expect([renewed.setCookies.length, renewed.headers.get('x-auth-email')]).toEqual([2, 'ada@example.com'])
    tab.jar.set('access_token', old)
    tab.jar.delete('refresh_token')
    expect((await renew(tab)).status).toBe(401)
  })
})

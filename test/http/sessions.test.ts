import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { days, minutes, seconds } from '../../src/lib/durations.js'
import type { RefreshClaims } from '../../src/sessions/tokens.js'
import { addAuthenticator } from '../support/authenticator.js'
import type { Answer, Browser } from '../support/client.js'
import { goodPassword, type Latchkey, startLatchkey } from '../support/latchkey.js'

describe('sessions', () => {
  let latchkey: Latchkey
  beforeAll(async () => {
    latchkey = await startLatchkey()
  })
  afterAll(() => latchkey.stop())

  const newUser = (username: string) => latchkey.signedUp(username)
  const refreshCookieOf = (answer: Answer) => answer.setCookies.find((cookie) => cookie.startsWith('refresh_token='))

  it('rotates: a new pair of tokens each time', async () => {
    const tab = await newUser('ada')
    const before = tab.jar.get('refresh_token')
    await latchkey.advance(1 * seconds)
    const answer = await tab.post('/api/auth/refresh')
    expect(answer.status).toBe(200)
    expect(answer.body).toMatchObject({ user: { username: 'ada', email: 'ada@example.com', name: null } })
    expect(tab.jar.get('refresh_token')).not.toBe(before)
    expect((await tab.get('/api/auth/me')).status).toBe(200)
  })

  it('two rotations within one second give two different tokens', async () => {
    const tab = await newUser('quick')
    const seen = new Set([tab.jar.get('refresh_token')])
    for (let round = 0; round < 5; round++) {
      await tab.post('/api/auth/refresh')
      seen.add(tab.jar.get('refresh_token'))
    }
    expect(seen.size).toBe(6)
  })

  it('gives fifty refreshes at once one rotation and one successor, byte for byte', async () => {
    const tab = await newUser('bea')
    const answers = await Promise.all(Array.from({ length: 50 }, () => tab.copy().post('/api/auth/refresh')))
    expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 200))
    const successors = new Set(answers.map((answer) => refreshCookieOf(answer)?.split(';')[0]))
    expect(successors.size).toBe(1)
    const [row] = await latchkey.sql.query<{ generation: number }>(
      "select generation from sessions r join users u on u.id = r.user_id where u.username = 'bea'",
    )
    expect(row?.generation).toBe(1)
    tab.jar.set('refresh_token', String([...successors][0]).split('=')[1] ?? '')
    expect((await tab.post('/api/auth/refresh')).status).toBe(200)
  })

  it('repeats the answer that was lost, within the grace', async () => {
    const tab = await newUser('cy')
    const lost = await tab.copy().post('/api/auth/refresh')
    await latchkey.advance(29 * seconds)
    const again = await tab.post('/api/auth/refresh')
    expect(again.status).toBe(200)
    expect(tab.jar.get('refresh_token')).toBe(refreshCookieOf(lost)?.split(/[=;]/)[1])
  })

  it('treats the previous token as stolen after the grace time: the session ends, with an event', async () => {
    const thief = await newUser('di')
    const owner = thief.copy()
    await owner.post('/api/auth/refresh')
    await latchkey.advance(31 * seconds)
    const caught = await thief.post('/api/auth/refresh')
    expect(caught.status).toBe(401)
    expect(caught.body).toEqual({
      error: 'Not authenticated',
      message: 'Sign in to continue',
      code: 'not_authenticated',
    })
    expect((await owner.post('/api/auth/refresh')).status).toBe(401)
    const events = await latchkey.sql.query("select 1 from events where kind = 'refresh_theft'")
    expect(events).toHaveLength(1)
  })

  it('treats the token before the previous one as stolen, even within the grace time', async () => {
    const thief = await newUser('eve')
    const owner = thief.copy()
    await owner.post('/api/auth/refresh')
    await owner.post('/api/auth/refresh')
    expect((await thief.post('/api/auth/refresh')).status).toBe(401)
    expect((await owner.post('/api/auth/refresh')).status).toBe(401)
  })

  it('expires: the access token after 15 minutes, the refresh token after 30 days', async () => {
    const tab = await newUser('fay')
    await latchkey.advance(15 * minutes - 2 * seconds)
    expect((await tab.get('/api/auth/me')).status).toBe(200)
    await latchkey.advance(3 * seconds)
    expect((await tab.get('/api/auth/me')).status).toBe(401)
    await latchkey.advance(30 * days - 16 * minutes)
    expect((await tab.post('/api/auth/refresh')).status).toBe(200)
    await latchkey.advance(30 * days + 2 * seconds)
    const ended = await tab.post('/api/auth/refresh')
    expect(ended.status).toBe(401)
    expect(ended.setCookies.filter((cookie) => cookie.includes('Max-Age=0'))).toHaveLength(2)
  })

  it('ends a year after the sign-in, however often it was refreshed', async () => {
    const tab = await newUser('gus')
    for (let month = 0; month < 12; month++) {
      await latchkey.advance(29 * days)
      expect((await tab.post('/api/auth/refresh')).status).toBe(200)
    }
    await latchkey.advance(365 * days - 12 * 29 * days)
    expect((await tab.post('/api/auth/refresh')).status).toBe(401)
  })

  it('its end by its user empties the browser’s cache of this host, and nothing else does', async () => {
    const ends: ((tab: Browser) => Promise<Answer>)[] = [
      (tab) => tab.act('/api/auth/logout'),
      (tab) => tab.act('/api/auth/logout-all'),
      async (tab) => tab.remove(`/api/auth/sessions/${(await tab.get('/api/auth/me')).body.sessionId}`),
    ]
    for (const [index, end] of ends.entries()) {
      const tab = await newUser(`leaver${index}`)
      const other = latchkey.browser()
      await other.post('/login', { username: `leaver${index}`, password: goodPassword })
      expect((await tab.post('/api/auth/logout')).headers.get('clear-site-data')).toBeNull()
      const { status, headers } = await end(tab)
      expect([status, headers.get('clear-site-data')]).toEqual([204, '"cache"'])
      expect((await tab.post('/api/auth/refresh')).headers.get('clear-site-data')).toBeNull()
    }
  })

  it('a logout during a refresh wins', async () => {
    const tab = await newUser('hal')
    const other = tab.copy()
    await Promise.all([
      tab.act('/api/auth/logout'),
      ...Array.from({ length: 10 }, () => other.copy().post('/api/auth/refresh')),
    ])
    expect((await other.post('/api/auth/refresh')).status).toBe(401)
  })

  it('the end of every session during refreshes wins', async () => {
    const tab = await newUser('quin')
    const user = await latchkey.app.rooms.users.findByLogin('quin')
    const refreshes = Array.from({ length: 20 }, () => tab.copy().post('/api/auth/refresh'))
    await latchkey.app.rooms.sessions.endAll('sessions_ended', user?.id ?? '')
    const answers = await Promise.all(refreshes)
    const newest = answers.map(refreshCookieOf).find((cookie) => cookie?.includes('Max-Age=2592000'))
    if (newest) tab.jar.set('refresh_token', newest.split(/[=;]/)[1] ?? '')
    expect((await tab.post('/api/auth/refresh')).status).toBe(401)
  })

  it('takes less than half of a 4 KB Cookie header, which leaves room for sign-ins with a provider', async () => {
    const tab = await latchkey.signedUp('u'.repeat(64))
    await tab.csrfToken()
    const header = [...tab.jar].map(([name, value]) => `${name}=${value}`).join('; ')
    expect(header.length).toBeLessThan(1700)
  })

  it('leaves cookies alone that are absent, not ours, or doubled', async () => {
    const stranger = latchkey.browser()
    const without = await stranger.post('/api/auth/refresh')
    expect([without.status, without.setCookies]).toEqual([401, []])
    const garbage = await stranger.post('/api/auth/refresh', undefined, {
      headers: { cookie: 'refresh_token=garbage' },
    })
    expect([garbage.status, garbage.setCookies]).toEqual([401, []])

    const tab = await newUser('ida')
    const cookie = `refresh_token=${tab.jar.get('refresh_token')}`
    const doubled = await stranger.post('/api/auth/refresh', undefined, {
      headers: { cookie: `${cookie}; refresh_token=x` },
    })
    expect([doubled.status, doubled.setCookies]).toEqual([401, []])
    expect((await tab.post('/api/auth/refresh')).status).toBe(200)
  })

  it('never takes one kind of token for the other', async () => {
    const tab = await newUser('jo')
    const [access, refresh] = [tab.jar.get('access_token') ?? '', tab.jar.get('refresh_token') ?? '']
    const asAccess = await tab.get('/api/auth/me', { headers: { cookie: `access_token=${refresh}` } })
    expect(asAccess.status).toBe(401)
    const asRefresh = await tab.post('/api/auth/refresh', undefined, { headers: { cookie: `refresh_token=${access}` } })
    expect(asRefresh.status).toBe(401)
    for (const token of [access, refresh]) expect(token.length).toBeLessThan(1024)
  })

  it('signs out with an expired access token, by the refresh cookie', async () => {
    const tab = await newUser('kim')
    await latchkey.advance(16 * minutes)
    tab.jar.delete('access_token')
    expect((await tab.act('/api/auth/logout')).status).toBe(204)
    expect((await tab.post('/api/auth/refresh')).status).toBe(401)
  })

  it('gives new tokens at each sign-in, whatever cookies came along', async () => {
    const tab = await newUser('lee')
    const before = tab.jar.get('refresh_token')
    await tab.post('/login', { username: 'lee', password: goodPassword })
    expect(tab.jar.get('refresh_token')).not.toBe(before)
    const sids = [before, tab.jar.get('refresh_token')].map(
      (token) => JSON.parse(Buffer.from(token?.split('.')[1] ?? '', 'base64url').toString()).sid,
    )
    expect(sids[0]).not.toBe(sids[1])
  })

  it('clears no cookies for 30 seconds after a sign-in, if a refresh with the former cookies comes late', async () => {
    const tab = await newUser('lia')
    const late = tab.copy()
    await tab.post('/login', { username: 'lia', password: goodPassword })
    const overtaken = await late.copy().post('/api/auth/refresh')
    expect([overtaken.status, overtaken.setCookies]).toEqual([401, []])
    await latchkey.sql.query("update ended_sessions set ended_at = ended_at - interval '31 seconds'")
    expect((await late.post('/api/auth/refresh')).setCookies).toHaveLength(2)
    expect((await tab.post('/api/auth/refresh')).status).toBe(200)
  })

  const signInAs = (tab: Browser, username: string, password = goodPassword) =>
    tab.post('/login', { username, password })
  const eventsOf = async (username: string) => {
    const rows = await latchkey.sql.query<{ kind: string; reason: string | null }>(
      `select kind, reason from events
       where user_id = (select id from users where username = $1) and kind not like 'mail_%' order by id`,
      [username],
    )
    return rows.map(({ kind, reason }) => (reason === null ? kind : `${kind} ${reason}`))
  }
  const isSignedIn = async (tab: Browser) => (await tab.copy().post('/api/auth/refresh')).status === 200

  it('ends the session of a browser when another one begins in it, of whichever user', async () => {
    const tab = await newUser('again')
    await newUser('sister')
    const elsewhere = latchkey.browser()
    await signInAs(elsewhere, 'again')
    const first = tab.copy()
    await signInAs(tab, 'again', 'not the password')
    expect(await isSignedIn(first)).toBe(true)
    expect((await signInAs(tab, 'again')).status).toBe(200)
    expect([await isSignedIn(first), (await first.get('/api/auth/me')).status]).toEqual([false, 401])
    const second = tab.copy()
    expect((await signInAs(tab, 'sister')).status).toBe(200)
    expect([await isSignedIn(second), await isSignedIn(tab), await isSignedIn(elsewhere)]).toEqual([false, true, true])
    const recorded = (await eventsOf('again')).filter((event) => !event.startsWith('sign_in_failed'))
    // Sorted, because events of the same millisecond have ids in no certain order.
    const [signIns, signOuts] = [Array(2).fill('signed_in password'), Array(2).fill('signed_out signed_in_again')]
    expect(recorded.toSorted()).toEqual(['registered', ...signIns, ...signOuts])
    expect(await eventsOf('sister')).toEqual(['registered', 'signed_in password'])
  })

  it('ends the former session of a browser when the second step is done, and not before', async () => {
    await addAuthenticator(await newUser('steps'), latchkey).then(async (app) => {
      const tab = await newUser('brother')
      const before = tab.copy()
      expect((await signInAs(tab, 'steps')).status).toBe(202)
      expect(await isSignedIn(before)).toBe(true)
      expect((await tab.post('/api/auth/second-factor', { code: app.code() })).status).toBe(200)
      expect([await isSignedIn(before), await isSignedIn(tab)]).toEqual([false, true])
    })
  })

  it('ends the former session once when two tabs sign in at once, and takes nothing for theft', async () => {
    const before = await newUser('twice')
    const tabs = [before.copy(), before.copy()]
    const answers = await Promise.all(tabs.map((tab) => signInAs(tab, 'twice')))
    expect(answers.map(({ status }) => status)).toEqual([200, 200])
    expect(await Promise.all([before, ...tabs].map(isSignedIn))).toEqual([false, true, true])
    expect((await eventsOf('twice')).sort()).toEqual([
      'registered',
      'signed_in password',
      'signed_in password',
      'signed_out signed_in_again',
    ])
  })

  it.each(['logout', 'logout-all'])('%s ends both sessions whose cookies a browser has', async (path) => {
    const [accessOwner, refreshOwner] = await Promise.all([newUser(`${path}-a`), newUser(`${path}-b`)])
    const tab = accessOwner.copy()
    tab.jar.set('refresh_token', refreshOwner.jar.get('refresh_token') ?? '')
    expect((await tab.act(`/api/auth/${path}`)).status).toBe(204)
    expect([await isSignedIn(accessOwner), await isSignedIn(refreshOwner)]).toEqual([false, false])
    expect(await eventsOf(`${path}-b`)).toEqual(['registered', 'signed_out'])
  })

  it('logout ends every session whose cookies come, if cookies of one name come several times, also a planted one', async () => {
    const [own, planted] = await Promise.all([newUser('doubled'), newUser('planter')])
    const valuesOf = (name: string) => ['x', own.jar.get(name), planted.jar.get(name), ...Array<string>(9).fill('y')]
    const doubled = ['access_token', 'refresh_token'].flatMap((name) =>
      valuesOf(name).map((value) => `${name}=${value}`),
    )
    const tab = latchkey.browser()
    const { body } = await tab.get('/api/auth/csrf-token', { headers: { cookie: doubled.join('; ') } })
    const cookie = [...doubled, tab.jar.header()].join('; ')
    const headers = { cookie, 'x-csrf-token': String(body.csrfToken) }
    expect((await tab.post('/api/auth/logout', {}, { headers })).status).toBe(204)
    expect([await isSignedIn(own), await isSignedIn(planted)]).toEqual([false, false])
    expect(await eventsOf('doubled')).toEqual(['registered', 'signed_out'])
  })

  it('a user who was disabled can neither refresh nor sign in', async () => {
    const tab = await newUser('mo')
    await latchkey.sql.query("update users set disabled_at = now() where username = 'mo'")
    expect((await tab.post('/api/auth/refresh')).status).toBe(401)
    expect((await tab.post('/login', { username: 'mo', password: goodPassword })).status).toBe(401)
  })

  it('a change of the password during a sign-in wins', async () => {
    await newUser('pia')
    let login: Promise<Answer> | undefined
    await latchkey.sql.transaction(async (sql) => {
      await sql.query("update users set password_hash = 'another' where username = 'pia'")
      await sql.query("delete from sessions where user_id = (select id from users where username = 'pia')")
      login = latchkey.browser().post('/login', { username: 'pia', password: goodPassword })
      // Long enough for the sign-in to have checked the old password, which it still sees.
      await sql.query('select pg_sleep(1)')
    })
    expect((await login)?.status).toBe(401)
    const rows = await latchkey.sql.query(
      "select 1 from sessions r join users u on u.id = r.user_id where u.username = 'pia'",
    )
    expect(rows).toEqual([])
  })

  it.each<Partial<RefreshClaims>>([
    { exp: 1e15 },
    { userId: 'x' },
    { userId: '0190c0de-0000-7000-8000-00000000000\0' },
    { sid: 'x' },
    { username: '\ud800' },
    { gen: 2 ** 53 - 1 },
    { auth_time: 1e15 },
  ])('answers 401 to odd claims under our own signature: %o', async (odd) => {
    const { tokens } = latchkey.app.rooms
    const iat = Math.floor(latchkey.clock.now().getTime() / 1000)
    const id = '0190c0de-0000-7000-8000-000000000000'
    const claims = { userId: id, username: 'ada', sid: id, iat, exp: iat + 900, gen: 0, auth_time: iat, ...odd }
    const tab = latchkey.browser()
    tab.jar.set('refresh_token', tokens.signRefresh(claims))
    expect((await tab.post('/api/auth/refresh')).status).toBe(401)
    if ('gen' in odd || 'auth_time' in odd) return
    tab.jar.set(
      'access_token',
      tokens.signAccess({ ...claims, email: 'ada@example.com', name: null, amr: ['pwd'], groups: [] }),
    )
    for (const path of ['me', 'account', 'sessions']) expect((await tab.get(`/api/auth/${path}`)).status).toBe(401)
    expect((await tab.get('/api/auth/csrf-token')).status).toBe(200)
  })

  it('purges what has expired, and nothing else', async () => {
    await newUser('ned')
    await latchkey.advance(20 * days)
    const tab = await newUser('oz')
    await latchkey.advance(11 * days)
    const { sessions } = latchkey.app.rooms
    for (const limit of [1, 2]) {
      while ((await latchkey.sql.transaction((sql) => sessions.purge(sql, limit))) > 0);
      await latchkey.advance(61 * minutes)
    }
    const rows = await latchkey.sql.query('select 1 from sessions where expires_at <= $1', [latchkey.clock.now()])
    expect(rows).toEqual([])
    const gone = "select 1 from sessions r join users u on u.id = r.user_id where u.username = 'ned'"
    expect(await latchkey.sql.query(gone)).toEqual([])
    expect((await tab.post('/api/auth/refresh')).status).toBe(200)
  })

  it('shows the account, its sessions and its events, and ends a session', async () => {
    const tab = await latchkey.signedUp('ilse')
    const phone = latchkey.browser()
    const userAgent = 'Mozilla/5.0 (Windows NT 10.0; Win64; x64; rv:140.0) Gecko/20100101 Firefox/140.0'
    await phone.post(
      '/login',
      { username: 'ilse', password: goodPassword },
      { headers: { 'user-agent': userAgent }, address: '192.0.2.7' },
    )
    expect((await tab.get('/api/auth/account')).body.user).toMatchObject({
      email: 'ilse@example.com',
      username: 'ilse',
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
    const { status, body } = await tab.remove('/api/auth/sessions/ABC')
    expect([status, body.message]).toEqual([400, 'id must be a UUID in small letters, as the service gives it'])
    expect((await phone.post('/api/auth/refresh')).status).toBe(401)

    const { events } = (await tab.get('/api/auth/events')).body as { events: { kind: string }[] }
    expect(events.map(({ kind }) => kind)).toEqual(['session_ended', 'signed_in', 'registered'])
  })

  it('ends every session at once', async () => {
    const tab = await latchkey.signedUp('jonas')
    const other = latchkey.browser()
    await other.post('/login', { username: 'jonas', password: goodPassword })
    expect((await tab.act('/api/auth/logout-all')).status).toBe(204)
    expect((await other.post('/api/auth/refresh')).status).toBe(401)
  })
})

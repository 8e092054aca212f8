import { once } from 'node:events'
import { type IncomingMessage, request } from 'node:http'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createFirstUses } from '../../src/access-check/first-uses.js'
import { minutes } from '../../src/lib/durations.js'
import { addApplication, applicationChangesOf } from '../support/applications.js'
import { type Browser, createBrowser } from '../support/client.js'
import { createCookieJar } from '../support/cookie-jar.js'
import { goodPassword, type Latchkey, startLatchkey } from '../support/latchkey.js'
import { until } from '../support/until.js'

// What a proxy sends, and what it gets. The proxies themselves are in test/deployment.

let latchkey: Latchkey
let tab: Browser
let wiki: Awaited<ReturnType<typeof addApplication>>

const operator = { ip: 'command line', userAgent: 'test' }
const behindProxy = { home: 'https://wiki.example.com/', redirectAddresses: [] }

beforeAll(async () => {
  const settings = {
    PUBLIC_URL: 'https://auth.example.com',
    COOKIE_DOMAIN: 'example.com',
    DEVELOPMENT_ON_NETWORK: 'true',
  }
  latchkey = await startLatchkey({ settings })
  tab = browserWith((await latchkey.signedUp('ada')).jar)
  await latchkey.app.rooms.groups.add('family', operator)
  const open = { openPaths: ['/public/', 'POST:/hooks/'], openPreflight: true }
  wiki = await addApplication(latchkey, {
    name: 'Wiki',
    proxyOrigin: 'https://wiki.example.com',
    ...behindProxy,
    ...open,
  })
  const closed = { proxyOrigin: 'https://family.example.com', access: 'groups', groups: ['family'] } as const
  await addApplication(latchkey, { name: 'Family', ...behindProxy, ...closed })
  const strict = { proxyOrigin: 'https://bank.example.com', factors: 2, maxAge: 10 * minutes } as const
  await addApplication(latchkey, { name: 'Bank', ...behindProxy, ...strict })
  const fresh = { proxyOrigin: 'https://fresh.example.com', maxAge: 10 * minutes }
  await addApplication(latchkey, { name: 'Fresh', ...behindProxy, ...fresh })
  await until(
    'the applications are known',
    async () => (await check(tab, { host: 'fresh.example.com' })).status === 200,
  )
})
afterAll(() => latchkey.stop())

type Asked = { method?: string; proto?: string; host?: string; uri?: string; query?: string; headers?: object }

const check = (
  of: Browser,
  { method = 'GET', proto = 'https', host = 'wiki.example.com', uri = '/page?a=1', ...more }: Asked = {},
) =>
  of.send('GET', `/api/auth/forward${more.query ?? ''}`, undefined, {
    headers: {
      'x-forwarded-method': method,
      'x-forwarded-proto': proto,
      'x-forwarded-host': host,
      'x-forwarded-uri': uri,
      ...more.headers,
    },
  })

const byNginx = (of: Browser, headers: object = {}) =>
  of.send('GET', '/api/auth/forward', undefined, {
    headers: { 'x-original-method': 'GET', 'x-original-url': 'https://wiki.example.com/page?a=1', ...headers },
  })

const navigation = { 'sec-fetch-mode': 'navigate', 'sec-fetch-dest': 'document', 'sec-fetch-site': 'none' }
const browserWith = (jar = createCookieJar()) =>
  createBrowser(latchkey.url, jar, `http://127.0.0.1:${latchkey.config.port}`)
const stranger = () => browserWith()
const wayBack = encodeURIComponent('https://wiki.example.com/page?a=1')

const identityIn = ({ headers }: { headers: Headers }) =>
  Object.fromEntries([...headers].filter(([name]) => name.startsWith('x-auth-')))

const empty = Object.fromEntries(
  [
    'user-id',
    'username',
    'name',
    'email',
    'session-id',
    'factors',
    'time',
    'groups',
    'token-id',
    'client',
    'scope',
  ].map((name) => [`x-auth-${name}`, '']),
)

describe('a visitor who may enter', () => {
  it('is named, with what they have sent to the application and nothing of ours', async () => {
    const headers = { authorization: 'Basic eDp5' }
    tab.jar.set('theme', 'dark')
    const answer = await check(tab, { headers })
    tab.jar.delete('theme')
    expect(answer.status).toBe(200)
    expect(answer.headers.get('cookie')).toBe('theme=dark')
    expect(answer.headers.get('authorization')).toBe('Basic eDp5')
    expect(answer.headers.get('cache-control')).toBe('no-store')
    expect(Object.keys(identityIn(answer)).sort()).toEqual(Object.keys(empty).sort())
    expect(identityIn(answer)).toMatchObject({ 'x-auth-username': 'ada', 'x-auth-factors': '1', 'x-auth-token-id': '' })
    expect((await byNginx(tab)).status).toBe(200)
  })

  it('gets both headers always, and no empty one in the place of our cookies: a proxy would keep those of the visitor', async () => {
    const answer = await check(tab)
    expect([answer.headers.get('cookie'), answer.headers.get('authorization')]).toEqual(['latchkey_none=1', ''])
    expect((await check(stranger(), { uri: '/public/' })).headers.get('cookie')).toBe('')
  })

  it('leaves an event of the first use by the session, and none later', async () => {
    const events = async () => {
      const found = await latchkey.sql.query<{ session_id: string; ip: string }>(
        `select session_id, ip from events where kind = 'application_used' and reason = 'Wiki'`,
      )
      return found.filter(({ session_id }) => session_id === sid)
    }
    const own = browserWith((await latchkey.signedUp('ivy')).jar)
    const sid = identityIn(await check(own))['x-auth-session-id']
    await until('the use is an event', async () => (await events()).length === 1)
    await check(own)
    // Another token of the same session, at an instance that remembers nothing.
    await own.post('/api/auth/refresh')
    const { events: ofService, tokens } = latchkey.app.rooms
    const { sql: database, clock } = latchkey
    const claims = tokens.readAccess(own.jar.get('access_token') ?? '')
    if (!claims || 'refused' in claims) throw new Error('The session has no access token')
    createFirstUses({ database, clock, events: ofService, log: latchkey.app.log }).note(wiki, claims, operator)
    await check(own)
    await new Promise((resolve) => setTimeout(resolve, 300))
    expect(await events()).toHaveLength(1)
    const other = browserWith()
    await other.post('/api/auth/login', { username: 'ivy', password: goodPassword })
    const otherSid = identityIn(await check(other))['x-auth-session-id']
    expect(otherSid).not.toBe(sid)
    await until('the other session has an event', async () => {
      const found = await latchkey.sql.query(
        `select 1 from events where kind = 'application_used' and reason = 'Wiki' and session_id = $1`,
        [otherSid],
      )
      return found.length === 1
    })
  })

  it('may have any query, and an address of their own in place of ours', async () => {
    expect((await check(tab, { uri: '/page?a=%00', query: '?a=%00' })).status).toBe(200)
    expect((await check(tab, { headers: { host: 'wiki.example.com' } })).status).toBe(200)
  })

  it('has the address with a port that browsers leave out, and a WebSocket', async () => {
    expect((await check(tab, { host: 'WIKI.example.com:443' })).status).toBe(200)
    expect((await check(tab, { proto: 'wss' })).status).toBe(200)
    expect((await check(tab, { query: '?a=1' })).status).toBe(200)
  })
})

describe('an open path', () => {
  it.each([
    [{ uri: '/public/a.css?b=1' }, 200],
    [{ uri: '/public/a.css', method: 'POST' }, 401],
    [{ uri: '/hooks/1', method: 'POST' }, 200],
    [{ uri: '/public/%2e%2e/admin' }, 401],
    [{ uri: '/public/a.css', headers: { 'x-rewrite-url': '/admin' } }, 401],
    [{ uri: '/public/a.css', headers: { 'x-original-uri': '/admin' } }, 401],
    [{ uri: '/public/a.css', headers: { x_rewrite_url: '/admin' } }, 401],
    [{ uri: '/public/a.css', headers: { 'x-original-path': '/admin' } }, 401],
    [{ uri: '/hooks/1', method: 'POST', headers: { 'x-http-method-override': 'DELETE' } }, 401],
    [{ uri: '/admin', method: 'OPTIONS' }, 401],
    [
      {
        uri: '/admin',
        method: 'OPTIONS',
        headers: { origin: 'https://a.example', 'access-control-request-method': 'PUT' },
      },
      200,
    ],
    [{ uri: '/public/a.css', headers: { 'x-auth-groups': 'admins' } }, 400],
  ] as const)('%j: %i', async (asked, status) => {
    const answer = await check(stranger(), asked)
    expect(answer.status).toBe(status)
    if (status === 200) expect(identityIn(answer)).toEqual(empty)
  })

  it('names nobody to the application, whoever is signed in', async () => {
    expect(identityIn(await check(tab, { uri: '/public/' }))).toEqual(empty)
  })
})

describe('a visitor who may not enter', () => {
  const pageOf = ({ status, headers }: { status: number; headers: Headers }) => [status, headers.get('location')]

  it('is led to a page if a person waits for one', async () => {
    const login = `${latchkey.url}/login?returnTo=${wayBack}`
    expect(pageOf(await check(stranger(), { headers: navigation }))).toEqual([302, login])
    // A browser that says nothing about its requests.
    const older = request(`http://127.0.0.1:${latchkey.config.port}/api/auth/forward`, {
      headers: {
        'x-original-method': 'GET',
        'x-original-url': 'https://wiki.example.com/page?a=1',
        accept: 'text/html',
      },
    }).end()
    const [answer] = (await once(older, 'response')) as [IncomingMessage]
    answer.resume()
    expect([answer.statusCode, answer.headers.location]).toEqual([401, login])
    expect(pageOf(await byNginx(stranger(), navigation))).toEqual([401, login])
    const asked = { host: 'family.example.com', headers: navigation }
    const noAccess = `${latchkey.url}/step-up?group=1&returnTo=${encodeURIComponent('https://family.example.com/page?a=1')}`
    expect(pageOf(await check(tab, asked))).toEqual([302, noAccess])
  })

  it.each([
    ['a script', { 'sec-fetch-mode': 'cors', 'sec-fetch-dest': 'empty', accept: 'text/html' }],
    ['a frame', { 'sec-fetch-mode': 'navigate', 'sec-fetch-dest': 'iframe' }],
    ['a prefetch', { ...navigation, 'sec-purpose': 'prefetch' }],
    ['a program', { accept: 'application/json' }],
  ])('is answered in words if it is %s', async (_, headers) => {
    const answer = await check(stranger(), { headers })
    expect([answer.status, answer.body.code, answer.headers.get('www-authenticate')]).toEqual([
      401,
      'not_authenticated',
      'Bearer',
    ])
    expect(answer.headers.get('location')).toBeNull()
  })

  it('is not led anywhere by a form that was sent', async () => {
    expect((await check(stranger(), { method: 'POST', headers: navigation })).status).toBe(401)
  })

  it('needs the group, the factors and a proof that is young enough', async () => {
    expect((await check(tab, { host: 'family.example.com' })).body.code).toBe('group_required')
    expect((await check(tab, { host: 'bank.example.com' })).body.code).toBe('step_up_required')
    const asked = { host: 'bank.example.com', headers: navigation }
    expect((await check(tab, asked)).headers.get('location')).toContain('/step-up?factors=2&fresh=600s&returnTo=')
  })

  it('gets in within two seconds when the application is changed, and out again', async () => {
    const changes = applicationChangesOf(latchkey)
    const [family] = (await latchkey.app.rooms.applications.list()).filter(({ name }) => name === 'Family')
    await changes.change(family?.id ?? '', { access: 'everyone', groups: [] }, operator)
    const status = async () => (await check(tab, { host: 'family.example.com' })).status
    await until('it is open', async () => (await status()) === 200)
    await changes.change(family?.id ?? '', { access: 'groups', groups: ['family'] }, operator)
    await until('it is closed', async () => (await status()) === 403)
  })
})

it('an address of http can be registered below COOKIE_DOMAIN', async () => {
  const plain = { ...behindProxy, home: 'http://plain.example.com/', proxyOrigin: 'http://plain.example.com' }
  await addApplication(latchkey, { name: 'Plain', ...plain })
  const asked = { host: 'plain.example.com', proto: 'http' }
  await until('it is known', async () => (await check(tab, asked)).status === 200)
})

describe('what is odd', () => {
  it('comes from no proxy', async () => {
    const alone = await startLatchkey({ settings: { TRUST_PROXY: '192.0.2.1' } })
    try {
      expect((await check(alone.browser())).status).toBe(400)
    } finally {
      await alone.stop()
    }
  })

  it.each([
    ['an address that nobody has registered', { host: 'other.example.com' }, 403],
    ['a dot after the host', { host: 'wiki.example.com.' }, 403],
    ['http where https is registered', { proto: 'http' }, 403],
    ['another port', { host: 'wiki.example.com:8443' }, 403],
    ['a condition of the other check', { query: '?group=admins' }, 400],
    ['an identity of the visitor', { headers: { x_auth_groups: 'admins' } }, 400],
    [
      'a host that is not that of the check, which is another application',
      { headers: { host: 'family.example.com' } },
      400,
    ],
    ['both families', { headers: { 'x-original-url': 'https://wiki.example.com/public/' } }, 400],
    ['a method in small letters', { method: 'get' }, 400],
  ])('%s', async (_, asked, status) => {
    const answer = await check(tab, asked)
    expect(answer.status).toBe(status)
    expect(identityIn(answer)).toEqual({})
  })

  it('is said in the log, once', async () => {
    const lines = latchkey.logLines.filter((line) => line.includes('x-forwarded-method is not well-formed'))
    expect(lines).toHaveLength(1)
  })
})

it('has a sign-out that leads to ours, and nothing else of ours, where our cookies arrive', async () => {
  const leave = await check(tab, { uri: '/.latchkey/sign-out', headers: navigation })
  expect([leave.status, leave.headers.get('location'), leave.setCookies]).toEqual([
    302,
    `${latchkey.url}/api/auth/end-session`,
    [],
  ])
  for (const uri of ['/.latchkey/start', '/.latchkey/callback?code=x', '/.latchkey/', '/.latchkey'])
    expect((await check(tab, { uri, headers: navigation })).status).toBe(404)
})

it('is named in the log at every address that nobody has registered', async () => {
  for (const host of ['one.example.com', 'two.example.com', 'one.example.com']) await check(tab, { host })
  const lines = latchkey.logLines.filter((line) => /"https:\/\/(one|two)\.example\.com"/.test(line))
  expect(lines).toHaveLength(2)
})

describe('a session whose access token has expired', () => {
  it('is renewed without a page, and led back', async () => {
    const visitor = stranger()
    await visitor.post('/login', { username: 'ada', password: goodPassword })
    visitor.jar.delete('access_token')
    const asked = await check(visitor, { headers: navigation })
    const renew = asked.headers.get('location') ?? ''
    expect(renew).toBe(`${latchkey.url}/api/auth/renew?returnTo=${wayBack}`)
    const follow = (address: string, headers = navigation) =>
      visitor.send('GET', address.slice(latchkey.url.length), undefined, { headers })
    expect((await follow(renew, { ...navigation, 'sec-purpose': 'prefetch' } as typeof navigation)).setCookies).toEqual(
      [],
    )
    const renewed = await follow(renew)
    expect(renewed.setCookies.join()).toContain('access_token=')
    const back = renewed.headers.get('location') ?? ''
    expect((await follow(back)).headers.get('location')).toBe('https://wiki.example.com/page?a=1')
    expect((await check(visitor)).status).toBe(200)
    // Its cookies do not reach the application, so it comes again and again.
    const statuses = []
    for (let time = 0; time < 6; time += 1) statuses.push((await follow(back)).status)
    expect(statuses).toEqual([302, 302, 302, 302, 302, 409])
  })

  it('gets its cookies anew, if those of the browser reach only our own host', async () => {
    const visitor = stranger()
    await visitor.post('/login', { username: 'ada', password: goodPassword })
    const back = `/api/auth/return?to=${wayBack}`
    const answers = []
    for (let time = 0; time < 4; time += 1)
      answers.push(await visitor.send('GET', back, undefined, { headers: navigation }))
    expect(answers.map(({ setCookies }) => setCookies.join().includes('Domain=example.com'))).toEqual([
      false,
      false,
      true,
      false,
    ])
    expect((await check(visitor)).status).toBe(200)
  })

  it('is stopped also between two addresses, and asked to sign in if there is no session', async () => {
    const tabOf = (visitor: Browser) => async (part: number) =>
      visitor.send('GET', `/api/auth/return?to=${encodeURIComponent(`https://wiki.example.com/${part}`)}`, undefined, {
        headers: navigation,
      })
    const visitor = stranger()
    await visitor.post('/login', { username: 'ada', password: goodPassword })
    const statuses = []
    for (let time = 0; time < 22; time += 1) statuses.push((await tabOf(visitor)(time % 2)).status)
    expect(statuses).toEqual([...Array(20).fill(302), 409, 409])
    const unknown = stranger()
    for (let time = 0; time < 6; time += 1) await tabOf(unknown)(1)
    expect((await tabOf(unknown)(1)).headers.get('location')).toMatch(/^\/login\?returnTo=/)
  })

  it('is renewed only as often as the limit of refreshes allows, also by an old token', async () => {
    const few = await startLatchkey({ settings: { TRUST_PROXY: '127.0.0.1', GENERAL_LIMIT: '5/15m' } })
    try {
      const site = 'https://localhost:8443'
      await addApplication(few, { name: 'Here', ...behindProxy, home: `${site}/`, proxyOrigin: site })
      await until('it is known', async () => few.app.rooms.protectedApplications.find(site) !== undefined)
      const visitor = await few.signedUp('bob')
      const address = `/api/auth/renew?returnTo=${encodeURIComponent(`${site}/`)}`
      const renewed = async () => {
        visitor.jar.delete('access_token')
        const old = visitor.jar.get('refresh_token') ?? ''
        const answer = await visitor.send('GET', address, undefined, { headers: navigation })
        // The next one comes with the token from before.
        visitor.jar.set('refresh_token', old)
        return answer.headers.get('location')?.includes('/api/auth/return?') ?? false
      }
      const all = []
      for (let time = 0; time < 8; time += 1) all.push(await renewed())
      expect([all[0], all.at(-1)]).toEqual([true, false])
    } finally {
      await few.stop()
    }
  })

  it('is led nowhere else', async () => {
    for (const address of [
      'https://other.example.com/',
      'https://wiki.example.com.evil.example/',
      'https://wiki.example.com@evil.example/',
      'https://user@wiki.example.com/',
      'http://wiki.example.com/',
      'javascript:alert(1)//https://wiki.example.com',
      'blob:https://wiki.example.com/abc',
      '//wiki.example.com/',
    ])
      for (const path of ['/api/auth/return?to=', '/api/auth/renew?returnTo=']) {
        const answer = await tab.send('GET', path + encodeURIComponent(address), undefined, { headers: navigation })
        expect([address, answer.headers.get('location')]).toEqual([address, latchkey.config.afterSignIn])
      }
  })
})

it('an application without redirect addresses has no secret', () => {
  expect(wiki.secret).toBe('')
})

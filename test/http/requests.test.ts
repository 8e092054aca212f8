import { connect } from 'node:net'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { goodPassword, type Latchkey, startLatchkey } from '../support/latchkey.js'

let latchkey: Latchkey
beforeAll(async () => {
  latchkey = await startLatchkey({ settings: { DEVELOPMENT_HOSTS: 'host.docker.internal' } })
  await latchkey.signedUp('ada')
})
afterAll(() => latchkey.stop())

const credentials = { username: 'ada', password: goodPassword }

/** Exactly these bytes, and the whole answer. */
const raw = (text: string) =>
  new Promise<string>((resolve, reject) => {
    let answer = ''
    const socket = connect(Number(new URL(latchkey.url).port), '127.0.0.1', () => socket.write(text))
    socket.setTimeout(5000, () => socket.destroy())
    socket.on('data', (chunk) => {
      answer += chunk.toString('latin1')
    })
    socket.on('error', reject).on('close', () => resolve(answer))
  })

describe('security headers', () => {
  const expected = {
    'content-security-policy':
      "default-src 'self';script-src 'self' 'unsafe-inline';style-src 'self' 'unsafe-inline';img-src 'self' data: https:;font-src 'self';connect-src 'self';media-src 'self';object-src 'none';frame-src 'none';base-uri 'self';form-action 'self';frame-ancestors 'none'",
    'strict-transport-security': 'max-age=31536000; includeSubDomains; preload',
    'x-frame-options': 'DENY',
    'referrer-policy': 'strict-origin-when-cross-origin',
    'cross-origin-embedder-policy': 'require-corp',
    'cross-origin-opener-policy': 'same-origin',
    'cross-origin-resource-policy': 'same-site',
    'x-dns-prefetch-control': 'off',
    'x-content-type-options': 'nosniff',
    'x-xss-protection': '0',
    'x-download-options': 'noopen',
  }

  it.each(['/health', '/login', '/api/auth/me', '/nothing', '/api/nothing', '/%zz', '/api/auth/assets/nothing.js'])(
    'are on %s',
    async (path) => {
      const { headers } = await latchkey.browser().get(path)
      expect(Object.fromEntries(Object.keys(expected).map((name) => [name, headers.get(name)]))).toEqual(expected)
      expect(headers.get('x-powered-by')).toBeNull()
      expect(headers.get('cache-control')).toBe('no-store')
    },
  )

  it.each([
    ['a bad header', 'Host: localhost\r\nbad header\r\n', '400', 'Bad request'],
    ['no Host', '', '400', 'Bad request'],
    ['an unknown expectation', 'Host: localhost\r\nExpect: 200-ok\r\n', '417', 'Expectation failed'],
  ])('are on what never becomes a request of a route: %s', async (_, lines, status, error) => {
    const answer = await raw(`GET /health/live HTTP/1.1\r\n${lines}\r\n`)
    expect(answer).toMatch(new RegExp(`^HTTP/1\\.1 ${status} `))
    for (const [name, value] of Object.entries(expected)) expect(answer).toContain(`${name}: ${value}\r\n`)
    expect(answer).toContain(`{"error":"${error}","message":`)
  })
})

describe('unknown paths and methods', () => {
  it('answers 404 in the one error shape and reflects no path', async () => {
    const { status, body, text } = await latchkey.browser().get('/api/<script>alert(1)</script>')
    expect([status, body]).toEqual([
      404,
      { error: 'Not found', message: 'There is nothing at this address', code: 'not_found' },
    ])
    expect(text).not.toContain('script')
  })

  it.each([
    ['DELETE', '/login', 'GET, HEAD, POST'],
    ['PUT', '/api/auth/login', 'POST'],
    ['GET', '/api/auth/refresh', 'POST'],
    ['POST', '/health', 'GET, HEAD'],
    ['OPTIONS', '/api/auth/refresh', 'POST'],
    ['GET', '/api/auth/sessions/0190c0de-0000-7000-8000-000000000000', 'DELETE'],
  ])('answers %s %s with 405 and Allow', async (method, path, allow) => {
    const { status, headers, body } = await latchkey.browser().send(method, path)
    expect([status, headers.get('allow'), body.error]).toEqual([405, allow, 'Method not allowed'])
  })

  it.each(['TRACE', 'PROPFIND', 'CONNECT', 'FOO'])('refuses %s', async (method) => {
    const answer = await raw(`${method} /login HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n`)
    expect(answer === '' || /^HTTP\/1\.1 4\d\d /.test(answer)).toBe(true)
  })

  it.each([
    ['/login/', '/login'],
    ['/login/?returnTo=%2Fnotes&x=1', '/login?returnTo=%2Fnotes&x=1'],
    ['/api/auth/account-page/', '/api/auth/account-page'],
  ])('leads %s to the page %s', async (path, location) => {
    const answer = await latchkey.browser().get(path)
    expect([answer.status, answer.headers.get('location')]).toEqual([302, location])
  })

  it('answers 404 to a file that is not there', async () => {
    expect((await latchkey.browser().get('/api/auth/assets/missing.js')).status).toBe(404)
  })

  it.each(['urn:uuid:0190c0de-0000-7000-8000-000000000000', '0190C0DE-0000-7000-8000-000000000000', 'x'])(
    'takes no session id in another spelling: %s',
    async (id) => {
      const tab = latchkey.browser()
      await tab.post('/login', credentials)
      expect((await tab.remove(`/api/auth/sessions/${id}`)).status).toBe(400)
    },
  )

  it.each([
    '//login',
    '/./login',
    '/login/',
    '/LOGIN',
    '/%2flogin',
    '/log%69n/',
    '/login%2f',
    '/api/auth//login',
    '/login;x',
  ])('POST %s reaches no handler', async (path) => {
    const body = JSON.stringify(credentials)
    const answer = await raw(
      `POST ${path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\nConnection: close\r\n\r\n${body}`,
    )
    expect(answer).toMatch(/^HTTP\/1\.1 40[45] /)
    expect(answer).not.toContain('set-cookie')
  })
})

describe('bodies', () => {
  const post = (body: string, headers: Record<string, string> = {}) =>
    latchkey.browser().post('/login', body, { headers })

  it.each([
    'text/plain',
    'application/x-www-form-urlencoded',
    'multipart/form-data; boundary=x',
    'application/jsonx',
    'application/json\ta',
    'application/json; charset=utf-16',
    'application/json, text/plain',
    'text/json',
  ])('takes no %s', async (type) => {
    const { status, body } = await post(JSON.stringify(credentials), { 'content-type': type })
    expect([status, body.error]).toEqual([415, 'Unsupported media type'])
  })

  it.each([
    ['nothing', ''],
    ['no JSON', '{'],
    ['an array', '[]'],
    ['a text', '"x"'],
    ['null', 'null'],
    ['a number for a text', '{"username":1,"password":"x"}'],
    ['an array for a text', '{"username":["ada"],"password":"x"}'],
    ['an object for a text', '{"username":{"$ne":""},"password":"x"}'],
    ['null for a text', '{"username":null,"password":"x"}'],
    ['a missing property', '{"username":"ada"}'],
    ['a key twice', '{"username":"ada","username":"eve","password":"x"}'],
    ['__proto__', '{"__proto__":{"username":"ada"},"password":"x"}'],
    ['a NUL', '{"username":"a\\u0000da","password":"x"}'],
    ['a lone surrogate', '{"username":"\\ud800","password":"x"}'],
    ['a NUL in a key', '{"username":"ada","password":"x","a\\u0000":1}'],
    ['a lone surrogate in a key', '{"username":"ada","password":"x","a":{"\\ud800":1}}'],
    ['ten thousand levels', `${'['.repeat(7000)}${']'.repeat(7000)}`],
  ])('answers 400 to %s', async (_, text) => {
    const { status, body } = await post(text)
    expect([status, Object.keys(body).sort()]).toEqual([400, ['code', 'error', 'message']])
  })

  it('takes an empty one that is called JSON where none is needed, and refuses it elsewhere', async () => {
    const tab = latchkey.browser()
    await tab.post('/login', credentials)
    const headers = { 'content-type': 'application/json' }
    const send = (path: string) => tab.send('POST', path, '', { csrf: true, headers })
    expect((await send('/api/auth/step-up')).body.code).toBe('bad_request')
    expect((await send('/api/auth/logout')).status).toBe(204)
  })

  it('answers 400 to bytes that are no UTF-8', async () => {
    const answer = await raw(
      'POST /login HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 3\r\nConnection: close\r\n\r\n"\xff"',
    )
    expect(answer).toMatch(/^HTTP\/1\.1 400 /)
  })

  it('answers 413 beyond 16 KB and 431 to enormous headers', async () => {
    expect((await post(JSON.stringify({ ...credentials, x: 'x'.repeat(17_000) }))).status).toBe(413)
    const answer = await raw(`GET /health HTTP/1.1\r\nHost: localhost\r\nX: ${'x'.repeat(20_000)}\r\n\r\n`)
    expect(answer).toMatch(/^HTTP\/1\.1 431 /)
    expect(answer).toContain('"error":"Headers too large"')
  })

  it('reads nothing that the schema does not name', async () => {
    const before = await latchkey.sql.query("select id, email, provider from users where username = 'ada'")
    const extra = { id: 'x', userId: 'x', role: 'admin', provider: 'provider_a', isAdmin: true }
    const { status, body } = await latchkey.browser().post('/login?userId=x&role=admin', { ...credentials, ...extra })
    expect([status, Object.keys(body)]).toEqual([200, ['user', 'accessTokenExpiresAt']])
    expect(await latchkey.sql.query("select id, email, provider from users where username = 'ada'")).toEqual(before)
  })

  it.each(['/api/content/%00', '/api/content/a%00b', '/api/auth/sessions/%00'])('takes no NUL in %s', async (path) => {
    const tab = latchkey.browser()
    await tab.post('/login', credentials)
    const method = path.includes('sessions') ? 'DELETE' : 'GET'
    expect((await tab.send(method, path, undefined, { csrf: true })).status).toBe(400)
  })
})

describe('the host that a request names', () => {
  const ask = (host: string, path: string) => raw(`GET ${path} HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`)

  it.each([
    'rebind.attacker.example:3000',
    'localhost.attacker.example',
    '127.0.0.1.attacker.example',
    'localhost.',
    'a',
    '',
  ])('is refused outside production if it is another name: %s', async (host) => {
    for (const path of ['/dev/mailbox.json', '/api/auth/csrf-token', '/login', '/nothing']) {
      const answer = await ask(host, path)
      expect(answer).toMatch(/^HTTP\/1\.1 421 /)
      expect(answer).toContain('host of PUBLIC_URL')
      expect(answer).not.toContain('set-cookie')
    }
  })

  it.each([
    'localhost',
    'LOCALHOST:3000',
    'app.localhost:1',
    '127.0.0.1:3000',
    '[::1]:3000',
    '192.0.2.7',
    'host.docker.internal:80',
  ])('is accepted if it is this machine, an address, or listed: %s', async (host) => {
    expect(await ask(host, '/dev/mailbox.json')).toMatch(/^HTTP\/1\.1 200 /)
  })
})

describe('thousands of tiny header lines', () => {
  const many = 'D:\r\n'.repeat(2500)
  const body = '{}'
  const type = `Content-Type: application/json\r\nContent-Length: ${body.length}\r\nConnection: close\r\n`

  it('do not hide the address of the client, which the proxy writes last', async () => {
    const address = '198.51.100.77'
    const answer = await raw(
      `POST /login HTTP/1.1\r\nHost: localhost\r\n${type}${many}X-Forwarded-For: ${address}\r\n\r\n${body}`,
    )
    expect(answer).toMatch(/^HTTP\/1\.1 400 /)
    expect(latchkey.logLines.some((line) => line.includes(`"ip":"${address}"`))).toBe(true)
  })

  it('do not hide the cookies either, and their bytes are bounded', async () => {
    const tab = latchkey.browser()
    await tab.post('/login', credentials)
    const ask = (lines: string) =>
      raw(
        `GET /api/auth/me HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n${lines}Cookie: ${tab.jar.header()}\r\n\r\n`,
      )
    expect(await ask(many)).toMatch(/^HTTP\/1\.1 200 /)
    expect(await ask('D:\r\n'.repeat(12_500))).toMatch(/^HTTP\/1\.1 431 /)
  })
})

describe('requests from other sites', () => {
  it.each<[string, Record<string, string>, number]>([
    ['cross-site by Sec-Fetch-Site', { 'sec-fetch-site': 'cross-site' }, 403],
    ['same-site with another origin', { 'sec-fetch-site': 'same-site', origin: 'https://evil.example.com' }, 403],
    ['another origin without Sec-Fetch-Site', { 'sec-fetch-site': '', origin: 'https://evil.example.com' }, 403],
    ['the null origin', { 'sec-fetch-site': '', origin: 'null' }, 403],
    ['our own page', { 'sec-fetch-site': 'same-origin' }, 200],
  ])('%s', async (_, headers, status) => {
    const answer = await latchkey.browser().post('/login', credentials, { headers })
    expect(answer.status).toBe(status)
    if (status === 403) expect([answer.body.error, answer.setCookies]).toEqual(['Cross-site request', []])
  })

  it('offers no CORS', async () => {
    const { headers } = await latchkey
      .browser()
      .get('/api/auth/me', { headers: { origin: 'https://evil.example.com' } })
    expect([...headers.keys()].filter((name) => name.startsWith('access-control'))).toEqual([])
  })
})

describe('the CSRF token', () => {
  const refused = { error: 'Invalid CSRF token', message: 'Reload the page and try again', code: 'invalid_csrf_token' }
  const signedIn = async () => {
    const tab = latchkey.browser()
    await tab.post('/login', credentials)
    return tab
  }

  it('lets the example route echo who called', async () => {
    const tab = await signedIn()
    expect((await tab.act('/api/sensitive')).body).toEqual({ user: { id: expect.any(String), username: 'ada' } })
  })

  it('is refused when it is missing, garbage, for another secret or for another session', async () => {
    const tab = await signedIn()
    const token = await tab.csrfToken()
    const send = (value: string | undefined, from = tab) =>
      from.post('/api/sensitive', undefined, value === undefined ? {} : { headers: { 'x-csrf-token': value } })
    for (const wrong of [undefined, '', 'garbage', `${token}x`, token.slice(0, -2)]) {
      expect([(await send(wrong)).status, (await send(wrong)).body]).toEqual([403, refused])
    }
    const other = await signedIn()
    await other.csrfToken()
    expect((await send(token, other)).status).toBe(403)

    const planted = tab.copy()
    planted.jar.set('csrf_secret', other.jar.get('csrf_secret') ?? '')
    expect((await send(await other.csrfToken(), planted)).status).toBe(403)
    expect((await send(token)).status).toBe(200)
  })

  it('comes with its own cookie, which is kept while it is there', async () => {
    const tab = latchkey.browser()
    const first = await tab.get('/api/auth/csrf-token')
    expect(first.setCookies).toEqual([
      expect.stringMatching(/^csrf_secret=[\w-]{43}; Max-Age=2592000; Path=\/; HttpOnly; SameSite=Strict$/),
    ])
    expect((await tab.get('/api/auth/csrf-token')).setCookies).toEqual([])
    const foreign = await latchkey
      .browser()
      .get('/api/auth/csrf-token', { headers: { 'sec-fetch-site': 'cross-site' } })
    expect([foreign.status, foreign.setCookies]).toEqual([403, []])
  })

  it('is not asked of a visitor who is not signed in: 401 comes first', async () => {
    expect((await latchkey.browser().post('/api/sensitive')).status).toBe(401)
  })
})

describe('the id of a request', () => {
  const given = '5f0c3a52-7d1e-4b8a-9c36-e2f40d715a98'
  const linesOf = (id: string | null) =>
    latchkey.logLines.map((line) => JSON.parse(line)).filter(({ requestId }) => requestId === id)

  it('is in a header and in the log, of every answer but those that are not logged', async () => {
    const tab = latchkey.browser()
    for (const [path, status] of [
      ['/login', 200],
      ['/nothing', 404],
      ['/api/auth/me', 401],
    ] as const) {
      const { headers, status: answered } = await tab.get(path)
      expect(answered).toBe(status)
      expect(headers.get('x-request-id')).toMatch(/^[\da-f-]{36}$/)
      await expect.poll(() => linesOf(headers.get('x-request-id')).length).toBeGreaterThan(0)
    }
    await tab.post('/login', credentials)
    for (const path of ['/api/auth/me', '/api/auth/verify', '/health/live'])
      expect((await tab.get(path)).headers.get('x-request-id')).toBeNull()
  })

  it('is that of a trusted proxy if it is a UUID, and never another text', async () => {
    const answered = async (id: string) =>
      (await latchkey.browser().get('/login', { headers: { 'x-request-id': id } })).headers.get('x-request-id')
    expect(await answered(given)).toBe(given)
    for (const id of ['', given.toUpperCase(), `${given}, ${given}`, `${given}0`, '0'.repeat(4_000), '<b>'])
      expect(await answered(id)).not.toBe(id)
  })

  it('is in the body of a failure, with which its line in the log is found', async () => {
    await latchkey.sql.query('alter table users rename column username to hidden_username')
    const { status, body, headers } = await latchkey.browser().post('/login', credentials)
    await latchkey.sql.query('alter table users rename column hidden_username to username')
    expect([status, body.code]).toEqual([500, 'internal'])
    expect(body.requestId).toBe(headers.get('x-request-id'))
    expect(linesOf(String(body.requestId)).map(({ msg }) => msg)).toContain('request failed')
  })

  it('finds the warning of a sign-in that is refused while a table is missing', async () => {
    await latchkey.sql.query('alter table users rename to hidden_users')
    const { status, body, headers } = await latchkey.browser().post('/login', credentials)
    await latchkey.sql.query('alter table hidden_users rename to users')
    expect([status, body.code, headers.get('retry-after')]).toEqual([503, 'unavailable', expect.any(String)])
    expect(linesOf(String(body.requestId)).map(({ msg }) => msg)).toContain('a store is unavailable')
  })
})

describe('for a reverse proxy', () => {
  it('answers 204 with the identity, or 401', async () => {
    const tab = latchkey.browser()
    expect((await tab.get('/api/auth/verify')).status).toBe(401)
    const { body } = await tab.post('/login', credentials)
    const { status, headers, text } = await tab.get('/api/auth/verify')
    const { id } = body.user as { id: string }
    expect([status, headers.get('x-auth-user-id'), headers.get('x-auth-username'), text]).toEqual([204, id, 'ada', ''])
  })
})

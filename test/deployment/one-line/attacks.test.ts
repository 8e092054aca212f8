import { connect } from 'node:net'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { sessionCookies } from '../../../src/http/cookie-table.js'
import { addApplication } from '../../support/applications.js'
import { type Latchkey, startLatchkey } from '../../support/latchkey.js'
import { read } from '../../support/project.js'
import { freePort } from '../../support/servers/server.js'
import { until } from '../../support/until.js'
import { type Application, startApplication } from '../application.js'
import { type Place, type RunningProxy, startCaddy, startHaproxy, startNginx } from './proxies.js'
import { startCaddyStandIn, startTraefikStandIn } from './stand-ins.js'

// docs/forward-auth-attacks.md explains each of these requests.

let latchkey: Latchkey
let application: Application
let cookies: string

const wiki = 'wiki.site.test'
const family = 'family.site.test'

beforeAll(async () => {
  const settings = { PUBLIC_URL: 'https://auth.site.test', COOKIE_DOMAIN: 'site.test', DEVELOPMENT_ON_NETWORK: 'true' }
  latchkey = await startLatchkey({ settings: { ...settings, TRUST_PROXY: '127.0.0.1' } })
  const { jar } = await latchkey.signedUp('ada')
  // In production the other names begin with __Host-.
  cookies = sessionCookies.map((cookie) => `${cookie}=${jar.get(cookie)}`).join('; ')
  await latchkey.app.rooms.groups.add('family', { ip: 'command line', userAgent: 'test' })
  application = await startApplication()
})
afterAll(async () => {
  await application.stop()
  await latchkey.stop()
})

/** Sends these bytes on a connection of their own, and reads until it ends. */
const ask = (port: number, text: string) =>
  new Promise<{ status: number; head: string; text: string }>((resolve, reject) => {
    let received = ''
    const socket = connect({ port, host: '127.0.0.1' }, () => socket.write(text, 'latin1')).setEncoding('latin1')
    socket.setTimeout(20_000, () => socket.destroy(new Error(`No answer to ${text}`)))
    socket.on('data', (chunk: string) => (received += chunk)).on('error', reject)
    socket.on('close', () => {
      const [head = ''] = received.split('\r\n\r\n')
      resolve({ status: Number(head.split(' ')[1] ?? 0), head, text: received })
    })
  })

type Start = (place: Place) => Promise<RunningProxy>
const proxies: [string, Start][] = [
  ['Caddy', startCaddy],
  ['nginx', startNginx],
  ['HAProxy', startHaproxy],
  ['a stand-in for Traefik', startTraefikStandIn],
  ['a stand-in for Caddy 2.10', startCaddyStandIn],
]

const statusBehind = async (start: Start, latchkeyPort: number) => {
  const port = await freePort()
  const proxy = await start({ port, hosts: [wiki], latchkey: latchkeyPort, application: application.port })
  try {
    const lines = ['GET /reports HTTP/1.1', `Host: ${wiki}:${port}`, 'Connection: close', `Cookie: ${cookies}`]
    return (await ask(port, [...lines, '', ''].join('\r\n'))).status
  } finally {
    await proxy.stop()
  }
}

it.each(proxies)('nobody enters behind %s while Latchkey is away', async (_, start) => {
  const before = application.heard.length
  expect([0, 502, 503]).toContain(await statusBehind(start, await freePort()))
  expect(application.heard).toHaveLength(before)
})

it('nobody enters behind HAProxy if its Lua file fails', async () => {
  const before = application.heard.length
  const failing = (place: Place) => startHaproxy(place, [["txn:set_var('txn.latchkey', 'refused')", "error('broken')"]])
  expect(await statusBehind(failing, latchkey.config.port)).toBe(503)
  expect(application.heard).toHaveLength(before)
})

describe.each(proxies)('an application behind %s and its one line', (name, start) => {
  let proxy: RunningProxy
  let port: number

  beforeAll(async () => {
    port = await freePort()
    const site = (host: string) => {
      const proxyOrigin = `http://${host}:${port}`
      return { proxyOrigin, home: `${proxyOrigin}/`, redirectAddresses: [] }
    }
    const openPaths = ['/public/', 'POST:/hooks/']
    await addApplication(latchkey, { name: `Wiki ${name}`, ...site(wiki), openPaths })
    await addApplication(latchkey, { name: `Family ${name}`, ...site(family), access: 'groups', groups: ['family'] })
    const place = { port, hosts: [wiki, family], latchkey: latchkey.config.port, application: application.port }
    proxy = await start(place)
    await until('the applications are known', async () => (await asUser('/')).status === 200)
    const { protectedApplications } = latchkey.app.rooms
    await until('both', async () => protectedApplications.find(`http://${family}:${port}`) !== undefined)
  })
  afterAll(() => proxy?.stop())

  /** A request, with its headers as lines. */
  const get = (path: string, lines: readonly string[] = [], host = wiki) =>
    ask(port, [`GET ${path} HTTP/1.1`, `Host: ${host}:${port}`, 'Connection: close', ...lines, '', ''].join('\r\n'))
  const asUser = (path: string, lines: readonly string[] = [], host = wiki) =>
    get(path, [`Cookie: ${cookies}; theme=dark`, ...lines], host)

  /** The answer, and what the application has heard of the request. */
  const hearing = async <Result>(work: () => Promise<Result>) => {
    const before = application.heard.length
    const answer = await work()
    return { answer, heard: application.heard.slice(before) }
  }

  /** Nothing reaches the application, and nobody gets a fault of the server. */
  const expectStopped = async (work: () => Promise<{ status: number }>, ...statuses: number[]) => {
    const { answer, heard } = await hearing(work)
    expect(heard).toEqual([])
    if (statuses.length > 0) expect(statuses).toContain(answer.status)
    expect(answer.status).toBeLessThan(500)
  }

  const navigation = ['Sec-Fetch-Mode: navigate', 'Sec-Fetch-Dest: document', 'Sec-Fetch-Site: none']

  it('is told who asks, and gets nothing of ours', async () => {
    const { answer, heard } = await hearing(() => asUser('/page?a=1', ['Authorization: Basic eDp5']))
    expect(answer.status).toBe(200)
    expect(heard[0]?.url).toBe('/page?a=1')
    expect(heard[0]?.headers).toMatchObject({
      'x-auth-username': 'ada',
      cookie: 'theme=dark',
      authorization: 'Basic eDp5',
    })
    const only = await hearing(() => get('/', [`Cookie: ${cookies}; __Host-known_device=x`]))
    expect(['', 'latchkey_none=1']).toContain(only.heard[0]?.headers.cookie ?? '')
    expect(only.heard[0]?.headers.authorization ?? '').toBe('')
    expect(only.heard[0]?.headers['x-auth-token-id'] ?? '').toBe('')
  })

  it('never gets a personal token', async () => {
    const basic = Buffer.from('ada:lk_secret').toString('base64')
    for (const value of ['Bearer lk_secret', 'bearer  lk_secret', `Basic ${basic}`]) {
      const { heard } = await hearing(() => get('/public/a.css', [`Authorization: ${value}`]))
      expect([value, heard.length, heard[0]?.headers.authorization ?? '']).toEqual([value, 1, ''])
    }
  })

  it('passes what is sent on', async () => {
    const text = ['POST /notes HTTP/1.1', `Host: ${wiki}:${port}`, 'Connection: close', `Cookie: ${cookies}`]
    const sent = [...text, 'Content-Length: 5', '', 'hello'].join('\r\n')
    const { answer, heard } = await hearing(() => ask(port, sent))
    expect([answer.status, heard[0]?.method, heard[0]?.body]).toEqual([200, 'POST', 'hello'])
    const chunked = [...text, 'Transfer-Encoding: chunked', '', '5', 'hello', '0', '', ''].join('\r\n')
    const second = await hearing(() => ask(port, chunked))
    expect([second.answer.status, second.heard[0]?.body]).toEqual([200, 'hello'])
  })

  it('has its visitors led to the pages that help, and programs told', async () => {
    const { answer, heard } = await hearing(() => get('/page?a=1', navigation))
    const wayBack = encodeURIComponent(`http://${wiki}:${port}/page?a=1`)
    expect(answer.status).toBe(302)
    expect(answer.head).toContain(`ocation: ${latchkey.url}/login?returnTo=${wayBack}`)
    const program = await get('/page')
    expect([program.status, /\r\nwww-authenticate: (?:bearer|basic)/i.test(program.head)]).toEqual([401, true])
    expect(program.text).toContain('not_authenticated')
    expect((await asUser('/', [], family)).status).toBe(403)
    expect((await asUser('/', navigation, family)).head).toContain('/step-up?group=1&returnTo=')
    expect(heard).toEqual([])
  })

  it('has open paths, where nobody is named', async () => {
    const { answer, heard } = await hearing(() => asUser('/public/a.css'))
    expect([answer.status, heard[0]?.headers['x-auth-user-id'] ?? '']).toEqual([200, ''])
  })

  it.each([
    ['another address in X-Forwarded-Uri', ['X-Forwarded-Uri: /public/a']],
    ['another address with underscores', ['X_Forwarded_Uri: /public/a', 'X_Forwarded_Host: other.example']],
    ['another host in X-Forwarded-Host', ['X-Forwarded-Host: other.example']],
    ['another scheme', ['X-Forwarded-Proto: https', 'X-Forwarded-Ssl: on']],
    ['another method', ['X-Forwarded-Method: OPTIONS', 'X-HTTP-Method-Override: OPTIONS']],
    ['another address of itself', ['X-Forwarded-For: not an address']],
    ['the name of a health check', ['User-Agent: GoogleHC/1.0']],
    ['a cookie of a kind', ['Cookie: access_token=e30.e30.e30; __Host-latchkey=x']],
  ])('lets no stranger in who sends %s', async (_, lines) => {
    await expectStopped(() => get('/reports', lines), 400, 401, 403)
  })

  it.each([
    ['both families', ['X-Original-URL: http://wiki.localhost/public/', 'X-Original-Method: GET']],
    ['one of the other family', ['X-Original-URL: /public/']],
  ])('is not misled by %s of headers', async (_, lines) => {
    await expectStopped(() => get('/reports', lines), 400, 401)
  })

  it.each(['x-auth-groups', 'X-Auth-User-Id', 'x-auth-token-id', 'X_Auth_Groups', 'X-Auth_Groups', 'X.Auth.Groups'])(
    'hears no %s of a visitor',
    async (header) => {
      for (const path of ['/reports', '/public/a']) {
        const { answer, heard } = await hearing(() => asUser(path, [`${header}: forged`]))
        expect(JSON.stringify(heard.map(({ headers }) => headers))).not.toContain('forged')
        expect(answer.status === 400 || heard.length === 1).toBe(true)
      }
    },
  )

  it.each(['X-Auth-User-Id', 'X-Auth-Groups', 'Cookie', 'Authorization'])(
    'hears no forged %s that Connection names',
    async (header) => {
      const text = [
        `GET /reports HTTP/1.1`,
        `Host: ${wiki}:${port}`,
        `Cookie: ${cookies}`,
        `Connection: close, ${header}`,
      ]
      const forged = header === 'Cookie' ? [] : [`${header}: forged`]
      for (const lines of [forged, []]) {
        const { heard } = await hearing(() => ask(port, [...text, ...lines, '', ''].join('\r\n')))
        const [{ headers } = { headers: {} as Record<string, unknown> }] = heard
        const ours = JSON.stringify(header === 'Authorization' ? { ...headers, authorization: '' } : headers)
        expect(ours).not.toContain('forged')
        expect(ours).not.toContain('access_token=')
      }
    },
  )

  it.each(['X-Auth-Scope', 'X-Auth-Client', 'X-Auth-Factors', 'X-Auth-User-Id'])(
    'hears every header of the check, also %s that Connection names',
    async (header) => {
      const named = `Connection: close, ${header}`
      const { answer, heard } = await hearing(() => asUser('/reports', [named]))
      const { heard: usual } = await hearing(() => asUser('/reports', []))
      const names = (requests: typeof heard) =>
        requests.map(({ headers }) => Object.keys(headers).filter((each) => each.startsWith('x-auth-')))
      expect(names(usual).flat()).toContain('x-auth-user-id')
      if (answer.status === 400) expect(heard).toEqual([])
      else expect(names(heard)).toEqual(names(usual))
    },
  )

  it.each([
    '/public/../reports',
    '/public/..%2freports',
    '/public/%2e%2e/reports',
    '/public/..;/reports',
    '//public/../reports',
    '/public\\..\\reports',
    '/reports#/public/',
    '/reports%23/public/',
    '/reports?/public/',
    '/Public/a',
    '/%70ublic/a',
    '/public%2fa',
    '/public',
  ])('is closed to strangers at %s', async (path) => {
    await expectStopped(() => get(path), 400, 401, 403)
  })

  it('is closed where an open path has another address beside it', async () => {
    for (const header of ['X-Rewrite-URL', 'X-Original-URI'])
      await expectStopped(() => get('/public/a', [`${header}: /reports`]), 400, 401)
  })

  it('is closed to other methods at an open path', async () => {
    const head = (method: string) => [`${method} /public/a HTTP/1.1`, `Host: ${wiki}:${port}`, 'Connection: close']
    for (const method of ['POST', 'OPTIONS', 'DELETE', 'MOVE'])
      await expectStopped(() => ask(port, [...head(method), 'Content-Length: 0', '', ''].join('\r\n')), 401, 405, 501)
  })

  it('is found by its host alone, however that is written', async () => {
    expect((await ask(port, head1('GET', '/', `WIKI.site.test:${port}`))).status).toBe(200)
    for (const host of ['FAMILY.site.test', 'Family.SITE.TEST']) await expectStopped(() => asUser('/', [], host), 403)
    expect((await hearing(() => asUser('/', [], 'other.site.test'))).heard).toEqual([])
  })
  const head1 = (method: string, path: string, host: string) =>
    [`${method} ${path} HTTP/1.1`, `Host: ${host}`, 'Connection: close', `Cookie: ${cookies}`, '', ''].join('\r\n')

  it.each([
    ['an address in the request line', () => head1('GET', `http://${family}:${port}/reports`, `${wiki}:${port}`)],
    ['a dot after the host', () => head1('GET', '/reports', `${family}.:${port}`)],
    ['a host twice', () => head1('GET', '/reports', `${wiki}:${port}\r\nHost: ${family}:${port}`)],
    ['HTTP/1.0 without Host', () => `GET /reports HTTP/1.0\r\nCookie: ${cookies}\r\n\r\n`],
    ['a user before the host', () => head1('GET', '/reports', `${wiki}@${family}:${port}`)],
  ])('does not get a visitor of another one by %s', async (_, text) => {
    const { heard } = await hearing(() => ask(port, text()))
    expect(heard).toEqual([])
  })

  it('is not entered through a body that is announced and not sent', async () => {
    const first = ['GET /reports HTTP/1.1', `Host: ${wiki}:${port}`, 'Content-Length: 300', '', 'GET /x HTTP/1.1'].join(
      '\r\n',
    )
    const socket = connect({ port, host: '127.0.0.1' }, () => socket.write(first))
    socket.on('error', () => undefined)
    // Meanwhile others are answered as themselves.
    for (let time = 0; time < 5; time += 1) {
      expect((await asUser('/')).status).toBe(200)
      await expectStopped(() => get('/reports'), 401)
    }
    socket.destroy()
  })

  const upgrade = (...values: string[]) =>
    [
      'GET /socket HTTP/1.1',
      `Host: ${wiki}:${port}`,
      `Cookie: ${cookies}`,
      'Connection: Upgrade, HTTP2-Settings',
      ...values.map((value) => `Upgrade: ${value}`),
      'HTTP2-Settings: AAMAAABkAAQAoAAAAAIAAAAA',
      'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==',
      'Sec-WebSocket-Version: 13',
      '',
      '',
    ].join('\r\n')

  /** What the application has heard of a connection that it may keep. */
  const heardOf = async (text: string) => {
    const before = application.heard.length
    const socket = connect({ port, host: '127.0.0.1' }, () => socket.write(text)).on('error', () => undefined)
    let received = ''
    socket.setEncoding('latin1').on('data', (chunk: string) => (received += chunk))
    await until('there is an answer', () => received.includes('\r\n\r\n'))
    socket.destroy()
    return { status: received.slice(9, 12), heard: application.heard.slice(before) }
  }

  it('passes no h2c on, however it is asked for', async () => {
    for (const values of [['h2c'], ['H2C'], ['websocket, h2c'], ['h2c', 'websocket']]) {
      const { status, heard } = await heardOf(upgrade(...values))
      expect(status).not.toBe('101')
      expect(heard.map(({ headers }) => headers.upgrade ?? '').join()).not.toMatch(/h2c/i)
    }
  })

  if (!name.startsWith('a stand-in'))
    it('passes WebSockets on to those who may enter', async () => {
      const { status, heard } = await heardOf(upgrade('websocket'))
      expect([status, heard[0]?.headers['x-auth-username']]).toEqual(['101', 'ada'])
      const stranger = upgrade('websocket').replace(/Cookie: .*\r\n/, '')
      expect(await heardOf(stranger)).toEqual({ status: '401', heard: [] })
    })

  it('shows no page of ours in a frame, and renews nothing for a prefetch', async () => {
    const frame = ['Sec-Fetch-Mode: navigate', 'Sec-Fetch-Dest: iframe', 'Sec-Fetch-Site: cross-site']
    await expectStopped(() => get('/', frame), 401)
    await expectStopped(() => get('/', [...navigation, 'Sec-Purpose: prefetch']), 401)
  })
})

// The service does not pass them on. This is for a Caddy that keeps what the visitor has sent.
it('the file for Caddy removes a token of ours, wherever it begins in the code of Basic', async () => {
  const file = await read('deploy/forward-auth/latchkey.caddyfile')
  const patterns = [...file.matchAll(/request_header Authorization "(.*)" "\$99"$/gm)].map(
    ([, text = '']) => new RegExp(text),
  )
  const isRemoved = (value: string) => patterns.some((pattern) => pattern.test(value))
  const token = `lk_${'a'.repeat(49)}`
  const basic = (text: string) => `Basic ${Buffer.from(text).toString('base64')}`
  const passwords = ['', 'a', 'ab', 'abc', 'ada@example.com'].flatMap((name) =>
    ['0', 'a', 'Z'].map((first) => basic(`${name}:lk_${first}${token}`)),
  )
  expect([`Bearer ${token}`, `bearer  ${token}`, ...passwords].filter((value) => !isRemoved(value))).toEqual([])
  const others = ['Bearer eyJ', 'Basic eDp5', basic('ada:secret'), basic('lk_a:b'), basic('ada:lk-1')]
  expect(others.filter(isRemoved)).toEqual([])
})

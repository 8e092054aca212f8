import { request as requestPlain } from 'node:http'
import { connect as connectPlain } from 'node:net'
import { connect } from 'node:tls'
import { expect } from 'vitest'
import { refuse } from '#contract/outcome.js'
import { bodyOf } from '../../src/http/errors.js'
import { securityHeaders } from '../../src/http/headers.js'

import type { Answer, FrontEnd, Visitor } from '../support/site/https-client.js'
import type { Application } from './application.js'

/** What a browser sends along when a person follows a link, or sends a form. */
export const navigation = (site: string) => ({
  accept: 'text/html',
  'sec-fetch-mode': 'navigate',
  'sec-fetch-site': site,
})

/** Our own names, in the spellings that some gateway takes for them. */
export const forged = {
  'x-request-id': '5f0c3a52-7d1e-4b8a-9c36-e2f40d715a98',
  'x-auth-user-id': 'forged',
  'x-auth-username': 'forged',
  'x-auth-name': 'forged',
  'x-auth-email': 'forged',
  'x-auth-session-id': 'forged',
  'x-auth-factors': 'forged',
  'x-auth-time': 'forged',
  'x-auth-groups': 'forged',
  x_auth_user_id: 'forged',
  'x-auth_user-id': 'forged',
  X_AUTH_EMAIL: 'forged',
  'x-forwarded-for': '203.0.113.9',
}

/** Headers that some application believes, and that a client may not set: who asks, and for which address. */
const misleading = Object.fromEntries(
  [
    'X-Original-URL X-Original-URI X-Rewrite-URL X-Forwarded-Port X-Forwarded-Prefix X-Forwarded-Server X-Forwarded-User',
    'X-Forwarded-Uri X-Forwarded-Method X-Forwarded-Email X-Forwarded-Groups Remote-User Remote-Groups X-Remote-User Proxy',
    'X-Auth-Roles X-Auth-Groups X-Auth-Email X-Auth-Name X-Auth-User X-Auth-Request-User X-Auth-Request-Email X.Auth.User.Id',
    'X-Real-IP X-Client-IP True-Client-IP CF-Connecting-IP Forwarded X_Forwarded_User REMOTE_USER',
  ]
    .join(' ')
    .split(' ')
    .map((name) => [name, 'made-up']),
)

export const expectNotMisled = async (visitor: Visitor, application: Application, paths: string[]) => {
  for (const path of paths) {
    expect((await visitor.get(path, misleading)).status).toBe(200)
    const { url, headers = {} } = application.last() ?? {}
    expect(url).toBe(path)
    expect(Object.keys(headers).filter((name) => headers[name] === 'made-up')).toEqual([])
  }
}

/** An answer of the proxy's own has every security header of the service, once each. */
export const expectOurHeaders = ({ lines }: Answer, { opener = true } = {}) => {
  const expected = Object.entries({
    ...securityHeaders(true),
    'strict-transport-security': 'max-age=31536000; includeSubDomains',
  }).filter(([name]) => opener || name !== 'cross-origin-opener-policy')
  const sent = lines.filter(([name]) => expected.some(([each]) => each === name))
  expect(Object.fromEntries(sent)).toEqual(Object.fromEntries(expected))
  expect(sent).toHaveLength(expected.length)
}

/** What an outage looks like: a page for a person, JSON for a program, and both say when to come back. */
export const expectOutage = (person: Answer, program: Answer, cause: string) => {
  expect([person.status, person.headers['content-type']]).toEqual([503, 'text/html; charset=utf-8'])
  expect(person.text).toContain('This page is not available at the moment')
  expect(person.text).toContain('Try again in a minute.')
  expect(person.text).toContain(cause)
  expect([program.status, program.body]).toEqual([
    503,
    { code: 'unavailable', error: 'Temporarily unavailable', message: 'Try again in a moment' },
  ])
  for (const answer of [person, program]) {
    expect(answer.headers['retry-after']).toBe('5')
    expectOurHeaders(answer)
  }
}

/** Other programs read the public keys through the proxy, without a session. */
export const expectPublicKeys = async (visitor: Visitor) => {
  const { status, headers, body } = await visitor.get('/.well-known/jwks.json')
  expect([status, headers['cache-control'], body]).toEqual([200, 'public, max-age=300', { keys: [] }])
  // Without an application there is no metadata yet, but an answer of Latchkey all the same.
  const metadata = await visitor.get('/.well-known/oauth-authorization-server/api/auth')
  const own = [metadata.status, metadata.body.code, metadata.headers['x-request-id']]
  expect(own).toEqual([404, 'not_found', expect.any(String)])
}

/** The proxy answers by itself: an answer of Latchkey has the id of its request. */
export const expectNoAdministrators = async (visitor: Visitor) => {
  for (const path of [
    '/api/auth/admin',
    '/api/auth/admin/api/users',
    '/api/auth/%61dmin/api/users',
    '/api/auth//admin/',
  ]) {
    const { status, headers, body } = await visitor.get(path)
    expect([path, status, body.code, headers['x-request-id']]).toEqual([path, 404, 'not_found', undefined])
  }
  expect((await visitor.get('/api/auth/administrators')).headers['x-request-id']).toBeDefined()
}

/** The browser withholds our cookies from such a form, so nothing is known about the session. */
export const expectForeignForm = async (visitor: Visitor) => {
  const foreign = await visitor.send('POST', '/reports', undefined, { headers: navigation('cross-site') })
  expect([foreign.status, foreign.headers['content-type']]).toEqual([401, 'text/html; charset=utf-8'])
  expect(foreign.text).toContain('It comes from another site.')
  expect(foreign.text).not.toContain('expired')
  expectOurHeaders(foreign, { opener: false })
}

/** Writes exactly these bytes, and reads the status of the answer. Whatever follows, a tunnel too, is cut off. */
const statusOf = ({ port, certificate }: FrontEnd, bytes: string) =>
  new Promise<number>((resolve, reject) => {
    let text = ''
    const socket = connect({ port, host: '127.0.0.1', servername: 'localhost', ca: certificate })
    socket.once('secureConnect', () => socket.write(bytes))
    socket.once('error', reject)
    socket.setTimeout(10_000, () => socket.destroy(new Error('no answer')))
    socket.setEncoding('utf8').on('data', (more: string) => {
      text += more
      if (!text.includes('\r\n')) return
      resolve(Number(text.split(' ')[1]))
      socket.destroy()
    })
  })

const webSocket = 'Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ=='
const h2c = 'HTTP2-Settings: AAMAAABk'
/** The lines of a request, and whether a WebSocket may begin with it. Behind any other tunnel no request would be checked. */
const protocolChanges: [lines: string, isWebSocket: boolean][] = [
  [`Connection: Upgrade\r\nUpgrade: websocket\r\n${webSocket}`, true],
  [`Connection: keep-alive, Upgrade\r\nUpgrade: WebSocket\r\n${webSocket}`, true],
  [`Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\n${h2c}`, false],
  [`Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nUpgrade: websocket\r\n${h2c}`, true],
  [`Connection: Upgrade, HTTP2-Settings\r\nUpgrade: websocket\r\nUpgrade: h2c\r\n${h2c}`, true],
  [`Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c, websocket\r\n${h2c}`, false],
  [`Connection: Upgrade, HTTP2-Settings\r\nUpgrade: websocket, h2c\r\n${h2c}`, false],
  [`Connection: Upgrade\r\nConnection: HTTP2-Settings\r\nUpgrade: \th2c\r\n${h2c}`, false],
  [`Connection: Upgrade\r\nUpgrade: TLS/1.3`, false],
]

/** No tunnel but a WebSocket is opened, and the application never hears of another protocol. */
export const expectOnlyWebSockets = async (door: FrontEnd, cookie: string, application: Application) => {
  for (const [lines, isWebSocket] of protocolChanges) {
    const before = application.heard.length
    const status = await statusOf(
      door,
      `GET /reports HTTP/1.1\r\nHost: localhost:${door.port}\r\nCookie: ${cookie}\r\n${lines}\r\n\r\n`,
    )
    const { headers } = application.heard[before] ?? {}
    const wasPassedOn = headers?.upgrade
    expect([lines, wasPassedOn]).toEqual([lines, isWebSocket && status === 101 ? 'websocket' : undefined])
    expect([lines, status === 101]).toEqual([lines, lines.includes(webSocket) || (isWebSocket && status === 101)])
  }
}

/** What a client's `Connection` names is removed on the way. The headers that say who asks must stay. */
export const expectIdentityStays = async (visitor: Visitor, application: Application) => {
  const names = 'X-Auth-User-Id, X-Auth-Factors, X-Auth-Username, X-Auth-Session-Id, X-Auth-Time, X-Forwarded-For'
  for (const connection of [`close, ${names}`, names, `keep-alive, ${names}`]) {
    expect((await visitor.get('/reports', { connection })).status).toBe(200)
    const { headers = {} } = application.last() ?? {}
    expect(headers).toMatchObject({ 'x-auth-factors': '1', 'x-forwarded-for': '127.0.0.1' })
    expect(headers['x-auth-username']).toMatch(/./)
    expect(headers['x-auth-user-id']).toMatch(/^[0-9a-f-]{36}$/)
    expect(headers['x-auth-session-id']).toMatch(/^[0-9a-f-]{36}$/)
  }
}

/** Writes exactly these bytes, which no HTTP library would, and reads the one answer. */
export const speak = async ({ port, certificate }: FrontEnd, bytes: string, from = '127.0.0.1'): Promise<Answer> => {
  const heard = await new Promise<string>((resolve, reject) => {
    let text = ''
    // A server that refuses a body in the middle may reset the connection after its answer.
    const fail = (error: Error) => (text ? resolve(text) : reject(error))
    const line = connectPlain({ port, host: '127.0.0.1', localAddress: from }).on('error', fail)
    const socket = connect({ socket: line, servername: 'localhost', ca: certificate })
    socket.setEncoding('utf8').on('data', (more: string) => {
      text += more
    })
    socket.once('secureConnect', () => socket.write(bytes))
    socket.on('error', fail)
    socket.once('close', () => resolve(text))
    socket.setTimeout(10_000, () => socket.destroy(new Error('no answer')))
  })
  const [head = '', body = ''] = heard.split('\r\n\r\n')
  const [first = '', ...rest] = head.split('\r\n')
  const lines = rest.map((line): [string, string] => {
    const [name = '', ...value] = line.split(': ')
    return [name.toLowerCase(), value.join(': ')]
  })
  const headers = Object.fromEntries(lines)
  const isJson = headers['content-type']?.startsWith('application/json') ?? false
  return { status: Number(first.split(' ')[1]), headers, lines, text: body, body: isJson ? JSON.parse(body) : {} }
}

/** Node keeps 2,000 header lines by default and drops the rest, and a proxy may write its own ones last. */
export const expectAddressBehindManyHeaders = async (door: FrontEnd, tinyHeaders: number) => {
  const lines = `Host: localhost:${door.port}\r\nContent-Type: application/json\r\nContent-Length: 2\r\nConnection: close\r\n`
  // Malformed, which counts as an attempt and costs no hash.
  const attempt = (from: string, tiny: number) =>
    speak(door, `POST /login HTTP/1.1\r\n${lines}${'D:\r\n'.repeat(tiny)}\r\n{}`, from)
  const statuses: number[] = []
  for (let guess = 0; guess < 5; guess += 1) statuses.push((await attempt('127.0.0.5', tinyHeaders)).status)
  expect(statuses).toEqual([400, 400, 400, 400, 400])
  expect((await attempt('127.0.0.5', 0)).status).toBe(429)
  expect((await attempt('127.0.0.6', tinyHeaders)).status).toBe(400)
}

/** Plain HTTP: a page is redirected, and what should have been encrypted is refused in words. */
export const expectPlainRefused = async (port: number, site: string) => {
  const ask = (method: string, path: string) =>
    new Promise<{ status: number | undefined; location: string | undefined; text: string }>((resolve, reject) => {
      const asked = requestPlain({ host: 'localhost', family: 4, port, method, path }, async (answer) => {
        const text = (await answer.toArray()).join('')
        resolve({ status: answer.statusCode, location: answer.headers.location, text })
      })
      asked.once('error', reject).end()
    })
  for (const path of ['/login?returnTo=%2Fx', '/apix', '/reports/api/x'])
    expect(await ask('GET', path)).toMatchObject({ status: 301, location: `${site}${path}` })
  for (const [method, path] of [
    ['GET', '/api/auth/me'],
    ['GET', '/api/notes?a=1'],
    ['POST', '/api/auth/login'],
    ['POST', '/login'],
  ] as const) {
    const { status, location, text } = await ask(method, path)
    expect([status, location, JSON.parse(text)]).toEqual([403, undefined, bodyOf(refuse('https_required'))])
  }
}

import { connect } from 'node:tls'
import { expect } from 'vitest'
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
  'x-auth-user-id': 'forged',
  'x-auth-username': 'forged',
  'x-auth-name': 'forged',
  'x-auth-email': 'forged',
  'x-auth-session-id': 'forged',
  'x-auth-factors': 'forged',
  'x-auth-time': 'forged',
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
}

/** The browser withholds our cookies from such a form, so nothing is known about the session. */
export const expectForeignForm = async (visitor: Visitor) => {
  const foreign = await visitor.send('POST', '/reports', undefined, { headers: navigation('cross-site') })
  expect([foreign.status, foreign.headers['content-type']]).toEqual([401, 'text/html; charset=utf-8'])
  expect(foreign.text).toContain('It comes from another site.')
  expect(foreign.text).not.toContain('expired')
  expectOurHeaders(foreign, { opener: false })
}

/** Writes exactly these bytes, which no HTTP library would, and reads the one answer. */
export const speak = async ({ port, certificate }: FrontEnd, bytes: string): Promise<Answer> => {
  const heard = await new Promise<string>((resolve, reject) => {
    let text = ''
    const socket = connect({ port, host: '127.0.0.1', servername: 'localhost', ca: certificate })
    socket.setEncoding('utf8').on('data', (more: string) => {
      text += more
    })
    socket.once('secureConnect', () => socket.write(bytes))
    // A server that refuses a body in the middle may reset the connection after its answer.
    socket.once('error', (error: Error) => (text ? resolve(text) : reject(error)))
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
  return { status: Number(first.split(' ')[1]), headers, lines, text: body, body: JSON.parse(body) }
}

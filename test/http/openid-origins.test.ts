import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type LimiterName, limiterKey } from '../../src/http/limiters.js'
import { originsOf } from '../../src/openid/openid-door.js'
import { addApplication } from '../support/applications.js'
import { createProtocolClient, postForm } from '../support/authorizations.js'
import { type Latchkey, startLatchkey } from '../support/latchkey.js'

/** An application that uses our sign-in by its cookies, and no OpenID. */
const sibling = 'https://shop.example.com'
let latchkey: Latchkey
type Added = Awaited<ReturnType<typeof addApplication>>
let web: Added
let spa: Added
let tool: Added
beforeAll(async () => {
  latchkey = await startLatchkey({ settings: { ALLOWED_ORIGINS: sibling } })
  web = await addApplication(latchkey)
  tool = await addApplication(latchkey, {
    name: 'Tool',
    kind: 'native',
    deviceFlow: true,
    home: 'http://127.0.0.1/',
    redirectAddresses: ['http://127.0.0.1/'],
  })
  const redirectAddresses = ['https://spa.example.org/', 'https://spa.example.org/silent', 'http://127.0.0.1:8123/']
  spa = await addApplication(latchkey, { name: 'Spa', kind: 'browser', redirectAddresses })
  await latchkey.signedUp('ada')
})
afterAll(() => latchkey.stop())

const { readyCode, token } = createProtocolClient(() => ({ latchkey, application: spa }))

type Asked = { origin: string; method: string; path: string; body?: string; type?: string }

/** What a browser is told about the page that sends this. With `fetch` a test could not say where it is. */
const cors = async ({ origin, method, path, body = 'a=b', type = 'application/x-www-form-urlencoded' }: Asked) => {
  const { headers } = await latchkey.app.server.inject({
    method: method as 'GET',
    url: `/api/auth/${path}`,
    headers: {
      host: new URL(latchkey.url).host,
      origin,
      'sec-fetch-site': 'cross-site',
      'sec-fetch-mode': 'cors',
      'sec-fetch-dest': 'empty',
      ...(method === 'OPTIONS' && { 'access-control-request-method': 'POST' }),
      ...(method === 'POST' && { 'content-type': type }),
    },
    ...(method === 'POST' && { payload: body }),
  })
  return Object.fromEntries(Object.entries(headers).filter(([name]) => name.startsWith('access-control-')))
}

const forApplications = [
  { method: 'POST', path: 'token' },
  { method: 'POST', path: 'revoke' },
  { method: 'GET', path: 'userinfo' },
  { method: 'POST', path: 'userinfo' },
]
/** They are refused before their handlers see them. */
const refusedEarly = ['token', 'revoke', 'userinfo'].flatMap((path) => [
  { method: 'POST', path, body: 'a=%00' },
  { method: 'POST', path, body: `a=${'x'.repeat(17_000)}` },
  { method: 'POST', path, type: 'text/plain' },
])
const preflights = ['token', 'revoke', 'userinfo'].map((path) => ({ method: 'OPTIONS', path }))
const forEveryone = [
  { method: 'GET', path: 'keys' },
  { method: 'GET', path: '.well-known/openid-configuration' },
]
/** The pages' own API, and what cookies open. */
const ownOnly = [
  { method: 'POST', path: 'authorization', body: '{}', type: 'application/json' },
  { method: 'POST', path: 'authorization/answer', body: '{}', type: 'application/json' },
  { method: 'POST', path: 'end-session/answer', body: '{}', type: 'application/json' },
  { method: 'GET', path: 'me' },
]

describe('the pages of an application in browsers', () => {
  it.each(['https://spa.example.org', 'http://127.0.0.1:8123'])(
    'at %s may read the answers, without credentials',
    async (origin) => {
      const answered = {
        'access-control-allow-origin': origin,
        'access-control-expose-headers': 'WWW-Authenticate, Retry-After',
      }
      for (const address of [...forApplications, ...refusedEarly])
        expect([address, await cors({ ...address, origin })]).toEqual([address, answered])
      for (const address of preflights)
        expect([address, await cors({ ...address, origin })]).toEqual([
          address,
          {
            ...answered,
            'access-control-allow-methods': 'GET, POST',
            'access-control-allow-headers': 'Authorization, Content-Type',
            'access-control-max-age': '600',
          },
        ])
      for (const address of ownOnly) expect([address, await cors({ ...address, origin })]).toEqual([address, {}])
      const sent = await token(
        { ...(await readyCode()), client_id: spa.id },
        { origin, 'sec-fetch-site': 'cross-site' },
      )
      expect([sent.status, sent.headers.get('access-control-allow-origin')]).toEqual([200, origin])
    },
  )

  it('are not those of the machine of the service in production, and never those of other kinds', async () => {
    expect(originsOf(spa, true)).toEqual(['https://spa.example.org', 'https://spa.example.org'])
    const addresses = { redirectAddresses: ['com.example.app:/callback', 'http://[::1]/', 'https://tv.example.com/'] }
    expect(originsOf({ ...spa, ...addresses, kind: 'native' }, false)).toEqual([])
    expect(originsOf({ ...spa, ...addresses }, false)).toEqual(['http://[::1]', 'https://tv.example.com'])
  })
})

describe('a page', () => {
  it.each([
    ['without an origin of its own', 'null'],
    ['of an application with a secret', 'https://notes.example.com'],
    ['of an allowed origin', sibling],
    ['of nobody', 'https://evil.example'],
    ['of another scheme', 'http://spa.example.org'],
    ['of another port', 'https://spa.example.org:8443'],
    ['of a longer name', 'https://spa.example.org.evil.example'],
    ['of another port of this machine', 'http://127.0.0.1:8124'],
    ['of another name of this machine', 'http://localhost:8123'],
  ])('%s (%s) may read the keys and no answer to an application', async (_, origin) => {
    for (const address of [...forApplications, ...refusedEarly, ...preflights])
      expect([address, await cors({ ...address, origin })]).toEqual([address, {}])
    for (const address of forEveryone)
      expect([address, await cors({ ...address, origin })]).toEqual([address, { 'access-control-allow-origin': '*' }])
  })
})

describe('a page that does not belong to the client', () => {
  type Page = { headers: Record<string, string>; of?: () => string }
  const pages: readonly [string, Page][] = [
    ['of another site', { headers: { origin: 'https://evil.example', 'sec-fetch-site': 'cross-site' } }],
    ['in a frame without an origin', { headers: { origin: 'null', 'sec-fetch-site': 'cross-site' } }],
    ['of a sibling host', { headers: { origin: 'https://evil.example.com', 'sec-fetch-site': 'same-site' } }],
    ['of an older browser', { headers: { origin: 'https://evil.example' } }],
    ['whose origin a filter has removed', { headers: { 'sec-fetch-site': 'cross-site' } }],
    ['of our own', { headers: { origin: 'http://localhost', 'sec-fetch-site': 'same-origin' } }],
    ['of an allowed origin', { headers: { origin: sibling, 'sec-fetch-site': 'same-site' } }],
    ['of another application', { headers: { origin: 'https://spa.example.org' }, of: () => web.id }],
    ['of a native application', { headers: { origin: 'http://127.0.0.1' } }],
  ]
  const network = '203.0.113.77'
  const send = async (path: string, headers: Record<string, string>, form: Record<string, string>) => {
    const from = { 'x-forwarded-for': network, ...headers }
    const { status, body } = await postForm(latchkey.url, `/api/auth/${path}`, form, from)
    return { status, error: body.error }
  }
  /** How often each counter of this network was used. */
  const counted = async () => {
    const subjects: readonly [LimiterName, string][] = [
      ['login', network],
      ['client_failures', network],
      ['device_requests', network],
      ['userinfo_refusals', network],
      ...[spa.id, tool.id].map((id): [LimiterName, string] => ['application', `application:${id}:${network}`]),
      ['application', `application:${web.id}`],
    ]
    const wide = { maximum: 1_000, window: 1_000_000 }
    const used = await Promise.all(
      subjects.map(async ([name, subject]) => {
        const key = limiterKey(name, subject)
        const { remaining, window } = await latchkey.app.platform.cache.reserve(key, wide)
        await latchkey.app.platform.cache.refund([{ key, window }])
        return wide.maximum - 1 - remaining
      }),
    )
    return used
  }

  it.each(pages)('%s uses up nothing of the network of its visitor', async (_, { headers, of }) => {
    const before = await counted()
    const ids = of ? [of()] : [spa.id, tool.id, web.id, 'nobody']
    for (const path of ['token', 'revoke', 'device'])
      for (const client_id of ids)
        for (const secret of [{}, { client_secret: 'x' }] as Record<string, string>[])
          expect([path, client_id, await send(path, headers, { client_id, ...secret })]).toEqual([
            path,
            client_id,
            { status: 403, error: 'invalid_request' },
          ])
    expect((await send('token', headers, { a: 'b' })).status).toBe(403)
    // UserInfo learns the application from the token: a page of any of them may ask.
    if (!of) expect((await send('userinfo', headers, { access_token: 'x'.repeat(43) })).status).toBe(403)
    expect(await counted()).toEqual(before)
  })

  it('is not a page of the client itself, nor a program, which names no origin', async () => {
    const page = { origin: 'https://spa.example.org', 'sec-fetch-site': 'cross-site' }
    const refresh = { grant_type: 'refresh_token', refresh_token: 'x' }
    expect(await send('token', page, { client_id: spa.id, ...refresh })).toEqual({
      status: 400,
      error: 'invalid_grant',
    })
    expect((await send('revoke', page, { client_id: spa.id, token: 'x' })).status).toBe(200)
    expect((await send('userinfo', page, { access_token: 'x'.repeat(43) })).error).toBe('invalid_token')
    expect((await send('device', {}, { client_id: tool.id })).status).toBe(200)
    // A server may pass on the headers of its own page together with its secret.
    const own = { origin: 'https://notes.example.com' }
    const secret = { client_id: web.id, client_secret: web.secret }
    expect(await send('token', own, { ...secret, ...refresh })).toEqual({ status: 400, error: 'invalid_grant' })
  })
})

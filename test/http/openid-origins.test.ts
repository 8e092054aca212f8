import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { originsOf } from '../../src/http/protocol/browser-origins.js'
import { addApplication } from '../support/applications.js'
import { createProtocolClient } from '../support/authorizations.js'
import { type Latchkey, startLatchkey } from '../support/latchkey.js'

/** An application that uses our sign-in by its cookies, and no OpenID. */
const sibling = 'https://shop.example.com'
let latchkey: Latchkey
let spa: Awaited<ReturnType<typeof addApplication>>
beforeAll(async () => {
  latchkey = await startLatchkey({ settings: { ALLOWED_ORIGINS: sibling } })
  await addApplication(latchkey)
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
    const all = await latchkey.app.nouns.applications.list()
    expect(originsOf(all, true)).toEqual(['https://spa.example.org', 'https://spa.example.org'])
    const addresses = { redirectAddresses: ['com.example.app:/callback', 'http://[::1]/'] }
    expect(originsOf([{ ...spa, ...addresses, kind: 'native' }], false)).toEqual([])
    expect(originsOf([{ ...spa, ...addresses }], false)).toEqual(['http://[::1]'])
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

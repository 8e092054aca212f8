import { afterAll, beforeAll, expect, it } from 'vitest'
import { addApplication } from '../support/applications.js'
import { type Latchkey, startLatchkey } from '../support/latchkey.js'
import { openidApplication } from '../support/openid-application.js'

/** The closed list, written here once more: whoever lets another route be called by other sites changes it in two places. */
const protocolRoutes: Readonly<Record<string, 'program' | 'navigation'>> = {
  'POST /api/auth/token': 'program',
  'OPTIONS /api/auth/token': 'program',
  'POST /api/auth/device': 'program',
  'OPTIONS /api/auth/device': 'program',
  'POST /api/auth/revoke': 'program',
  'OPTIONS /api/auth/revoke': 'program',
  'GET /api/auth/userinfo': 'program',
  'POST /api/auth/userinfo': 'program',
  'OPTIONS /api/auth/userinfo': 'program',
  'GET /api/auth/.well-known/openid-configuration': 'program',
  'GET /api/auth/keys': 'program',
  'POST /api/auth/authorize': 'navigation',
  'POST /api/auth/end-session': 'navigation',
}

let latchkey: Latchkey
let spaId: string
beforeAll(async () => {
  latchkey = await startLatchkey({ settings: { ALLOWED_ORIGINS: 'https://app.example.com' } })
  await addApplication(latchkey)
  const page = { kind: 'browser' as const, redirectAddresses: ['https://spa.example.org/'] }
  spaId = (await addApplication(latchkey, { name: 'Spa', ...page })).id
})
afterAll(() => latchkey.stop())

const form = 'application/x-www-form-urlencoded'
const json = 'application/json'

/** With `fetch` a test could not say whether a page or the whole window of a browser sends it. */
const send = async (method: string, url: string, headers: Record<string, string>, payload?: string) => {
  const { statusCode, headers: answered } = await latchkey.app.server.inject({
    method: method as 'POST',
    url: url.replaceAll(/:\w+|\*/g, 'x'),
    headers: { host: new URL(latchkey.url).host, ...headers },
    ...(payload === undefined ? {} : { payload }),
  })
  return { status: statusCode, headers: answered }
}

/** As `send`, over the network: routes for programs read headers that only a real request has. */
const fetchFrom = async (method: string, url: string, headers: Record<string, string>, body?: string) => {
  const answer = await fetch(latchkey.url + url, { method, headers, ...(body !== undefined && { body }) })
  return { status: answer.status, headers: Object.fromEntries(answer.headers) }
}

const routes = () => latchkey.app.routes.list().map(({ method, url }) => ({ method, url, name: `${method} ${url}` }))
const isListed = (name: string) => Object.hasOwn(protocolRoutes, name)
const ofAnotherSite = { origin: 'https://evil.example', 'sec-fetch-site': 'cross-site', 'sec-fetch-dest': 'empty' }

it('every route that is not on the list refuses forms, and every request of another site', async () => {
  const unsafe = routes().filter(({ method, name }) => !['GET', 'OPTIONS'].includes(method) && !isListed(name))
  expect(unsafe.length).toBeGreaterThan(40)
  for (const { method, url, name } of unsafe) {
    const own = { origin: latchkey.url, 'sec-fetch-site': 'same-origin' }
    expect((await send(method, url, { ...own, 'content-type': form }, 'a=b')).status, `a form at ${name}`).toBe(415)
    for (const type of [form, json]) {
      const navigation = { ...ofAnotherSite, 'sec-fetch-mode': 'navigate', 'sec-fetch-dest': 'document' }
      const sent = await send(method, url, { ...navigation, 'content-type': type }, '{}')
      expect(sent.status, `${type} of another site at ${name}`).toBe(403)
    }
  }
})

it('routes on the list take forms of pages of applications and no JSON, and answer without credentials', async () => {
  const listed = routes().filter(({ name }) => isListed(name))
  expect(listed.map(({ name }) => name).sort()).toEqual(Object.keys(protocolRoutes).sort())
  for (const { method, url, name } of listed) {
    const isNavigation = protocolRoutes[name] === 'navigation'
    const from = isNavigation
      ? { ...ofAnotherSite, 'sec-fetch-mode': 'navigate', 'sec-fetch-dest': 'document' }
      : { ...ofAnotherSite, origin: 'https://spa.example.org' }
    const ask = isNavigation ? send : fetchFrom
    const sent =
      method === 'POST'
        ? await ask(method, url, { ...from, 'content-type': form }, `client_id=${spaId}`)
        : await ask(method, url, from)
    expect([403, 415, 500], name).not.toContain(sent.status)
    if (method === 'POST')
      expect((await ask(method, url, { ...from, 'content-type': json }, '{}')).status, name).toBe(415)
    const allowed = await ask(method, url, { ...from, origin: 'https://app.example.com' })
    expect(allowed.headers['access-control-allow-credentials'], `${name} of an allowed origin`).toBeUndefined()
    expect(sent.headers['set-cookie'], `${name} sets a cookie`).toBeUndefined()
  }
})

it('no other route takes a bearer token: neither one of a session, nor one of an application', async () => {
  const tab = await latchkey.signedUp('ada')
  const application = await openidApplication(latchkey, { name: 'Bearer', algorithm: 'ES256' })
  const { access_token, id_token, refresh_token = '' } = await application.signIn(tab)
  const bearers = [tab.jar.get('access_token') ?? '', access_token, id_token, refresh_token]
  const own = { origin: latchkey.url, 'sec-fetch-site': 'same-origin' }
  const others = routes().filter(({ method, name }) => method !== 'HEAD' && !isListed(name))
  expect(others.length).toBeGreaterThan(60)
  for (const { method, url, name } of others) {
    const without = await send(method, url, own)
    for (const bearer of bearers) {
      const sent = await send(method, url, { ...own, authorization: `Bearer ${bearer}` })
      expect(sent.status, `${name} with ${bearer.slice(0, 12)}`).toBe(without.status)
    }
  }
})

it('a route for navigations refuses a form that a script of another site sends', async () => {
  for (const { method, url, name } of routes().filter(({ name }) => protocolRoutes[name] === 'navigation')) {
    const headers = { ...ofAnotherSite, 'sec-fetch-mode': 'cors', 'content-type': form }
    expect((await send(method, url, headers, 'a=b')).status, name).toBe(403)
  }
})

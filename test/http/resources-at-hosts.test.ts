import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { addApplication } from '../support/applications.js'
import { type Browser, createBrowser } from '../support/client.js'
import { createCookieJar } from '../support/cookie-jar.js'
import { type Latchkey, startLatchkey } from '../support/latchkey.js'
import { addResource, resourceTokenFor } from '../support/resources.js'
import { until } from '../support/until.js'

// An MCP server that cannot be changed, behind a proxy that asks us: what programs with tokens get. The proxies are in test/deployment.

const operator = { ip: 'command line', userAgent: 'test' }
const resource = 'https://mcp.example.com/mcp'
const metadata = 'https://mcp.example.com/.well-known/oauth-protected-resource/mcp'

let latchkey: Latchkey
let helper: Awaited<ReturnType<typeof addApplication>>
let tab: Browser
beforeAll(async () => {
  const settings = {
    PUBLIC_URL: 'https://auth.example.com',
    COOKIE_DOMAIN: 'example.com',
    DEVELOPMENT_ON_NETWORK: 'true',
  }
  latchkey = await startLatchkey({ settings })
  await latchkey.app.rooms.groups.add('staff', operator)
  const behindProxy = { redirectAddresses: [] }
  const mcp = 'https://mcp.example.com'
  await addApplication(latchkey, { name: 'Mcp', proxyOrigin: mcp, home: `${mcp}/`, ...behindProxy })
  const closed = 'https://closed.example.com'
  const ofStaff = { access: 'groups', groups: ['staff'] } as const
  await addApplication(latchkey, {
    name: 'Closed',
    proxyOrigin: closed,
    home: `${closed}/`,
    ...behindProxy,
    ...ofStaff,
  })
  const bank = 'https://bank.example.com'
  await addApplication(latchkey, { name: 'Bank', proxyOrigin: bank, home: `${bank}/`, ...behindProxy, factors: 2 })
  const wiki = 'https://wiki.example.com'
  await addApplication(latchkey, { name: 'Wiki', proxyOrigin: wiki, home: `${wiki}/`, ...behindProxy })
  helper = await addApplication(latchkey, {
    name: 'Helper',
    kind: 'native',
    home: 'http://127.0.0.1/',
    redirectAddresses: [callback],
  })
  await addResource(latchkey)
  for (const address of [closed, bank]) await addResource(latchkey, { address, name: address, scopes: [] })
  await addResource(latchkey, { address: `${mcp}/other`, name: 'Other' })
  tab = browserWith((await latchkey.signedUp('ada')).jar)
  await until('the applications are known', async () => (await check({ host: 'wiki.example.com' }, tab)).status === 200)
})
afterAll(() => latchkey.stop())

const url = () => `http://127.0.0.1:${latchkey.config.port}`
const browserWith = (jar = createCookieJar()) => createBrowser('https://auth.example.com', jar, url())

type Asked = { host?: string; uri?: string; method?: string; headers?: Record<string, string> }
const check = ({ host = 'mcp.example.com', uri = '/mcp', method = 'POST', headers = {} }: Asked, of = browserWith()) =>
  of.send('GET', '/api/auth/forward', undefined, {
    headers: {
      'x-forwarded-method': method,
      'x-forwarded-proto': 'https',
      'x-forwarded-host': host,
      'x-forwarded-uri': uri,
      ...headers,
    },
  })
const withToken = (token: string, asked: Asked = {}, of?: Browser) =>
  check({ ...asked, headers: { authorization: `Bearer ${token}`, ...asked.headers } }, of)

const callback = 'http://127.0.0.1/callback'

const tokenFor = (of: Browser, changed: { resource?: string; scope?: string } = {}) =>
  resourceTokenFor(of, latchkey, { client: helper, resource, ...changed })

const identityOf = ({ headers }: { headers: Headers }) =>
  Object.fromEntries([...headers].filter(([name]) => name.startsWith('x-auth-')))

describe('an address of a resource behind a proxy', () => {
  it('says to a program without a token where it gets one, and what to ask for', async () => {
    for (const uri of ['/mcp', '/mcp/messages?a=1']) {
      const { status, headers } = await check({ uri })
      expect([status, headers.get('www-authenticate')]).toEqual([
        401,
        `Bearer resource_metadata="${metadata}", scope="read write"`,
      ])
    }
    const elsewhere = await check({ uri: '/mcpx' })
    expect([elsewhere.status, elsewhere.headers.get('www-authenticate')]).toEqual([
      401,
      expect.not.stringMatching(/resource/),
    ])
    expect((await check({ host: 'wiki.example.com' })).headers.get('www-authenticate')).not.toMatch(/resource/)
  })

  it('leads a person who waits for a page to the sign-in, and lets a session in as before', async () => {
    const navigation = { 'sec-fetch-mode': 'navigate', 'sec-fetch-dest': 'document' }
    const led = await check({ method: 'GET', headers: navigation })
    expect([led.status, led.headers.get('location')]).toEqual([302, expect.stringMatching(/\/login\?returnTo=/)])
    const entered = await check({ method: 'GET' }, tab)
    expect([entered.status, identityOf(entered)]).toEqual([
      200,
      expect.objectContaining({ 'x-auth-username': 'ada', 'x-auth-client': '', 'x-auth-scope': '' }),
    ])
  })

  it('has metadata that any page may read, at the host that the proxy names', async () => {
    const ask = (path: string, host = 'mcp.example.com', of: Record<string, string> = {}) =>
      fetch(new URL(path, url()), { headers: { 'x-forwarded-host': host, 'x-forwarded-proto': 'https', ...of } })
    const answer = await ask('/.well-known/oauth-protected-resource/mcp', 'MCP.example.com:443')
    expect([answer.status, answer.headers.get('access-control-allow-origin')]).toEqual([200, '*'])
    expect(await answer.json()).toEqual({
      resource,
      resource_name: 'Wiki tools',
      authorization_servers: ['https://auth.example.com/api/auth'],
      scopes_supported: ['read', 'write'],
      bearer_methods_supported: ['header'],
    })
    const root = await ask('/.well-known/oauth-protected-resource', 'closed.example.com')
    expect(await root.json()).toMatchObject({ resource: 'https://closed.example.com', scopes_supported: [] })
    for (const [path, host] of [
      ['/.well-known/oauth-protected-resource', 'mcp.example.com'],
      ['/.well-known/oauth-protected-resource/mcp/x', 'mcp.example.com'],
      ['/.well-known/oauth-protected-resource/mcp', 'wiki.example.com'],
      ['/.well-known/oauth-protected-resource/mcp', 'evil.example.com'],
    ] as const)
      expect([path, host, (await ask(path, host)).status]).toEqual([path, host, 404])
  })
})

describe('a signed token', () => {
  it('opens its resource, and the application learns the user, the program and the scopes, but not the token', async () => {
    const token = await tokenFor(tab, { scope: 'read' })
    const entered = await withToken(token, { uri: '/mcp/messages' })
    expect([entered.status, entered.headers.get('authorization')]).toEqual([200, ''])
    expect(identityOf(entered)).toMatchObject({
      'x-auth-username': 'ada',
      'x-auth-email': 'ada@example.com',
      'x-auth-session-id': '',
      'x-auth-factors': '1',
      'x-auth-time': '0',
      'x-auth-token-id': '',
      'x-auth-client': helper.id,
      'x-auth-scope': 'read',
    })
  })

  it('decides alone: no session helps where it does not', async () => {
    const token = await tokenFor(tab)
    const forged = `${token.slice(0, -4)}AAAA`
    for (const asked of [
      { uri: '/' },
      { uri: '/mcpx' },
      { uri: '/other' },
      { uri: '/mcp/../admin' },
      { uri: '/mcp/%2e%2e/admin' },
    ])
      expect([asked.uri, (await withToken(token, asked, tab)).status]).toEqual([asked.uri, 401])
    const wrong = await withToken(forged, {}, tab)
    expect([wrong.status, wrong.headers.get('www-authenticate')]).toEqual([
      401,
      `Bearer error="invalid_token", resource_metadata="${metadata}", scope="read write"`,
    ])
    // What is no token of ours at all is a wrong one, too.
    expect((await withToken('x')).headers.get('www-authenticate')).toContain('error="invalid_token"')
    expect((await withToken(token, { host: 'closed.example.com', uri: '/' }, tab)).status).toBe(401)
    const browserToken = tab.jar.get('access_token') ?? ''
    expect((await withToken(browserToken, {}, tab)).status).toBe(401)
  })

  it('is the business of the application where no resource is', async () => {
    const token = await tokenFor(tab)
    expect((await withToken(token, { host: 'wiki.example.com', uri: '/' })).status).toBe(401)
    const passed = await withToken('eyJhbGciOiJub25lIn0.e30.AAAA', { host: 'wiki.example.com', uri: '/' }, tab)
    expect([passed.status, passed.headers.get('authorization')]).toEqual([200, 'Bearer eyJhbGciOiJub25lIn0.e30.AAAA'])
  })

  it('needs the rule of the application beside that of the resource, and is never fresh and never two factors', async () => {
    const closed = await tokenFor(tab, { resource: 'https://closed.example.com' })
    expect((await withToken(closed, { host: 'closed.example.com', uri: '/' })).status).toBe(403)
    const bank = await tokenFor(tab, { resource: 'https://bank.example.com' })
    expect((await withToken(bank, { host: 'bank.example.com', uri: '/' })).status).toBe(403)
  })

  it('is refused when a visitor says more about who they are', async () => {
    const token = await tokenFor(tab)
    for (const name of ['x-auth-client', 'x-auth-scope', 'x_auth_scope'])
      expect((await withToken(token, { headers: { [name]: 'admin' } })).status).toBe(400)
    const both = await check({ headers: { authorization: `Bearer ${token}, Bearer ${token}` } })
    expect(both.status).toBe(401)
  })

  it('ends within two seconds with its session, and with its five minutes', async () => {
    const user = browserWith((await latchkey.signedUp('bea')).jar)
    const token = await tokenFor(user)
    expect((await withToken(token)).status).toBe(200)
    type Listed = { id: string; resource: string | null }
    const { sessions } = (await user.get('/api/auth/sessions')).body as { sessions: Listed[] }
    const own = sessions.find((each) => each.resource === 'Wiki tools')
    await latchkey.sql.query('delete from sessions where id = $1', [own?.id])
    await until('the token has ended', async () => (await withToken(token)).status === 401, 2_500)
    const later = await tokenFor(user)
    expect((await withToken(later)).status).toBe(200)
    latchkey.clock.advance(301_000)
    expect((await withToken(later)).status).toBe(401)
  })
})

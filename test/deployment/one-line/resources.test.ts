import { once } from 'node:events'
import type { IncomingMessage } from 'node:http'
import { request } from 'node:https'
import { text } from 'node:stream/consumers'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { sessionCookies } from '../../../src/http/cookie-table.js'
import type { Resource } from '../../../src/openid/resources/resource.js'
import { addApplication } from '../../support/applications.js'
import { type Browser, createBrowser } from '../../support/client.js'
import { type Latchkey, startLatchkey } from '../../support/latchkey.js'
import { addResource, endAtResource, resourceChangesOf, resourceTokenFor } from '../../support/resources.js'
import { freePort } from '../../support/servers/server.js'
import { until } from '../../support/until.js'
import { type Application, startApplication } from '../application.js'
import {
  certificateFor,
  ownHost,
  type Place,
  type RunningProxy,
  startCaddy,
  startHaproxy,
  startNginx,
} from './proxies.js'
import { startTraefikStandIn } from './stand-ins.js'

// An MCP server that cannot be changed, behind each proxy with the shipped files and the printed lines.

const host = 'mcp.site.test'
const publicUrl = 'https://auth.site.test'
let latchkey: Latchkey
let application: Application
let certificate: string
let helper: Awaited<ReturnType<typeof addApplication>>
let ada: Browser

beforeAll(async () => {
  const settings = { PUBLIC_URL: publicUrl, COOKIE_DOMAIN: 'site.test', DEVELOPMENT_ON_NETWORK: 'true' }
  latchkey = await startLatchkey({ settings: { ...settings, TRUST_PROXY: '127.0.0.1' } })
  const redirectAddresses = ['http://127.0.0.1/callback']
  helper = await addApplication(latchkey, {
    name: 'Helper',
    kind: 'native',
    home: 'http://127.0.0.1/',
    redirectAddresses,
  })
  ada = await signedUp('ada')
  ;[application, certificate] = await Promise.all([startApplication(), certificateFor([host, ownHost])])
})
afterAll(async () => {
  await application.stop()
  await latchkey.stop()
})

const signedUp = async (name: string) =>
  createBrowser(publicUrl, (await latchkey.signedUp(name)).jar, `http://127.0.0.1:${latchkey.config.port}`)

const navigation = { 'sec-fetch-mode': 'navigate', 'sec-fetch-dest': 'document', 'sec-fetch-site': 'none' }
const forged = {
  'x-auth-client': 'forged',
  'x-auth-scope': 'forged',
  x_auth_scope: 'forged',
  'x-auth-user-id': 'forged',
}

describe.each([
  { name: 'Caddy', start: startCaddy, isReal: true },
  // The line of the guide: without it, nginx holds events back.
  { name: 'nginx', start: (place: Place) => startNginx(place, 'proxy_buffering off;'), isReal: true },
  { name: 'HAProxy', start: startHaproxy, isReal: true },
  { name: 'a stand-in for Traefik', start: startTraefikStandIn, isReal: false },
])('a resource at a host behind $name', ({ name, start, isReal }) => {
  let proxy: RunningProxy
  let port: number
  let resource: string
  let metadata: string
  let challenge: string
  let other: Resource

  beforeAll(async () => {
    port = await freePort()
    const origin = `https://${host}:${port}`
    resource = `${origin}/mcp`
    metadata = `${origin}/.well-known/oauth-protected-resource/mcp`
    challenge = `resource_metadata="${metadata}", scope="read write"`
    const site = { proxyOrigin: origin, home: `${origin}/`, redirectAddresses: [] }
    await addApplication(latchkey, { name: `Wiki ${name}`, ...site, openPaths: ['/public/'] })
    await addResource(latchkey, { address: resource, name: `Tools ${name}` })
    other = await addResource(latchkey, { address: `${origin}/other`, name: `Other ${name}` })
    const place = { port, hosts: [host], latchkey: latchkey.config.port, application: application.port }
    proxy = await start({ ...place, certificate })
    await until('the resource is known', async () => (await ask(metadata)).status === 200)
  })
  afterAll(() => proxy?.stop())

  type Sent = { method?: string; headers?: Record<string, string>; body?: string; at?: string; signal?: AbortSignal }
  const send = async (address: string, { method = 'GET', headers = {}, body, at = host, signal }: Sent = {}) => {
    // The path as it is written here: a URL parser would shorten it.
    const path = address.startsWith('/') ? address : address.slice(`https://${host}:${port}`.length)
    const place = { host: '127.0.0.1', port, servername: at, rejectUnauthorized: false, agent: false }
    const asked = request({ ...place, path, method, headers: { host: `${at}:${port}`, ...headers }, signal })
    asked.end(body)
    const [answer] = (await once(asked, 'response')) as [IncomingMessage]
    return answer
  }
  const ask = async (address: string, sent?: Sent) => {
    const answer = await send(address, sent)
    return { status: answer.statusCode ?? 0, headers: answer.headers, body: await text(answer) }
  }
  const call = (token: string, address = '/mcp', headers = {}) =>
    ask(address, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json', ...headers },
      body: '{"jsonrpc":"2.0"}',
    })
  const tokenFor = (tab = ada, changed: { resource?: string; scope?: string } = {}) =>
    resourceTokenFor(tab, latchkey, { client: helper, resource, ...changed })
  const cookies = () => ({ cookie: sessionCookies.map((cookie) => `${cookie}=${ada.jar.get(cookie)}`).join('; ') })

  /** The answer, and what the application has heard of the request. */
  const hearing = async <Result>(work: () => Promise<Result>) => {
    const before = application.heard.length
    const answer = await work()
    return { answer, heard: application.heard.slice(before) }
  }
  const expectRefused = async (work: () => ReturnType<typeof ask>, challenged: string, status = 401) => {
    const { answer, heard } = await hearing(work)
    expect([answer.status, answer.headers['www-authenticate'], heard]).toEqual([status, challenged, []])
    return answer
  }

  it('says to a program without a session where it gets a token, and leads a person to the sign-in', async () => {
    const refused = await expectRefused(() => ask('/mcp', { method: 'POST', body: '{}' }), `Bearer ${challenge}`)
    expect(JSON.parse(refused.body)).toMatchObject({ code: 'not_authenticated' })
    const accept = { accept: 'text/event-stream' }
    await expectRefused(() => ask('/mcp/messages?a=1', { headers: accept }), `Bearer ${challenge}`)
    const led = await ask('/mcp', { headers: navigation })
    expect([led.status, led.headers.location]).toEqual([
      302,
      expect.stringMatching(/^https:\/\/auth\.site\.test\/login\?/),
    ])
  })

  it('has its metadata, for any page, and nothing else past the check', async () => {
    const { answer, heard } = await hearing(() => ask(`${metadata}?a=1`, { headers: { ...cookies(), ...forged } }))
    expect([answer.status, answer.headers['access-control-allow-origin'], heard]).toEqual([200, '*', []])
    expect(JSON.parse(answer.body)).toMatchObject({ resource, authorization_servers: [`${publicUrl}/api/auth`] })
    const headers = { origin: 'https://inspector.example', 'access-control-request-headers': 'mcp-protocol-version' }
    const preflight = await ask(metadata, { method: 'OPTIONS', headers })
    expect([preflight.status, preflight.headers['access-control-allow-headers']]).toEqual([204, '*'])
    for (const path of [
      '/nothing',
      '/../../reports',
      '/mcp/../../../reports',
      '/%2e%2e/%2e%2e/reports',
      '-other',
      '\\..\\..\\x',
    ]) {
      const beside = await hearing(() => ask(`/.well-known/oauth-protected-resource${path}`))
      expect([path, beside.heard, beside.answer.status >= 400 && beside.answer.status < 500]).toEqual([path, [], true])
    }
  })

  it('leads to Latchkey, whose own host has the metadata of RFC 8414', async () => {
    const { status, body } = await ask('/.well-known/oauth-authorization-server/api/auth', { at: ownHost })
    expect([status, JSON.parse(body)]).toEqual([200, expect.objectContaining({ issuer: `${publicUrl}/api/auth` })])
  })

  it('lets a token for it in, and the application learns the user, the program and the scopes, and never the token', async () => {
    const token = await tokenFor(ada, { scope: 'read' })
    const { answer, heard } = await hearing(() => call(token, '/mcp/messages?a=1'))
    expect([answer.status, heard[0]?.url, heard[0]?.body]).toEqual([200, '/mcp/messages?a=1', '{"jsonrpc":"2.0"}'])
    const { headers = {} } = heard[0] ?? {}
    expect(headers).toMatchObject({
      'x-auth-user-id': expect.stringMatching(/^[\da-f-]{36}$/),
      'x-auth-username': 'ada',
      'x-auth-email': 'ada@example.com',
      'x-auth-client': helper.id,
      'x-auth-scope': 'read',
    })
    expect(JSON.stringify(headers)).not.toContain(token.slice(-20))
  })

  it('never passes on what a visitor says about programs and scopes, with a session, a token or nothing', async () => {
    const token = await tokenFor()
    const credentials: Record<string, string>[] = [{}, cookies(), { authorization: `Bearer ${token}` }]
    for (const credential of credentials)
      for (const path of ['/mcp', '/public/a'])
        for (const [header, value] of Object.entries(forged)) {
          const { heard } = await hearing(() => ask(path, { headers: { ...credential, [header]: value } }))
          expect(JSON.stringify(heard)).not.toContain('forged')
        }
    const { heard } = await hearing(() => ask('/mcp', { headers: cookies() }))
    const { headers = {} } = heard[0] ?? {}
    expect(headers['x-auth-username']).toBe('ada')
    expect([headers['x-auth-client'] ?? '', headers['x-auth-scope'] ?? '']).toEqual(['', ''])
  })

  it('refuses a token at other paths, of another resource and of nobody, beside a session too', async () => {
    const token = await tokenFor()
    const wrong = `Bearer error="invalid_token", ${challenge}`
    await expectRefused(() => call(`${token.slice(0, -4)}AAAA`, '/mcp', cookies()), wrong)
    const elsewhere = await tokenFor(ada, { resource: other.address })
    await expectRefused(() => call(elsewhere), wrong)
    await expectRefused(() => call(token, '/other'), wrong.replaceAll('/mcp"', '/other"'))
    for (const path of ['/', '/mcpx', '/mcp/../admin', '/mcp/%2e%2e/admin']) {
      const { answer, heard } = await hearing(() => call(token, path, cookies()))
      expect([path, answer.status, heard]).toEqual([path, 401, []])
    }
  })

  it('says which scopes are needed to a token that has none of them', async () => {
    const token = await tokenFor(ada, { resource: other.address, scope: 'read' })
    await resourceChangesOf(latchkey).change(
      other.id,
      { scopes: [{ name: 'write', description: null }] },
      { ip: 'command line', userAgent: 'test' },
    )
    const needed = challenge.replace('/mcp"', '/other"').replace('read write', 'write')
    await until('the change is known', async () => (await call(token, '/other')).status === 403)
    await expectRefused(() => call(token, '/other'), `Bearer error="insufficient_scope", ${needed}`, 403)
  })

  it('refuses the token of a session that has ended, within two seconds', async () => {
    const bea = await signedUp(`bea-${port}`)
    const token = await tokenFor(bea)
    expect((await call(token)).status).toBe(200)
    await endAtResource(bea, `Tools ${name}`)
    await until('the token has ended', async () => (await call(token)).status === 401, 2_500)
  })

  if (isReal)
    it('passes events on as they come', async () => {
      const signal = AbortSignal.timeout(20_000)
      const headers = { authorization: `Bearer ${await tokenFor()}` }
      const answer = await send('/mcp/events', { headers, signal })
      const [first] = (await once(answer, 'data')) as [Buffer]
      answer.on('error', () => undefined)
      answer.destroy()
      expect(first.toString()).toContain('data: first')
    })
})

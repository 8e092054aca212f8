import { once } from 'node:events'
import type { IncomingMessage } from 'node:http'
import { request } from 'node:https'
import { text } from 'node:stream/consumers'
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest'
import { checkSite } from '../../../src/commands/applications/site-check.js'
import { addApplication } from '../../support/applications.js'
import { type Browser, createBrowser } from '../../support/client.js'
import { createCookieJar } from '../../support/cookie-jar.js'
import { type Latchkey, startLatchkey } from '../../support/latchkey.js'
import { freePort } from '../../support/servers/server.js'
import { until } from '../../support/until.js'
import { type Application, startApplication } from '../application.js'
import { certificateFor, ownHost, type RunningProxy, startCaddy, startHaproxy, startNginx } from './proxies.js'

// A host that gets none of our cookies, behind real proxies with the shipped files and over TLS.

const publicUrl = 'https://auth.site.test'
let latchkey: Latchkey
let ada: Browser
let application: Application
let certificate: string

beforeAll(async () => {
  const settings = { PUBLIC_URL: publicUrl, DEVELOPMENT_ON_NETWORK: 'true', TRUST_PROXY: '127.0.0.1' }
  latchkey = await startLatchkey({ settings })
  const { jar } = await latchkey.signedUp('ada')
  ada = createBrowser(publicUrl, jar, `http://127.0.0.1:${latchkey.config.port}`)
  application = await startApplication()
  certificate = await certificateFor(['localhost'])
})
afterEach(() => vi.unstubAllEnvs())
afterAll(async () => {
  await application.stop()
  await latchkey.stop()
})

const navigation = { 'sec-fetch-mode': 'navigate', 'sec-fetch-dest': 'document', 'sec-fetch-site': 'none' }

describe.each([
  { name: 'Caddy', start: startCaddy, hops: [] },
  // It cannot send the answer of its check to the visitor: an address of ours sets the cookie.
  { name: 'nginx', start: startNginx, hops: ['/.latchkey/start'] },
  { name: 'HAProxy', start: startHaproxy, hops: [] },
])('a host with a cookie of its own behind $name', ({ name, start, hops }) => {
  let proxy: RunningProxy
  let port: number
  let origin: string
  let id: string

  beforeAll(async () => {
    port = await freePort()
    origin = `https://localhost:${port}`
    const site = { proxyOrigin: origin, home: `${origin}/`, redirectAddresses: [] }
    ;({ id } = await addApplication(latchkey, { name: `Wiki ${name}`, ...site }))
    const place = { port, hosts: ['localhost'], latchkey: latchkey.config.port, application: application.port }
    proxy = await start({ ...place, certificate })
    const { protectedApplications } = latchkey.app.rooms
    await until('the application is known', async () => protectedApplications.find(origin) !== undefined)
  })
  afterAll(() => proxy?.stop())

  /** A browser at this host. */
  const visitor = () => {
    const jar = createCookieJar()
    const get = async (path: string, more: Record<string, string> = navigation) => {
      const cookie = jar.header()
      const headers = { ...more, ...(cookie && { cookie }) }
      const asked = request({ host: 'localhost', port, path, headers, rejectUnauthorized: false, agent: false }).end()
      const [answer] = (await once(asked, 'response')) as [IncomingMessage]
      jar.keep(answer.headers['set-cookie'] ?? [], { isSecure: true })
      const { statusCode: status = 0, headers: got } = answer
      return { status, location: got.location ?? '', headers: got, body: await text(answer) }
    }
    return { jar, get }
  }
  type Visitor = ReturnType<typeof visitor>

  /** Our page, for a request that the proxy has led away. */
  const atOurs = async (location: string) => {
    expect(location.startsWith(`${publicUrl}/`)).toBe(true)
    const { headers } = await ada.send('GET', location.slice(publicUrl.length), undefined, { headers: navigation })
    return headers.get('location') ?? ''
  }
  const pathOf = (address: string) => {
    expect(address.startsWith(`${origin}/`)).toBe(true)
    return address.slice(origin.length)
  }

  const ledAway = async ({ get }: Visitor, path: string) => {
    let { status, location } = await get(path)
    for (const hop of hops) {
      expect([status, pathOf(location).split('?')[0]]).toEqual([302, hop])
      ;({ status, location } = await get(pathOf(location)))
    }
    expect(status).toBe(302)
    return location
  }
  const signIn = async (of: Visitor, path = '/') => {
    const callback = await atOurs(await ledAway(of, path))
    return of.get(pathOf(callback))
  }

  it('leads our own host to us, past the check', async () => {
    const asked = request({
      host: '127.0.0.1',
      port,
      path: '/login',
      headers: { host: `${ownHost}:${port}` },
      servername: ownHost,
      rejectUnauthorized: false,
      agent: false,
    }).end()
    const [answer] = (await once(asked, 'response')) as [IncomingMessage]
    expect([answer.statusCode, (await text(answer)).includes('id="settings"')]).toEqual([200, true])
  })

  it('leads to our pages and back to what was asked, and the application sees none of our cookies', async () => {
    const before = application.heard.length
    const of = visitor()
    of.jar.set('theme', 'dark')
    const back = await signIn(of, '/page?a=1&b=%20')
    expect([back.status, back.location]).toEqual([302, `${origin}/page?a=1&b=%20`])
    expect([...of.jar.keys()].sort()).toEqual(['__Host-latchkey', 'theme'])
    expect(application.heard).toHaveLength(before)
    const page = await of.get('/page?a=1&b=%20')
    expect([page.status, page.body.includes('Hello, ada')]).toEqual([200, true])
    expect(application.last()).toMatchObject({ url: '/page?a=1&b=%20', headers: { cookie: 'theme=dark' } })
  })

  it('arrives with each of several tabs, and refuses a code without its cookie on a page that offers to begin again', async () => {
    const of = visitor()
    const first = await atOurs(await ledAway(of, '/one'))
    const second = await atOurs(await ledAway(of, '/two'))
    expect((await of.get(pathOf(first))).location).toBe(`${origin}/one`)
    expect((await of.get(pathOf(second))).location).toBe(`${origin}/two`)
    const stolen = await atOurs(await ledAway(visitor(), '/three'))
    const refused = await visitor().get(pathOf(stolen))
    expect([refused.status, refused.body.includes('was not finished')]).toEqual([400, true])
    expect([refused.body.includes('<script'), refused.headers['x-frame-options']]).toEqual([false, 'DENY'])
  })

  it('keeps /.latchkey/ from the application, whoever asks', async () => {
    const of = visitor()
    await signIn(of)
    const before = application.heard.length
    for (const path of ['/.latchkey/', '/.latchkey/check', '/.latchkey/other?x=1']) {
      expect((await of.get(path)).status).toBe(404)
      expect((await visitor().get(path, {})).status).toBe(404)
    }
    expect(application.heard).toHaveLength(before)
  })

  it('signs out by a link of its own, and asks again', async () => {
    const of = visitor()
    await signIn(of)
    const left = await of.get('/.latchkey/sign-out')
    expect([left.status, left.location.startsWith(`${publicUrl}/`)]).toEqual([302, true])
    expect([...of.jar.keys()]).toEqual([])
    await ledAway(of, '/')
  })

  it('answers a program in words, and lets a script in with a token that the application does not see', async () => {
    const program = { accept: 'application/json' }
    const refused = await visitor().get('/', program)
    expect([refused.status, JSON.parse(refused.body).code]).toEqual([401, 'not_authenticated'])
    expect(refused.headers['www-authenticate']).toBe(`Basic realm="${origin}", Bearer`)
    const made = await ada.act('/api/auth/tokens', { name: 'Script', applications: [id] })
    const admitted = await visitor().get('/api', { ...program, authorization: `Bearer ${made.body.token}` })
    expect(admitted.status).toBe(200)
    const { headers } = application.last() ?? {}
    expect([headers?.['x-auth-username'], headers?.['x-auth-token-id']]).toEqual(['ada', made.body.id])
    expect(headers?.authorization ?? '').toBe('')
  })

  it('is found well by the check from outside', async () => {
    vi.stubEnv('NODE_TLS_REJECT_UNAUTHORIZED', '0')
    const findings = await checkSite({ openPaths: [] }, origin, publicUrl)
    expect(findings[0]).toEqual({ level: 'ok', says: `${origin}/ asks Latchkey, and leads strangers to ${publicUrl}` })
    expect(findings.filter(({ level }) => level === 'error')).toEqual([])
  })
})

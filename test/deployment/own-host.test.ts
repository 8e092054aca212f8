import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { identityHeaders } from '../../src/access-check/identity-headers.js'
import { openChromium, signIn } from '../support/chromium.js'
import { type Latchkey, startLatchkey } from '../support/latchkey.js'
import { createVisitor, type FrontEnd } from '../support/site/https-client.js'
import { secretOf } from '../support/site/instance.js'
import { freePorts, startNginxSite } from '../support/site/nginx.js'
import { addPeople, password } from '../support/site/site.js'
import { adminArea } from './admin-area.js'
import { type Application, startApplication } from './application.js'
import { cookieHeaders } from './browser-journeys.js'
import { startCaddy } from './caddy.js'
import {
  expectForeignForm,
  expectIdentityStays,
  expectNotMisled,
  expectOnlyWebSockets,
  expectOurHeaders,
  expectPlainRefused,
  forged,
  navigation,
  speak,
} from './proxy-answers.js'

type Ports = Awaited<ReturnType<typeof freePorts>>

const startNginx = async (ports: Ports, auth: string, latchkey: Latchkey, application: Application) =>
  startNginxSite({
    instances: [latchkey.config.port],
    ports,
    site: 'nginx/latchkey.conf',
    beside: 'forward-auth/nginx-own-host.conf',
    domain: 'site.test',
    application: application.port,
    changes: [
      ['https://auth.site.test;', `${auth};`],
      ['    # Every request here', `${await adminArea('nginx')}    # Every request here`],
    ],
  })

const startCaddySite = async (ports: Ports, _auth: string, latchkey: Latchkey, application: Application) =>
  startCaddy({
    port: ports.tls,
    plainPort: ports.plain,
    instance: latchkey.config.port,
    application: application.port,
    tls: true,
    more: await adminArea('caddyfile'),
    domain: 'site.test',
  })

describe.each([
  ['nginx', startNginx],
  ['Caddy', startCaddySite],
])('an application on a host of its own behind %s', (proxy, startProxy) => {
  const leftovers: (() => Promise<void>)[] = []
  afterAll(async () => {
    for (const leave of leftovers.reverse()) await leave()
  })

  let application: Application
  let latchkey: Latchkey
  let door: FrontEnd
  let ports: Ports
  let auth: string
  let app: string

  beforeAll(async () => {
    ports = await freePorts()
    auth = `https://auth.site.test:${ports.tls}`
    app = `https://app.site.test:${ports.tls}`
    latchkey = await startLatchkey({
      settings: {
        NODE_ENV: 'production',
        PUBLIC_URL: auth,
        COOKIE_DOMAIN: 'site.test',
        ALLOWED_ORIGINS: app,
        JWT_SECRET: secretOf('a'),
        SMTP_URL: 'smtp://127.0.0.1:9',
        MAIL_FROM: 'no-reply@example.com',
      },
    })
    leftovers.push(latchkey.stop)
    await addPeople(latchkey.config.databaseUrl ?? '', ['ada'])
    application = await startApplication()
    leftovers.push(application.stop)
    const front = await startProxy(ports, auth, latchkey, application)
    leftovers.push(front.stop)
    door = front
  })

  it('signs users in on the host of Latchkey alone, and leads back to the application on its own host', async () => {
    const browser = await openChromium()
    const context = await browser.newContext({ ignoreHTTPSErrors: true, locale: 'en-GB' })
    leftovers.push(() => context.close())
    const page = await context.newPage()
    for (const path of ['/dev/preview', '/dev/preview/mails/new-device/en', '/dev/mailbox']) {
      const answer = await page.goto(`${auth}${path}`)
      expect([path, answer?.status()]).toEqual([path, 404])
      expect(await answer?.text()).toContain('class="status-code"')
    }
    const greeted = () => page.waitForSelector('h1:text-is("Hello, ada")')
    const leadsTo = (path: string, from: string) =>
      page.waitForURL(`${auth}${path}returnTo=${encodeURIComponent(`${app}${from}`)}`)

    // The name of one of our pages is an address of the application like any other.
    await page.goto(`${app}/login`)
    await leadsTo('/login?', '/login')
    const wanted = '/reports?a=1&b=%2F#/open/3'
    await page.goto(`${app}${wanted}`)
    await leadsTo('/login?', wanted)
    expect(application.heard).toEqual([])
    await signIn(page, 'ada', password)
    await page.waitForURL(`${app}${wanted}`)
    await greeted()
    expect(application.last()?.headers.cookie).toBeUndefined()

    // A renewal by the proxy on the host of the application serves both hosts.
    await context.clearCookies({ name: 'access_token' })
    await page.goto(`${app}/reports`)
    await greeted()
    expect((await context.cookies(auth)).map(({ name }) => name)).toContain('access_token')
    await page.goto(`${auth}/dashboard`)
    await page.getByText(/^Hello, /).waitFor()

    await page.goto(`${app}/strong/users`)
    await leadsTo('/step-up?fresh=10m&factors=2&', '/strong/users')
    await page.goto(`${app}/admin`)
    await leadsTo('/step-up?group=1&', '/admin')
    await page.goto(`${app}/recent`)
    await greeted()
    const refusals = await page.evaluate(async () =>
      Promise.all(
        ['/strong', '/admin'].map(async (path) => {
          const answer = await fetch(path)
          return { status: answer.status, page: answer.headers.get('x-auth-step-up') }
        }),
      ),
    )
    expect(refusals).toEqual([
      { status: 403, page: `${auth}/step-up?fresh=10m&factors=2` },
      { status: 403, page: `${auth}/step-up?group=1` },
    ])
  })

  // nginx has the snippets of the file for one host, whose tests try the same.
  if (proxy !== 'Caddy') return

  /** A browser with a session, at the host of the application: the cookies are those of the host of Latchkey. */
  const signedIn = async () => {
    const visitor = createVisitor(door)
    const body = JSON.stringify({ username: 'ada', password })
    const type = `Content-Type: application/json\r\nContent-Length: ${body.length}\r\n`
    const { status, lines } = await ask('POST /login', `Origin: ${auth}\r\n${type}`, body)
    expect(status).toBe(200)
    const cookies = lines.filter(([name]) => name === 'set-cookie').map(([, value]) => value)
    visitor.jar.keep(cookies, { isSecure: true })
    return visitor
  }

  const ask = (line: string, headers = '', body = '') =>
    speak(door, `${line} HTTP/1.1\r\nHost: auth.site.test:${door.port}\r\n${headers}Connection: close\r\n\r\n${body}`)

  it('refuses what should have been encrypted, and redirects pages', async () => {
    await expectPlainRefused(ports.plain, 'https://localhost')
  })

  it('tells the application who asks, and gives it no token', async () => {
    const visitor = await signedIn()
    visitor.jar.set('theme', 'dark')
    const answer = await visitor.post('/reports?a=1', { some: 'body' }, forged)
    expect(answer.status).toBe(200)
    expect(answer.lines.filter(([name]) => name === 'strict-transport-security')).toEqual([
      ['strict-transport-security', 'max-age=31536000; includeSubDomains'],
    ])
    const { headers = {} } = application.last() ?? {}
    expect(headers).toMatchObject({ 'x-auth-username': 'ada', 'x-auth-name': '', cookie: 'theme=dark' })
    const named = Object.keys(headers).filter((name) => /auth|_/.test(name))
    expect(named.sort()).toEqual([...identityHeaders].sort())
    await expectNotMisled(visitor, application, ['/reports', '/dev/mailbox'])
    await expectIdentityStays(visitor, application)
    await expectOnlyWebSockets(door, visitor.jar.header(), application)
    for (const [sent, kept] of cookieHeaders) {
      const cookie = sent.replace('=T', `=${visitor.jar.get('access_token')}`)
      expect((await createVisitor(door).get('/reports', { cookie })).status, sent).toBe(200)
      expect([sent, application.last()?.headers.cookie]).toEqual([sent, kept])
    }
  })

  it('answers visitors who are not signed in by itself', async () => {
    const before = application.heard.length
    const visitor = createVisitor(door)
    const program = await visitor.get('/reports', forged)
    expect([program.status, program.body.code]).toEqual([401, 'not_authenticated'])
    const person = await visitor.get('/reports', navigation('none'))
    expect([person.status, person.headers['content-type']]).toEqual([401, 'text/html; charset=utf-8'])
    expect(person.text).toContain(`location.replace('${auth}/login?returnTo=' + encodeURIComponent(location.href))`)
    const bounce = await visitor.get('/reports', navigation('cross-site'))
    expect([bounce.status, bounce.headers['set-cookie']?.length]).toEqual([401, 1])
    for (const answer of [program, person, bounce]) expectOurHeaders(answer)
    await expectForeignForm(visitor)
    expect(application.heard).toHaveLength(before)
  })

  it('leads to everything of Latchkey on its host but what is for programs beside it', async () => {
    for (const path of ['/api/service/users/1', '/%61pi/service/users/1', '/api//service/token', '/api/service']) {
      const { status, headers } = await ask(`GET ${path}`)
      expect([path, status, headers['x-request-id']]).toEqual([path, 404, undefined])
    }
    for (const path of ['/login', '/api/auth/admin/', '/api/services']) {
      const { headers, lines } = await ask(`GET ${path}`)
      expect([path, headers['x-request-id']]).toEqual([path, expect.stringMatching(/./)])
      expect(lines.filter(([name]) => name === 'strict-transport-security')).toHaveLength(1)
    }
  })
})

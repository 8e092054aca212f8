import type { Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type BrowserName, browserNames } from '../support/browsers.js'
import { openChromium } from '../support/chromium.js'
import { freshPostgres } from '../support/databases.js'
import { inLongRun, isLongRun } from '../support/long-run.js'
import { freePort } from '../support/servers/server.js'
import { createVisitor, type Visitor } from '../support/site/https-client.js'
import { type Instance, startInstance } from '../support/site/instance.js'
import { type Front, freePorts, startNginxSite } from '../support/site/nginx.js'
import { addPeople, giveName, password } from '../support/site/site.js'
import { adminArea, expectAdminArea } from './admin-area.js'
import { type Application, startApplication, startElsewhere } from './application.js'
import { cookieHeaders, talk } from './browser-journeys.js'
import {
  expectForeignForm,
  expectIdentityStays,
  expectNoAdministrators,
  expectNotMisled,
  expectOnlyWebSockets,
  expectOurHeaders,
  expectOutage,
  expectPublicKeys,
  forged,
  navigation,
} from './proxy-answers.js'
import { beginSlowAnswer, expectAttributesOfCookies, itRenewsSessions } from './renewal-journeys.js'

const leftovers: (() => Promise<void>)[] = []
afterAll(async () => {
  for (const leave of leftovers.reverse()) await leave()
})

let application: Application
let instance: Instance
let front: Front
let databaseUrl: string
let expectSlowAnswer: () => Promise<void>

beforeAll(async () => {
  const database = await freshPostgres()
  leftovers.push(database.drop)
  databaseUrl = database.url
  await addPeople(database.url, ['zoë'])
  await giveName(database.url, 'zoe@example.com', 'Zoë 🔑')
  application = await startApplication()
  leftovers.push(application.stop)
  const ports = await freePorts()
  instance = await startInstance(await freePort(), {
    DATABASE_URL: database.url,
    REDIS_URL: process.env.TEST_REDIS_URL ?? '',
    REDIS_PREFIX: `test:${Math.random().toString(36).slice(2)}:`,
    SMTP_URL: 'smtp://127.0.0.1:2525',
    PUBLIC_URL: `https://localhost:${ports.tls}`,
    // A late answer of the application takes longer than the first. The tokens in it have the second, for which no busy
    // machine is too slow.
    REFRESH_GRACE: inLongRun('30s', '5s'),
    RENEW_GRACE: inLongRun('2m', '15m'),
  })
  leftovers.push(instance.stop)
  front = await startNginxSite({
    instances: [instance.port],
    ports,
    site: 'forward-auth/nginx.conf',
    application: application.port,
    changes: [
      ['    # The application. Every request', `${await adminArea('nginx')}    # The application. Every request`],
    ],
  })
  leftovers.push(front.stop)
  expectSlowAnswer = await beginSlowAnswer(await signedInAnew(), application)
})

const signedInAnew = async () => {
  const visitor = createVisitor(front)
  expect((await visitor.post('/login', { username: 'zoë', password })).status).toBe(200)
  return visitor
}

let friend: Visitor | undefined
/** For tests that renew nothing: all of them have one session. */
const signedIn = async () => {
  friend ??= await signedInAnew()
  return friend.copy()
}

/** The application's own page is there, and knows who is looking at it. */
const greeted = (page: Page) => page.waitForSelector('h1:text-is("Hello, zo%25C3%25AB")')

const identity = (headers: object | undefined) =>
  Object.fromEntries(Object.entries(headers ?? {}).filter(([name]) => /auth[-_]/.test(name)))

describe('an application behind nginx and the access check', () => {
  it('is told who asks, by nginx alone, and gets no token', async () => {
    const visitor = await signedIn()
    visitor.jar.set('theme', 'dark')
    const { status } = await visitor.post('/reports?a=1&b=%2F', { some: 'body' }, forged)
    expect(status).toBe(200)
    const { body } = await visitor.get('/api/auth/me')
    const { id } = body.user as { id: string }
    const heard = application.last()
    expect(heard).toMatchObject({ method: 'POST', url: '/reports?a=1&b=%2F', body: '{"some":"body"}' })
    const names = { 'x-auth-username': 'zo%C3%AB', 'x-auth-name': 'Zo%C3%AB%20%F0%9F%94%91' }
    const ids = { 'x-auth-user-id': id, 'x-auth-session-id': body.sessionId, 'x-auth-email': 'zoe@example.com' }
    const proof = { 'x-auth-factors': '1', 'x-auth-time': expect.stringMatching(/^\d{10}$/) }
    expect(identity(heard?.headers)).toEqual({ ...names, ...ids, ...proof })
    expect(heard?.headers.cookie).toBe('theme=dark')
  })

  it('guards an admin area as the guide says', async () => {
    await expectAdminArea(await signedIn(), () => application.heard)
  })

  it.each(cookieHeaders)('keeps our cookies from the application: %s', async (sent, kept) => {
    const cookie = sent.replace('=T', `=${(await signedIn()).jar.get('access_token')}`)
    const answer = await createVisitor(front).get('/reports', { cookie })
    expect([answer.status, application.last()?.headers.cookie]).toEqual([200, kept])
  })

  it('keeps two access tokens from the application as well, and gives up a header that was made up', async () => {
    await createVisitor(front).get('/public/', { cookie: 'access_token=1; a=1; access_token=2; b=2; access_token=3' })
    expect(application.last()?.headers.cookie).toBe('a=1; b=2')
    const madeUp = Array.from({ length: 12 }, (_, index) => `c${index}=1; refresh_token=${index}`).join('; ')
    await createVisitor(front).get('/public/', { cookie: madeUp })
    expect(application.last()?.headers.cookie).toBeUndefined()
    const long = Array.from({ length: 700 }, (_, index) => `c${index}=1`).join(';')
    await createVisitor(front).get('/public/', { cookie: `${long};access_token=1` })
    expect(application.last()?.headers.cookie).toBe(long)
  })

  it('passes no change of protocol on but a WebSocket', async () => {
    await expectOnlyWebSockets(front, (await signedIn()).jar.header(), application)
  })

  it('says who asks, whatever the Connection header of the client names', async () => {
    await expectIdentityStays(await signedIn(), application)
  })

  it.each([
    ['a program', {}, 'GET'],
    [
      'a script of the application',
      { accept: '*/*', 'sec-fetch-mode': 'cors', 'sec-fetch-site': 'same-origin' },
      'GET',
    ],
    ['a program that posts', { accept: 'application/json' }, 'POST'],
    ['a script that posts', { accept: 'text/html', 'sec-fetch-mode': 'cors' }, 'POST'],
  ])('answers %s that is not signed in with 401 and tells the application nothing', async (_, headers, method) => {
    const before = application.heard.length
    const answer = await createVisitor(front).send(method, '/reports', undefined, {
      headers: { ...forged, ...headers },
    })
    expect(answer.status).toBe(401)
    const body = { code: 'not_authenticated', error: 'Not authenticated', message: 'Sign in to continue' }
    expect(answer.body).toEqual(body)
    expect(answer.headers.refresh).toBeUndefined()
    expect(application.heard).toHaveLength(before)
  })

  it('shows a person the way to the login page, and bounces a link from another site once', async () => {
    const visitor = createVisitor(front)
    const near = await visitor.get('/reports?a=1&b=2', navigation('none'))
    expect([near.status, near.headers.refresh]).toEqual([401, undefined])
    expect(near.text).toContain("location.replace('/login?returnTo=' + encodeURIComponent(")

    const first = await visitor.get('/reports?a=1&b=2', navigation('cross-site'))
    expect([first.status, first.headers.refresh]).toEqual([401, undefined])
    expect(first.text).toContain('location.replace(here)')
    expect(first.headers['set-cookie']).toEqual([expect.stringMatching(/^__Host-latchkey_bounced=1; .*; Secure;/)])
    const second = await visitor.get('/reports?a=1&b=2', navigation('cross-site'))
    expect([second.status, second.headers.refresh]).toEqual([401, undefined])
    expect(second.text).toBe(near.text)
    const form = await visitor.send('POST', '/reports', undefined, { headers: navigation('same-origin') })
    expect([form.status, form.headers['content-type']]).toEqual([401, 'text/html; charset=utf-8'])
    expect(form.text).toContain('Your form was not sent')
    for (const { lines } of [near, first, second, form]) {
      const names = lines.map(([name]) => name).filter((name) => !['connection', 'set-cookie'].includes(name))
      expect(names).toEqual([...new Set(names)])
      expect(lines).toContainEqual(['strict-transport-security', 'max-age=31536000; includeSubDomains'])
      expect(lines).toContainEqual(['cache-control', 'no-store'])
    }
  })

  it('leaves open what is public, without an identity, and judges the path that it passes on', async () => {
    await expectPublicKeys(createVisitor(front))
    await expectNoAdministrators(createVisitor(front))
    const { status } = await createVisitor(front).get('/public/news?x=1', forged)
    expect(status).toBe(200)
    expect(application.last()?.url).toBe('/public/news?x=1')
    expect(identity(application.last()?.headers)).toEqual({})

    await createVisitor(front).get('/private/..%2fpublic/news')
    expect(application.last()?.url).toBe('/public/news')
    const before = application.heard.length
    for (const path of [
      '/public/../reports',
      '/public/..%2freports',
      '/public/%2e%2e/reports',
      '//public/../reports',
    ]) {
      expect((await createVisitor(front).get(path)).status).toBe(401)
    }
    expect(application.heard).toHaveLength(before)
  })

  it('does not let a client ask the inner addresses', async () => {
    const visitor = await signedIn()
    for (const path of ['/.latchkey/verify', '/.latchkey/sign-in/bounce', '/.latchkey/unavailable', '/.latchkey/x']) {
      const answer = await visitor.get(path)
      expect([answer.status, answer.body.error]).toEqual([404, 'Not found'])
      expectOurHeaders(answer)
    }
  })

  it('takes what is large, up to its own limit and not to the one of Latchkey', async () => {
    const visitor = await signedIn()
    const body = JSON.stringify('x'.repeat(5_000_000))
    expect((await visitor.post('/upload', body)).status).toBe(200)
    expect(application.last()?.body).toHaveLength(body.length)
    const refused = await visitor.post('/upload', undefined, { 'content-length': '11000000', connection: 'close' })
    const tooLarge = { code: 'too_large', error: 'Too large', message: 'The request is too large' }
    expect([refused.status, refused.body]).toEqual([413, tooLarge])
    expectOurHeaders(refused)
    const login = await visitor.post('/api/auth/login', { username: 'x'.repeat(17_000) })
    expect([login.status, login.body.message]).toEqual([413, 'The request is larger than 16 KB'])
    const headers = { 'x-one': 'x'.repeat(5_000), 'x-two': 'x'.repeat(5_000), 'x-three': 'x'.repeat(5_000) }
    const long = await visitor.get('/reports', headers)
    expect([long.status, long.body.error]).toEqual([431, 'Headers too large'])
    expectOurHeaders(long)
  })

  it('is not misled by the headers of a client, neither where people sign in nor where all may enter', async () => {
    await expectNotMisled(await signedIn(), application, ['/reports', '/public/news'])
  })

  it('tells the sender of a form from another site what is true of it', () => expectForeignForm(createVisitor(front)))
})

describe('in a browser, an application behind the access check', () => {
  const open = async () => {
    const browser = await openChromium()
    const context = await browser.newContext({ ignoreHTTPSErrors: true, locale: 'en-GB' })
    leftovers.push(() => context.close())
    const page = await context.newPage()
    const elsewhere = await startElsewhere()
    leftovers.push(elsewhere.stop)
    const here = `https://localhost:${front.port}`
    const asked: string[] = []
    page.on('request', (request) => {
      if (request.isNavigationRequest() && request.url().startsWith(here)) asked.push(request.url().slice(here.length))
    })
    return { context, page, here, elsewhere, asked: () => asked.splice(0) }
  }

  it('sends a stranger to sign in and back, and greets friends whatever brought them', async () => {
    const { context, page, here, elsewhere, asked } = await open()
    const wanted = '/reports?a=1&b=%2F#/open/3'
    await page.goto(`${here}${wanted}`)
    await page.waitForURL(`${here}/login?returnTo=${encodeURIComponent(wanted)}`)
    await page.getByLabel('Username or email').fill('zoë')
    await page.getByLabel('Password', { exact: true }).fill(password)
    await page.keyboard.press('Enter')
    await page.waitForURL(`${here}${wanted}`)
    await greeted(page)

    // A link on another site: the Strict cookies stay away at first, and one bounce brings them.
    asked()
    await page.goto(elsewhere.pageWithLinkTo(`${here}/reports?a=3&b=4#part`))
    await page.click('a')
    await greeted(page)
    expect(asked()).toEqual(['/reports?a=3&b=4', '/reports?a=3&b=4'])
    expect(page.url()).toBe(`${here}/reports?a=3&b=4#part`)
    expect(application.last()?.headers.cookie).toBeUndefined()
    if (isLongRun) {
      await page.goto(elsewhere.pageThatRedirectsTo(`${here}/reports#/as/a/provider`))
      await page.click('a')
      await greeted(page)
      expect(page.url()).toBe(`${here}/reports#/as/a/provider`)
    }
    expect(await page.evaluate(talk, '/socket')).toEqual(['Hello, zo%25C3%25AB', 'an echo', 'closed with 1005'])

    // The same after the access token has expired, and then a stranger by the same way: each arrives somewhere, and none goes
    // round in circles.
    await context.clearCookies({ name: 'access_token' })
    asked()
    await page.goto(elsewhere.pageWithLinkTo(`${here}/reports?a=7&b=8`))
    await page.click('a')
    await greeted(page)
    expect(asked().length).toBeLessThanOrEqual(4)
    await context.clearCookies()
    await page.goto(elsewhere.pageWithLinkTo(`${here}/reports`))
    await page.click('a')
    await page.waitForURL('**/login?returnTo=%2Freports')
    await page.waitForTimeout(1_000)
    expect(asked()).toEqual(['/reports', '/reports', '/login?returnTo=%2Freports'])
  })
})

describe('a session', () => {
  itRenewsSessions(inLongRun<readonly BrowserName[]>(browserNames, ['chromium']), () => ({
    front,
    signedIn: signedInAnew,
    place: { application, databaseUrl, username: 'zoë' },
  }))

  it('is not ended by an answer that comes late', () => expectSlowAnswer())

  it('has cookies for a domain where there is one, and for no longer than it lasts', async () =>
    expectAttributesOfCookies(await signedInAnew(), instance))
})

describe('when one of the two is down', () => {
  it('says which, in the page and in the access log', async () => {
    const visitor = createVisitor(front)
    const ask = async (path: string) => [await visitor.get(path, navigation('none')), await visitor.get(path)] as const
    await application.stop()
    expectOutage(...(await ask('/public/')), 'The application does not answer.')
    instance.signal('SIGKILL')
    for (const path of ['/reports', '/login'])
      expectOutage(...(await ask(path)), 'The sign-in service does not answer.')
    const lines = (await front.logs()).split('\n').filter((line) => line.includes('"path":"/reports"'))
    const { status, check, check_status } = JSON.parse(lines.at(-1) ?? '{}')
    expect(status).toBe(503)
    expect(check).toContain(`127.0.0.1:${instance.port}`)
    expect(check_status).toContain('502')
  })
})

import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { identityHeaders } from '../../src/access-check/identity-headers.js'
import { type BrowserName, browserNames } from '../support/browsers.js'
import { freshPostgres } from '../support/databases.js'
import { inLongRun, isLongRun } from '../support/long-run.js'
import { freePort } from '../support/servers/server.js'
import { createVisitor, type FrontEnd, type Visitor } from '../support/site/https-client.js'
import { type Instance, startInstance } from '../support/site/instance.js'
import { freePorts } from '../support/site/nginx.js'
import { addPeople, password } from '../support/site/site.js'
import { until } from '../support/until.js'
import { adminArea, expectAdminArea } from './admin-area.js'
import { type Application, startApplication } from './application.js'
import { cookieHeaders } from './browser-journeys.js'
import { startCaddy } from './caddy.js'
import {
  expectAddressBehindManyHeaders,
  expectForeignForm,
  expectIdentityStays,
  expectNoAdministrators,
  expectNotMisled,
  expectOnlyWebSockets,
  expectOurHeaders,
  expectOutage,
  expectPlainRefused,
  expectPublicKeys,
  forged,
  navigation,
  speak,
} from './proxy-answers.js'
import { beginSlowAnswer, itRenewsSessions } from './renewal-journeys.js'

describe('an application behind Caddy and the access check', () => {
  const leftovers: (() => Promise<void>)[] = []
  let application: Application
  let door: FrontEnd
  let plainPort: number
  let instance: Instance
  let databaseUrl: string
  beforeAll(async () => {
    const database = await freshPostgres()
    leftovers.push(database.drop)
    databaseUrl = database.url
    await addPeople(database.url, ['ada'])
    application = await startApplication()
    leftovers.push(application.stop)
    const ports = await freePorts()
    instance = await startInstance(await freePort(), {
      DATABASE_URL: database.url,
      REDIS_URL: process.env.TEST_REDIS_URL ?? '',
      REDIS_PREFIX: `test:${Math.random().toString(36).slice(2)}:`,
      SMTP_URL: 'smtp://127.0.0.1:2525',
      PUBLIC_URL: `https://localhost:${ports.tls}`,
      LOGIN_LIMIT: '5/15m',
    })
    leftovers.push(instance.stop)
    const caddy = await startCaddy({
      port: ports.tls,
      plainPort: ports.plain,
      instance: instance.port,
      application: application.port,
      tls: true,
      more: await adminArea('caddyfile'),
    })
    leftovers.push(caddy.stop)
    door = caddy
    plainPort = ports.plain
  })
  afterAll(async () => {
    for (const leave of leftovers.reverse()) await leave()
  })

  const identity = (headers: object | undefined) => Object.keys(headers ?? {}).filter((name) => /auth|_/.test(name))

  let friend: Visitor | undefined
  const signedIn = async () => {
    friend ??= createVisitor(door)
    if (friend.jar.size === 0) expect((await friend.post('/login', { username: 'ada', password })).status).toBe(200)
    return friend.copy()
  }

  const signedInAnew = async () => {
    const visitor = createVisitor(door)
    expect((await visitor.post('/login', { username: 'ada', password })).status).toBe(200)
    return visitor
  }

  it('is told who asks, by Caddy alone, and gets no token', async () => {
    const visitor = await signedIn()
    visitor.jar.set('theme', 'dark')
    const answer = await visitor.post('/reports?a=1', { some: 'body' }, forged)
    expect(answer.status).toBe(200)
    expect(answer.lines.filter(([name]) => name === 'strict-transport-security')).toHaveLength(1)
    const heard = application.last()
    expect(heard).toMatchObject({ method: 'POST', url: '/reports?a=1', body: '{"some":"body"}' })
    expect(heard?.headers['x-auth-username']).toBe('ada')
    expect(heard?.headers['x-request-id']).toMatch(/^[\da-f]{8}-[\da-f-]{27}$/)
    expect(heard?.headers['x-request-id']).not.toBe(forged['x-request-id'])
    expect(heard?.headers['x-auth-user-id']).toMatch(/^[\da-f-]{36}$/)
    expect(heard?.headers).toMatchObject({
      'x-auth-email': 'ada@example.com',
      'x-auth-factors': '1',
      'x-auth-name': '',
    })
    expect(identity(heard?.headers).sort()).toEqual([...identityHeaders].sort())
    expect(heard?.headers.cookie).toBe('theme=dark')
  })

  it('refuses what should have been encrypted, and redirects pages', async () => {
    await expectPlainRefused(plainPort, 'https://localhost')
  })

  it('guards an admin area as the guide says', async () => {
    const spellings = [
      '/admin/..%2freports',
      '/%41dmin/..%2Freports',
      '//admin/users',
      '/x/%2e%2e%2fadmin',
      '/x;/../admin',
    ]
    await expectAdminArea(await signedIn(), () => application.heard, spellings)
  })

  it.each(cookieHeaders)('keeps our cookies from the application: %s', async (sent, kept) => {
    const cookie = sent.replace('=T', `=${(await signedIn()).jar.get('access_token')}`)
    const answer = await createVisitor(door).get('/reports', { cookie })
    expect([answer.status, application.last()?.headers.cookie]).toEqual([200, kept])
  })

  it('passes no change of protocol on but a WebSocket', async () => {
    await expectOnlyWebSockets(door, (await signedIn()).jar.header(), application)
  })

  it('says who asks, whatever the Connection header of the client names', async () => {
    await expectIdentityStays(await signedIn(), application)
  })

  it('tells a program, shows a person the way, and bounces once', async () => {
    const before = application.heard.length
    const visitor = createVisitor(door)
    await expectPublicKeys(visitor)
    await expectNoAdministrators(visitor)
    const program = await visitor.get('/reports', forged)
    expect([program.status, program.body.error]).toEqual([401, 'Not authenticated'])
    const person = await visitor.get('/reports', navigation('none'))
    expect([person.status, person.headers.refresh]).toEqual([401, undefined])
    expect(person.text).toContain("location.replace('/login?returnTo='")
    const old = await visitor.get('/reports', { accept: 'text/html,*/*' })
    expect(old.text).toBe(person.text)
    const first = await visitor.get('/reports', navigation('cross-site'))
    expect([first.status, first.headers.refresh]).toEqual([401, undefined])
    expect(first.text).toContain('location.replace(here)')
    const second = await visitor.get('/reports', navigation('cross-site'))
    expect([second.status, second.text]).toEqual([401, person.text])
    const form = await visitor.send('POST', '/reports', undefined, { headers: navigation('same-origin') })
    expect([form.status, form.headers['content-type']]).toEqual([401, 'text/html; charset=utf-8'])
    expect(form.text).toContain('Your form was not sent')
    for (const answer of [program, person, first, second]) expectOurHeaders(answer)
    expectOurHeaders(form, { opener: false })
    expect(first.headers['set-cookie']).toEqual([expect.stringMatching(/^__Host-latchkey_bounced=1; .*; Secure;/)])
    await expectForeignForm(visitor)
    expect(application.heard).toHaveLength(before)
  })

  it('is not misled by the headers of a client', async () => {
    await expectNotMisled(await signedIn(), application, ['/reports', '/dev/mailbox'])
  })

  it('stays there for all others when a client sends bodies that are broken or too large', async () => {
    const visitor = await signedIn()
    const head =
      'POST /api/auth/verify-email/check HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nConnection: close\r\n'
    const large = `${(20_000).toString(16)}\r\n${'x'.repeat(20_000)}\r\n0\r\n\r\n`
    for (const [status, bytes] of [
      [400, `${head}Transfer-Encoding: chunked\r\n\r\nzz\r\n{}\r\n0\r\n\r\n`],
      [413, `${head}Transfer-Encoding: chunked\r\n\r\n${large}`],
      [413, `${head}Content-Length: 16385\r\n\r\n`],
    ] as const) {
      const answer = await speak(door, bytes.replace('localhost', `localhost:${door.port}`))
      expect([answer.status, Object.keys(answer.body)]).toEqual([status, ['error', 'message', 'code']])
      expectOurHeaders(answer)
      expect(answer.headers.server).toBeUndefined()
      expect((await visitor.get('/reports')).status).toBe(200)
      expect((await visitor.get('/login')).status).toBe(200)
    }
    const fits = await visitor.post('/api/auth/verify-email/check', { more: 'x'.repeat(16_000) })
    expect(fits.status).not.toBe(413)
  })

  if (isLongRun)
    it('signs no user out by an answer that comes late', async () => {
      const expectSlowAnswer = await beginSlowAnswer(await signedInAnew(), application)
      await expectSlowAnswer()
    })

  // In every run, Chromium does all of this behind nginx.
  itRenewsSessions(inLongRun<readonly BrowserName[]>(browserNames, []), () => ({
    front: door,
    signedIn: signedInAnew,
    place: { application, databaseUrl, username: 'ada' },
  }))

  it('cannot be told another address by a client', async () => {
    const statuses: number[] = []
    for (let guess = 0; guess < 6; guess += 1) {
      const headers = { 'x-forwarded-for': `203.0.113.${guess}`, forwarded: `for=203.0.113.${guess}` }
      const answer = await createVisitor(door).post('/login', { username: 'ada', password: 'wrong' }, headers)
      statuses.push(answer.status)
    }
    expect(statuses).toEqual([401, 401, 401, 401, 401, 429])
  })

  it('cannot be led past its limits, or lose the name of the user, by thousands of tiny headers', async () => {
    await expectAddressBehindManyHeaders(door, 1990)
    const visitor = await signedIn()
    const lines = `Host: localhost:${door.port}\r\nConnection: close\r\nCookie: ${visitor.jar.header()}\r\n`
    const answer = await speak(door, `GET /reports HTTP/1.1\r\n${lines}${'D:\r\n'.repeat(1990)}\r\n`)
    expect([answer.status, application.last()?.headers['x-auth-username']]).toEqual([200, 'ada'])
  })

  it('says who is down, to a person on a page and to a program in JSON', async () => {
    const visitor = await signedIn()
    const ask = async () =>
      [await visitor.get('/reports', navigation('none')), await visitor.get('/reports', { accept: '*/*' })] as const
    await application.stop()
    expectOutage(...(await ask()), 'The application does not answer.')
    instance.signal('SIGKILL')
    await until('the instance ends', () => !instance.alive())
    const answers = await ask()
    expectOutage(...answers, 'The sign-in service does not answer.')
    expect(answers[0].headers.server).toBeUndefined()
  })
})

import { createServer, type IncomingHttpHeaders, request } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createForNext } from '#verify/next-functions.js'
import { nodeGuard } from '#verify/node.js'
import { createVerifier, type Verifier } from '#verify/verify.js'
import { minutes } from '../../src/lib/durations.js'
import type { Browser } from '../support/client.js'
import { expectCookieLines } from '../support/cookie-lines.js'
import { testPostgres } from '../support/databases.js'
import { goodPassword, type Latchkey, startLatchkey } from '../support/latchkey.js'
import { frameworks, type GuardedApplication } from './guarded-applications.js'

const secret = 'c5a1f09e3b7d482693ae10cf7d86b24e5908d1f7a63bc4e2971d05f8ab36c7e4'
let latchkey: Latchkey
let verifier: Verifier
/** A browser that signs in once. Its session is renewed again and again. */
let tab: Browser

beforeAll(async () => {
  latchkey = await startLatchkey({ settings: { JWT_SECRET: secret }, hasUsualTimeouts: true })
  verifier = createVerifier({ publicUrl: latchkey.url, secret, now: () => latchkey.clock.now().getTime() })
  tab = await latchkey.signedUp('ada')
})
afterAll(() => latchkey?.stop())

const generation = async () => {
  const [row] = await latchkey.sql.query<{ generation: number }>('select generation from sessions')
  return row?.generation ?? Number.NaN
}

type Answer = { status: number | undefined; headers: IncomingHttpHeaders; text: string }

/** Sends a request without `fetch`, which would add a `Sec-Fetch-Mode` of its own. */
const send = (url: URL, options: { method: string; headers: Record<string, string> }) =>
  new Promise<Answer>((resolve, reject) => {
    const asked = request(url, { ...options, agent: false }, async (answer) => {
      const text = (await answer.toArray()).join('')
      expectCookieLines(answer.headers['set-cookie'] ?? [])
      resolve({ status: answer.statusCode, headers: answer.headers, text })
    })
    asked.once('error', reject).end()
  })

describe.each(Object.entries(frameworks))('behind the guard for %s', (_, start) => {
  let application: GuardedApplication
  beforeAll(async () => {
    application = await start(verifier)
  })
  afterAll(() => application?.stop())

  const ask = (browser: Browser, { method = 'GET', headers = {} } = {}) =>
    send(new URL('/area/page?x=1&y=%20', application.url), {
      method,
      headers: { ...headers, ...(browser.jar.size > 0 && { cookie: browser.jar.header() }) },
    })

  it('the application knows the user, and its answer is as it was', async () => {
    const { text, headers } = await ask(tab)
    expect(text).toBe('{"user":"ada"}')
    expect(headers).toMatchObject({ 'set-cookie': ['theme=dark; Path=/'], 'cache-control': 'public, max-age=600' })
  })

  it('an expired token is renewed once by ten requests, and no cache keeps the new one', async () => {
    const before = await generation()
    await latchkey.advance(15 * minutes)
    // HEAD changes nothing.
    expect((await ask(tab, { method: 'HEAD' })).status).toBe(401)
    expect(await generation()).toBe(before)

    const answers = await Promise.all(Array.from({ length: 10 }, () => ask(tab)))
    expect(new Set(answers.map(({ text }) => text))).toEqual(new Set(['{"user":"ada"}']))
    expect(await generation()).toBe(before + 1)
    const cookies = answers.map(({ headers }) => headers['set-cookie'] ?? [])
    const [lines = []] = cookies
    tab.jar.keep(lines)
    const refreshTokens = cookies.flat().filter((line) => line.startsWith('refresh_token='))
    expect(refreshTokens).toHaveLength(10)
    expect(new Set(refreshTokens.map((line) => line.split(';')[0])).size).toBe(1)
    expect(lines.map((line) => line.replace(/=[^;]{20,};/, '=…;'))).toEqual([
      'theme=dark; Path=/',
      'access_token=…; Max-Age=900; Path=/; HttpOnly; SameSite=Strict',
      expect.stringMatching(/^refresh_token=…; Max-Age=\d+; Path=\/; HttpOnly; SameSite=Strict$/),
    ])
    expect(new Set(answers.map(({ headers }) => headers['cache-control']))).toEqual(new Set(['private, no-store']))

    expect((await tab.get('/api/auth/me')).status).toBe(200)
    expect((await ask(tab)).headers['set-cookie']).toEqual(['theme=dark; Path=/'])
  })

  it('a visitor is sent to sign in and back again, and a program gets 401', async () => {
    const visitor = latchkey.browser()
    const person = await ask(visitor, { headers: { 'sec-fetch-mode': 'navigate' } })
    expect(person).toMatchObject({ status: 302, text: '', headers: { 'cache-control': 'no-store' } })
    expect(person.headers.location).toBe(`/login?returnTo=${encodeURIComponent('/area/page?x=1&y=%20')}`)
    const program = await ask(visitor)
    expect([program.status, JSON.parse(program.text)]).toEqual([401, (await visitor.get('/api/auth/me')).body])
  })
})

it('while the database hangs, a good token goes on, and one that must be renewed is a 503 and no sign-out', async () => {
  const application = await frameworks.Express?.(verifier)
  const url = new URL('/area/page', application?.url)
  const [good, expired] = [tab.jar.header(), `refresh_token=${tab.jar.get('refresh_token')}`]
  const ask = (cookie: string, more = {}) => send(url, { method: 'GET', headers: { cookie, ...more } })
  const database = testPostgres(latchkey.config.databaseUrl ?? '', { statementTimeoutMs: 60_000 })
  const answers = await database.transaction(async (sql) => {
    // The service waits for the table, as it waits for a server that hangs, and gives up.
    await sql.query('lock table sessions')
    return Promise.all([ask(good), ask(expired), ask(expired, { 'sec-fetch-mode': 'navigate' })])
  })
  await database.close()
  expect(answers.map(({ status }) => status)).toEqual([200, 503, 503])
  expect(answers[2]?.text).toContain('not available at the moment')
  expect((await ask(expired)).status).toBe(200)
  await application?.stop()
})

it('a guard does not rely on the decision of a guard for another service', async () => {
  const other = createVerifier({
    publicUrl: 'https://auth.example.org',
    serviceUrl: latchkey.url,
    secret,
    onProblem: () => {},
  })
  const [first, second] = [nodeGuard(verifier), nodeGuard(other)]
  const application = createServer(async (incoming, response) => {
    if (!(await first(incoming, response)).goOn) return
    if ((await second(incoming, response)).goOn) response.end('both')
  })
  await new Promise<void>((resolve) => application.listen(0, '127.0.0.1', resolve))
  const { port } = application.address() as AddressInfo
  const cookie = `access_token=${tab.jar.get('access_token')}`
  expect((await send(new URL(`http://127.0.0.1:${port}/`), { method: 'GET', headers: { cookie } })).status).toBe(401)
  application.close()
})

it('a guard that asks for a fresh sign-in leads to the page of the service, and lets the user through afterwards', async () => {
  const user = await latchkey.signedUp('noether')
  const application = await frameworks.Express?.(verifier, { fresh: '10m' })
  const ask = () =>
    send(new URL('/area/page?x=1', application?.url), {
      method: 'GET',
      headers: { cookie: user.jar.header(), 'sec-fetch-mode': 'navigate' },
    })
  await latchkey.advance(11 * minutes)
  await user.post('/api/auth/refresh')
  const { status, headers } = await ask()
  expect([status, headers.location]).toEqual([
    302,
    `/step-up?fresh=10m&returnTo=${encodeURIComponent('/area/page?x=1')}`,
  ])
  expect((await user.get(headers.location ?? '')).status).toBe(200)
  expect((await user.act('/api/auth/step-up', { password: goodPassword })).status).toBe(200)
  expect((await ask()).text).toBe('{"user":"noether"}')
  await application?.stop()
})

it('an application with Next signs a user out on the server, by either of the two tokens', async () => {
  const written: [string, string, object][] = []
  let headers = new Headers()
  const { signOut } = createForNext(
    {
      headers: async () => headers,
      cookies: async () => ({ set: (...cookie) => written.push(cookie) }),
      redirect: () => Promise.reject(new Error('Nothing leads to another page')),
      goOn: () => new Response(''),
    },
    () => ({ publicUrl: latchkey.url, secret, now: () => latchkey.clock.now().getTime() }),
  )
  for (const name of ['access_token', 'refresh_token']) {
    const user = await latchkey.signedUp(`hopper-${name.slice(0, 3)}`)
    const cookie = `${name}=${user.jar.get(name)}`
    headers = new Headers({ origin: latchkey.url, cookie })
    await signOut()
    expect((await user.post('/api/auth/refresh')).status).toBe(401)
    const cleared = { maxAge: 0, path: '/', httpOnly: true, sameSite: 'strict', secure: false }
    expect(written.splice(0)).toEqual(['access_token', 'refresh_token'].map((each) => [each, '', cleared]))
  }
})

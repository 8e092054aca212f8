import { once } from 'node:events'
import { cp, mkdtemp, readdir, rm } from 'node:fs/promises'
import { createServer, type IncomingMessage, request, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type BrowserContext, chromium, type Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { operatorClient } from '../../../src/http/request-origin.js'
import { idOf } from '../../support/administrators.js'
import { dbscBrowser } from '../../support/dbsc-browser.js'
import { goodPassword, type Latchkey, startLatchkey } from '../../support/latchkey.js'
import { startProviders, type TestProviders } from '../../support/providers/test-providers.js'
import { until } from '../../support/until.js'

// What only a real browser can show: when it registers, when it asks for new tokens, and what it does after each refusal.

/** The software keys are those of tests; without its quota the browser asks as often as these short tokens need. */
const features = [
  'EnableBoundSessionCredentialsSoftwareKeysForManualTesting',
  'DeviceBoundSessions:RequireOriginTrialTokens/false/RefreshQuota/false',
]
const seconds = 4

type Seen = { method: string; path: string; status: number; skipped: string | undefined }

let providers: TestProviders
let latchkey: Latchkey
let binary: string
let folder: string
const seen: Seen[] = []
/** Loses the answer to the next request of this path. */
let losesAnswerOf: string | undefined

/** A wire between the browser and the service, which writes down what the browser sends by itself. */
const wire = createServer((incoming: IncomingMessage, outgoing: ServerResponse) => {
  const { method = '', url: path = '', headers } = incoming
  const options = { method, path, headers, host: '127.0.0.1', port: latchkey.config.port }
  const passed = request(options, (answer) => {
    const skipped = headers['secure-session-skipped']
    seen.push({
      method,
      path,
      status: answer.statusCode ?? 0,
      skipped: typeof skipped === 'string' ? skipped : undefined,
    })
    if (losesAnswerOf === path && answer.statusCode === 200) {
      losesAnswerOf = undefined
      answer.resume()
      outgoing.destroy()
      return
    }
    outgoing.writeHead(answer.statusCode ?? 500, answer.rawHeaders)
    answer.pipe(outgoing)
  })
  passed.once('error', () => outgoing.destroy())
  incoming.pipe(passed)
})

let url: string
beforeAll(async () => {
  binary = await dbscBrowser()
  wire.listen(0, 'localhost')
  await once(wire, 'listening')
  url = `http://localhost:${(wire.address() as AddressInfo).port}`
  providers = await startProviders()
  const settings = { PUBLIC_URL: url, BOUND_SESSIONS: 'on', ACCESS_TOKEN_LIFETIME: `${seconds}s` }
  latchkey = await startLatchkey({ settings: { ...providers.settings, ...settings } })
  folder = await mkdtemp(join(tmpdir(), 'latchkey-dbsc-'))
})
afterAll(async () => {
  await latchkey?.stop()
  await providers?.close()
  wire.close()
  wire.closeAllConnections()
  if (folder) await rm(folder, { recursive: true, force: true })
})

const openProfile = async (name: string) => {
  const context = await chromium.launchPersistentContext(join(folder, name), {
    executablePath: binary,
    args: [`--enable-features=${features.join(',')}`],
    locale: 'en-GB',
  })
  onTestFinished(() => context.close())
  return context
}

let people = 0
const signIn = async (page: Page) => {
  people += 1
  const name = `user${people}`
  await latchkey.signedUp(name)
  seen.length = 0
  await page.goto(`${url}/login`)
  await page.locator('[name=username]').fill(name)
  await page.locator('[name=password]').fill(goodPassword)
  await page.locator('button[type=submit]').first().click()
  await page.getByText(`Hello, ${name}`).waitFor()
  return name
}

/** The generation of the bound session of a user; undefined if there is none. */
const generationOf = async (name: string) => {
  const rows = await latchkey.sql.query<{ generation: number }>(
    `select r.generation from sessions as r join users as u on u.id = r.user_id
     where u.username = $1 and r.bound_at is not null`,
    [name],
  )
  return rows[0]?.generation
}
const isBound = (name: string) => until(`${name} is bound`, async () => (await generationOf(name)) !== undefined)
const expired = (page: Page) => page.waitForTimeout(seconds * 1000 + 500)
const asked = (path: string) => seen.filter((each) => each.path === path).map(({ status }) => status)
const refreshes = () => asked('/api/auth/bound/refresh')
/** Runs in the page. */
const statusOfMe = () => fetch('/api/auth/me').then(({ status }) => status)
const me = (page: Page) => page.evaluate(statusOfMe)
const cookiesOf = async (context: BrowserContext) =>
  (await context.cookies()).filter(({ name }) => ['access_token', 'refresh_token'].includes(name))

const hello = (page: Page, name: string) => page.getByText(`Hello, ${name}`).waitFor()
const openDashboard = async (page: Page, name: string) => {
  await page.goto(`${url}/dashboard`)
  await hello(page, name)
}
const lostKey = /could not prove that it is the device of your session/

describe('a browser with device bound sessions', () => {
  it('binds a sign-in, is silent while nothing is asked for, and gets new tokens when they are needed', async () => {
    const page = await (await openProfile('usual')).newPage()
    const name = await signIn(page)
    await isBound(name)
    expect(asked('/api/auth/bound/register')).toEqual([200])
    await page.goto('about:blank')
    await expired(page)
    const before = refreshes().length
    await expired(page)
    expect(refreshes().length).toBe(before)
    await openDashboard(page, name)
    expect(refreshes().slice(before)).toContain(200)
    expect(refreshes().filter((status) => ![200, 403].includes(status))).toEqual([])
    await page.getByText('Bound to this device').first().waitFor()
  })

  it('binds after the way back from a provider, by the first request of the page', async () => {
    const page = await (await openProfile('provider')).newPage()
    seen.length = 0
    await page.goto(`${url}/api/auth/provider-a`)
    await page.getByText(/Hello, /).waitFor()
    await until('it is bound', async () => asked('/api/auth/bound/register').includes(200))
    expect(asked('/api/auth/bound/register')).toEqual([200])
    await expired(page)
    expect(await me(page)).toBe(200)
  })

  it('lets twelve requests at once wait for the same tokens', async () => {
    const page = await (await openProfile('twelve')).newPage()
    const name = await signIn(page)
    await isBound(name)
    await page.goto(`${url}/login?notice=sign_in`)
    await expired(page)
    const before = await generationOf(name)
    const ask = () => Promise.all(Array.from({ length: 12 }, () => fetch('/api/auth/me').then(({ status }) => status)))
    expect(await page.evaluate(ask)).toEqual(Array(12).fill(200))
    // All wait for one. With cookies as short as these, the browser asks for others early.
    expect(((await generationOf(name)) ?? 0) - (before ?? 0)).toBeLessThanOrEqual(2)
  })

  it('leaves a thief in another browser with nothing once the access token has expired', async () => {
    const context = await openProfile('owner')
    const page = await context.newPage()
    const name = await signIn(page)
    await isBound(name)
    const thief = await openProfile('thief')
    const copy = await thief.newPage()
    await copy.goto(`${url}/login`)
    expect(await me(page)).toBe(200)
    await thief.addCookies(await cookiesOf(context))
    expect(await me(copy)).toBe(200)
    await expired(page)
    expect(await me(copy)).toBe(401)
    const renew = () => fetch('/api/auth/refresh', { method: 'POST' }).then(({ status }) => status)
    expect(await copy.evaluate(renew)).toBe(401)
    await copy.goto(`${url}/dashboard`)
    await copy.getByText(lostKey).waitFor()
    expect(await me(page)).toBe(200)
  })

  it('goes on after a restart, and without its key ends on the sign-in page with the reason', async () => {
    const before = await openProfile('restarted')
    const page = await before.newPage()
    const name = await signIn(page)
    await isBound(name)
    // The profile is written a moment later.
    await page.waitForTimeout(3_000)
    await before.close()
    const again = await openProfile('restarted')
    const reopened = await again.newPage()
    await openDashboard(reopened, name)
    await reopened.waitForTimeout(3_000)
    await again.close()
    const files = await readdir(join(folder, 'restarted/Default'))
    const ofSessions = files.filter((file) => file.startsWith('Device Bound Sessions'))
    expect(ofSessions.length).toBeGreaterThan(0)
    for (const file of ofSessions) await rm(join(folder, 'restarted/Default', file))
    const withoutKey = await openProfile('restarted')
    const signedOut = await withoutKey.newPage()
    await signedOut.goto(`${url}/dashboard`)
    await signedOut.getByText(lostKey).waitFor()
    await signedOut.locator('[name=username]').fill(name)
    await signedOut.locator('[name=password]').fill(goodPassword)
    await signedOut.locator('button[type=submit]').first().click()
    await hello(signedOut, name)
    await isBound(name)
  })

  it('asks again when an answer with tokens is lost', async () => {
    const page = await (await openProfile('lost-answer')).newPage()
    const name = await signIn(page)
    await isBound(name)
    await page.goto(`${url}/login?notice=sign_in`)
    await expired(page)
    losesAnswerOf = '/api/auth/bound/refresh'
    const before = (await generationOf(name)) ?? 0
    await expect.poll(() => me(page)).toBe(200)
    expect([losesAnswerOf, ((await generationOf(name)) ?? 0) - before]).toEqual([undefined, 1])
  })

  it('keeps its session while the database is away', async () => {
    const page = await (await openProfile('away')).newPage()
    const name = await signIn(page)
    await isBound(name)
    await page.goto(`${url}/login?notice=sign_in`)
    await expired(page)
    seen.length = 0
    await latchkey.sql.query('alter table sessions rename to sessions_away')
    expect(await me(page)).toBe(401)
    const renew = () => fetch('/api/auth/refresh', { method: 'POST' }).then(({ status }) => status)
    expect(await page.evaluate(renew)).toBe(503)
    expect(refreshes()).toContain(503)
    expect(seen.some(({ skipped }) => skipped?.startsWith('server_error'))).toBe(true)
    await latchkey.sql.query('alter table sessions_away rename to sessions')
    expect(await me(page)).toBe(200)
    await openDashboard(page, name)
  })

  it('signs nobody out when the groups change under an open page', async () => {
    const page = await (await openProfile('groups')).newPage()
    const name = await signIn(page)
    await isBound(name)
    const client = operatorClient('root')
    await latchkey.app.rooms.groups.add('staff', client)
    expect(await me(page)).toBe(200)
    const userId = await idOf(latchkey, name)
    await latchkey.app.rooms.groupChanges.change({ userId, client }, { add: ['staff'] })
    await openDashboard(page, name)
    const check = () => fetch('/api/auth/verify?group=staff').then(({ status }) => status)
    expect(await page.evaluate(check)).toBe(204)
  })

  it('goes on after a change that takes the access cookie away', async () => {
    const page = await (await openProfile('renamed')).newPage()
    const name = await signIn(page)
    await isBound(name)
    const rename = async () => {
      const { csrfToken } = (await (await fetch('/api/auth/csrf-token')).json()) as { csrfToken: string }
      const headers = { 'content-type': 'application/json', 'x-csrf-token': csrfToken }
      const change = { method: 'PATCH', headers, body: JSON.stringify({ name: 'Ada' }) }
      const statuses = [(await fetch('/api/auth/account', change)).status]
      return [...statuses, (await fetch('/api/auth/me')).status]
    }
    expect(await page.evaluate(rename)).toEqual([200, 200])
    await page.goto(`${url}/dashboard`)
    await page.getByText('Hello, Ada').waitFor()
  })

  it('binds in a private window, and forgets everything with it', async () => {
    const browser = await chromium.launch({ executablePath: binary, args: [`--enable-features=${features.join(',')}`] })
    onTestFinished(() => browser.close())
    const [first, second] = [
      await browser.newContext({ locale: 'en-GB' }),
      await browser.newContext({ locale: 'en-GB' }),
    ]
    const page = await first.newPage()
    const name = await signIn(page)
    await isBound(name)
    await expired(page)
    expect(await me(page)).toBe(200)
    const other = await second.newPage()
    await other.goto(`${url}/login`)
    expect(await me(other)).toBe(401)
  })

  it('that was restored from a backup is signed out, and the alarm ends the session, as an unbound one', async () => {
    const before = await openProfile('backed-up')
    const page = await before.newPage()
    const name = await signIn(page)
    await isBound(name)
    await page.waitForTimeout(3_000)
    await before.close()
    await cp(join(folder, 'backed-up'), join(folder, 'restored'), { recursive: true })
    const again = await openProfile('backed-up')
    const later = await again.newPage()
    await openDashboard(later, name)
    await expired(later)
    expect(await me(later)).toBe(200)
    await latchkey.sql.query("update sessions set rotated_at = rotated_at - interval '1 minute'")
    const restored = await (await openProfile('restored')).newPage()
    await restored.goto(`${url}/dashboard`)
    await restored.locator('[name=username]').waitFor()
    expect(await generationOf(name)).toBeUndefined()
  })
})

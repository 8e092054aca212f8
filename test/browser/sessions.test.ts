import type { Browser, BrowserContext, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { minutes } from '../../src/lib/durations.js'
import { faultsOf } from '../support/axe.js'
import { fillIn, keepPicture, openChromium, press, signIn, visit, visitAs } from '../support/chromium.js'
import { goodPassword, type Latchkey, startLatchkey } from '../support/latchkey.js'

let latchkey: Latchkey
let browser: Browser

beforeAll(async () => {
  ;[latchkey, browser] = await Promise.all([startLatchkey(), openChromium()])
  for (const name of ['ten', 'calm', 'gone', 'here', 'held', 'anew']) await latchkey.signedUp(name)
})
afterAll(() => latchkey?.stop())

const greeted = (page: Page, name: string) => page.getByText(`Hello, ${name}`, { exact: true }).waitFor()

const signedIn = async (name: string) => {
  const visitor = await visitAs(browser, latchkey, name)
  await visitor.page.goto('/dashboard')
  await greeted(visitor.page, name)
  return visitor
}

const countCalls = (context: BrowserContext, path: string) => {
  const calls: number[] = []
  context.on('response', (response) => {
    if (new URL(response.url()).pathname === path) calls.push(response.status())
  })
  return calls
}

describe('a session in the browser', () => {
  it('is renewed once for two tabs whose access token has expired at the same moment', async () => {
    const { context, leave, page } = await visitAs(browser, latchkey, 'ten')
    const tabs = [page, await context.newPage()]
    const refreshes = countCalls(context, '/api/auth/refresh')
    await latchkey.advance(16 * minutes)
    await Promise.all(tabs.map((tab) => tab.goto('/dashboard')))
    await Promise.all(tabs.map((tab) => greeted(tab, 'ten')))
    expect(refreshes).toEqual([200])
    await leave()
  })

  it('outlives a service that is in trouble, and says so meanwhile', async () => {
    const { context, leave, page } = await visitAs(browser, latchkey, 'calm')
    await latchkey.advance(16 * minutes)
    let tries = 0
    await context.route('**/api/auth/refresh', async (route) => {
      tries += 1
      if (tries === 1) return route.abort('connectionrefused')
      if (tries === 2) return route.fulfill({ status: 503, json: { error: 'Busy', message: 'Later' } })
      if (tries === 3) {
        const headers = { 'retry-after': '1' }
        return route.fulfill({ status: 429, headers, json: { error: 'Too many requests', message: 'Later' } })
      }
      return route.continue()
    })
    await page.goto('/dashboard')
    await page.getByText('You are still signed in. We keep trying.').waitFor()
    await greeted(page, 'calm')
    expect(tries).toBe(4)
    await leave()
  })

  it('does not wait for a tab that holds the lock and sleeps', async () => {
    const { context, leave, page } = await visitAs(browser, latchkey, 'held')
    const sleeping = await context.newPage()
    await sleeping.goto('/health/live')
    await sleeping.evaluate(() => {
      void navigator.locks.request('latchkey-refresh', () => new Promise(() => undefined))
    })
    await latchkey.advance(16 * minutes)
    await page.goto('/dashboard')
    await greeted(page, 'held')
    await leave()
  })

  it('goes on in every tab after a change of the password, also where a refresh was on its way', async () => {
    const { context, leave, page } = await signedIn('anew')
    const other = await context.newPage()
    // Without locks, as on plain http in a local network, nothing keeps the two apart.
    await other.addInitScript(() => Reflect.deleteProperty(Navigator.prototype, 'locks'))
    await other.goto('/dashboard')
    await greeted(other, 'anew')
    const refused = {
      status: 401,
      json: { error: 'Not authenticated', message: 'Sign in to continue', code: 'not_authenticated' },
    }
    let letThrough = () => {}
    const changed = new Promise<void>((resolve) => {
      letThrough = resolve
    })
    // What the server answers to the token before the change.
    await other.route('**/api/auth/refresh', async (route) => {
      await changed
      await route.fulfill(refused)
    })
    await other.route('**/api/auth/account', (route) => route.fulfill(refused), { times: 1 })
    const visited: string[] = []
    other.on('framenavigated', (frame) => visited.push(new URL(frame.url()).pathname))
    const asked = other.waitForRequest('**/api/auth/refresh')
    await other.reload()
    await asked
    await press(page, 'Change password')
    await fillIn(page, { 'Current password': goodPassword, 'New password': 'copper-Willow-83-anchor' })
    await press(page, 'Change password')
    await page.getByText('Your password was changed.').waitFor()
    letThrough()
    await greeted(other, 'anew')
    expect(visited).toEqual(['/dashboard'])
    expect((await page.request.get('/api/auth/me')).status()).toBe(200)
    await leave()
  })

  it('leads to the login page and back when it has really ended', async () => {
    const { leave, page } = await signedIn('gone')
    const elsewhere = latchkey.browser()
    await elsewhere.post('/api/auth/login', { username: 'gone', password: 'violet-Harbor-91-lantern' })
    await elsewhere.act('/api/auth/logout-all', {})
    await latchkey.advance(16 * minutes)
    await press(page, 'Change name or username')
    await fillIn(page, { Name: 'Gone with the session' })
    await press(page, 'Save')
    await page.waitForURL('**/login?notice=session_ended&returnTo=%2Fdashboard')
    await page.getByText('Your session has ended.').waitFor()
    await signIn(page, 'gone')
    await greeted(page, 'gone')
    // What was typed is there again, for this user and once.
    expect(await page.getByLabel('Name', { exact: true }).inputValue()).toBe('Gone with the session')
    await press(page, 'Save')
    await page.getByText('Hello, Gone with the session').waitFor()
    await press(page, 'Change name or username')
    await fillIn(page, { Name: 'Another' })
    await press(page, 'Sign out')
    await page.getByText('You are signed out.').waitFor()
    expect(await page.evaluate(() => JSON.stringify(sessionStorage))).not.toContain('Another')
    await leave()
  })

  it('clears the page at once when it is ended, and asks again if the service did not answer', async () => {
    const { page, leave } = await visitAs(browser, latchkey, 'here')
    await page.goto('/dashboard')
    await greeted(page, 'here')
    let answer = () => {}
    const answered = new Promise<void>((resolve) => {
      answer = resolve
    })
    await page.route('**/api/auth/logout', async (route) => {
      await answered
      await route.abort()
    })
    await press(page, 'Sign out')
    await page.getByText('One moment…').waitFor()
    expect(await page.locator('main').innerText()).not.toContain('here')
    answer()
    await page.getByRole('heading', { name: 'You could not be signed out.' }).waitFor()
    await keepPicture(page, 'not-signed-out')
    expect(await faultsOf(page)).toEqual([])
    expect(await page.content()).not.toContain('here@example.com')
    await page.unroute('**/api/auth/logout')
    const signedOut = page.waitForResponse('**/api/auth/logout')
    await press(page, 'Sign out')
    expect(await (await signedOut).headerValue('clear-site-data')).toBe('"cache"')
    await page.getByText('You are signed out.').waitFor()
    await leave()
  })

  it('makes the login page move on, to a place of this site only', async () => {
    const { leave, page } = await visitAs(browser, latchkey, 'here')
    await page.goto('/login?returnTo=%2Fhealth%2Flive%3Ffrom%3Dlogin')
    await page.waitForURL('**/health/live?from=login')
    // src/contract/return-to.test.ts has all other spellings.
    await page.goto(`/login?returnTo=${encodeURIComponent('/\\evil.test')}`)
    await page.waitForURL(`${latchkey.url}/dashboard`)
    await leave()
  })

  it('shows no sign-in form while it is being renewed, and the form when that takes too long', async () => {
    const { context, leave, page } = await visitAs(browser, latchkey, 'here')
    await context.clearCookies({ name: 'access_token' })
    let letThrough = () => {}
    const held = new Promise<void>((resolve) => {
      letThrough = resolve
    })
    await page.route('**/api/auth/refresh', async (route) => {
      await held
      await route.continue()
    })
    await page.goto('/login?returnTo=%2Fhealth%2Flive')
    await page.getByText('One moment…').waitFor()
    await page.locator('main form').waitFor()
    await expect.poll(() => page.getByText('One moment…').count()).toBe(0)
    letThrough()
    await page.waitForURL('**/health/live')
    await leave()
  })

  it('begins in one tab and lets the waiting one in, and is no concern of the back button once it is over', async () => {
    const { context, leave, page } = await visit(browser, latchkey)
    const other = await context.newPage()
    await other.goto('/dashboard')
    await other.getByText('Sign in to continue.').waitFor()
    await page.goto('/login')
    await signIn(page, 'here')
    await greeted(page, 'here')
    await greeted(other, 'here')

    await page.goto('/health/live')
    await page.goto('/dashboard')
    await greeted(page, 'here')
    await press(page, 'Sign out')
    await page.getByText('You are signed out.').waitFor()
    await other.waitForURL('**/login?notice=signed_out')
    await page.goBack()
    await page.goBack()
    await page.waitForURL('**/login?notice=sign_in&returnTo=%2Fdashboard')
    for (const tab of [page, other]) expect(await tab.content()).not.toContain('here@example.com')
    await leave()
  })
})

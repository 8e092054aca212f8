import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { addApplication } from '../support/applications.js'
import { faultsOf } from '../support/axe.js'
import { fillIn, keepPicture, openChromium, press, visitAs } from '../support/chromium.js'
import { goodPassword, type Latchkey, startLatchkey } from '../support/latchkey.js'
import { until } from '../support/until.js'

// What a visitor of an application behind a proxy sees of us. The application is an empty page: the check itself is in test/http.

let latchkey: Latchkey
let browser: Browser
let application: Server
let origin: string
beforeAll(async () => {
  application = createServer((_, response) => response.end('<!doctype html><title>Wiki</title>The wiki')).listen(0)
  await once(application, 'listening')
  origin = `http://127.0.0.1:${(application.address() as AddressInfo).port}`
  ;[latchkey, browser] = await Promise.all([startLatchkey(), openChromium()])
  const wiki = { name: 'Wiki', home: `${origin}/`, redirectAddresses: [], proxyOrigin: origin }
  await addApplication(latchkey, wiki)
  await latchkey.signedUp('ada')
  const isKnown = async () => latchkey.app.rooms.protectedApplications.find(origin) !== undefined
  await until('the application is known', isKnown)
})
afterAll(async () => {
  application?.close()
  await latchkey?.stop()
})

it('names the application, leads there after the sign-in, and nowhere else', async () => {
  const context = await browser.newContext({ baseURL: latchkey.url })
  const page = await context.newPage()
  await page.goto(`/login?returnTo=${encodeURIComponent(`${origin}/page?a=1`)}#part`)
  await page.getByText('Sign in to continue to Wiki.').waitFor()
  await keepPicture(page, 'login-behind-proxy')
  await fillIn(page, { 'Username or email': 'ada', Password: goodPassword })
  await press(page, 'Sign in')
  await page.waitForURL(`${origin}/page?a=1#part`)
  // Signed in already, the page leads on by itself.
  await page.goto(`${latchkey.url}/login?returnTo=${encodeURIComponent(`${origin}/other`)}`)
  await page.waitForURL(`${origin}/other`)
  await page.goto(`${latchkey.url}/login?returnTo=${encodeURIComponent('http://127.0.0.1:1/evil')}`)
  await page.waitForURL('**/dashboard')
  await context.close()
})

it('is not broken by a link that nobody can read', async () => {
  const context = await browser.newContext({ baseURL: latchkey.url })
  const page = await context.newPage()
  await page.goto(`/login?returnTo=${encodeURIComponent('/api/auth/return?to=%zz')}`)
  await page.getByRole('button', { name: 'Sign in', exact: true }).waitFor()
  await context.close()
})

it('says to whom an application is closed, and lists the others on the account page', async () => {
  const { page, leave, faults } = await visitAs(browser, latchkey, 'ada')
  await page.goto(`/step-up?group=1&returnTo=${encodeURIComponent(`${origin}/`)}`)
  await page.getByText('This account has no access to Wiki.').waitFor()
  await keepPicture(page, 'no-access-behind-proxy')
  expect(await faultsOf(page)).toEqual([])
  await page.goto('/dashboard')
  const tile = page.getByRole('link', { name: 'Wiki' })
  await tile.waitFor()
  await keepPicture(page, 'dashboard-applications')
  expect(await faultsOf(page)).toEqual([])
  await tile.click()
  await page.waitForURL(`${origin}/`)
  expect(faults).toEqual([])
  await leave()
})

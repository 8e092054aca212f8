import { type Browser, launch, type Page } from 'puppeteer-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { minutes } from '../../src/lib/durations.js'
import { linkIn, timeout } from '../support/chromium.js'
import { goodPassword, type Latchkey, startLatchkey } from '../support/latchkey.js'
import { testProgram } from '../support/servers/programs.js'

const newPassword = 'Quiet+Orchard+48+marble'

let latchkey: Latchkey
let browser: Browser

beforeAll(async () => {
  const firefox = launch({
    browser: 'firefox',
    executablePath: testProgram('firefox'),
    headless: true,
    // Its own services are not reachable in a test, and it would go on asking for them.
    extraPrefsFirefox: { 'intl.accept_languages': 'en-GB', 'network.captive-portal-service.enabled': false },
  })
  // In development both providers have stand-ins on this machine.
  ;[latchkey, browser] = await Promise.all([startLatchkey({ settings: { NODE_ENV: 'development' } }), firefox])
}, timeout)
afterAll(async () => {
  await browser?.close()
  await latchkey?.stop()
})

const type = async (page: Page, values: Record<string, string>) => {
  for (const [name, value] of Object.entries(values)) await page.locator(`[name=${name}]`).fill(value)
}
const press = (page: Page, text: string) => page.locator(`::-p-aria(${text}[role="button"])`).click()
const read = (page: Page, text: string) => page.waitForSelector(`::-p-text(${text})`)

const arrive = async (page: Page, path: string) => {
  await page.waitForFunction((wanted) => location.pathname === wanted, {}, path)
}

describe('in Firefox', { timeout: timeout }, () => {
  it('somebody registers, proves the address, changes the password, signs out and in again', async () => {
    const page = await browser.newPage()
    page.setDefaultTimeout(30_000)
    await page.goto(`${latchkey.url}/register`)
    await type(page, { username: 'fox', email: 'fox@example.com', password: goodPassword })
    await press(page, 'Create account')
    await arrive(page, '/verify-email')
    await page.goto(linkIn(await latchkey.mailTo('fox@example.com')))
    await press(page, 'Confirm my email')
    await read(page, 'Hello, fox')
    await read(page, 'This device')

    latchkey.clock.advance(16 * minutes)
    await page.reload()
    await read(page, 'Hello, fox')

    await press(page, 'Change password')
    await type(page, { currentPassword: goodPassword, newPassword })
    await read(page, 'Strength')
    await press(page, 'Change password')
    await read(page, 'Your password is changed.')
    await press(page, 'Sign out')
    await read(page, 'You are signed out.')
    await type(page, { username: 'fox@example.com', password: newPassword })
    await press(page, 'Sign in')
    await read(page, 'Hello, fox')
    await page.close()
  })

  it('somebody signs in with a provider, though the cookies do not come along with the way back', async () => {
    const context = await browser.createBrowserContext()
    const page = await context.newPage()
    page.setDefaultTimeout(30_000)
    await page.goto(`${latchkey.url}/login`)
    await page.locator('::-p-text(Continue with GitHub)').click()
    await page.locator('::-p-text(Ben Example)').click()
    await read(page, 'Hello, Ben Example')
    expect(new URL(page.url()).pathname).toBe('/dashboard')
    await context.close()
  })
})

import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { openChromium, press, visit, visitAs } from '../support/chromium.js'
import { goodPassword, type Latchkey, startLatchkey } from '../support/latchkey.js'
import { isLongRun } from '../support/long-run.js'

let latchkey: Latchkey
let browser: Browser

// In development both providers have stand-ins on this machine, which are another site to the browser, as real ones are.
beforeAll(async () => {
  const settings = { NODE_ENV: 'development', PROVIDER_A_NAME: 'Google', PROVIDER_B_NAME: 'GitHub' }
  ;[latchkey, browser] = await Promise.all([startLatchkey({ settings }), openChromium()])
})
afterAll(() => latchkey?.stop())

const be = (page: Page, name: string) => page.getByRole('button', { name }).click()

describe('signing in with a provider', () => {
  it('does not begin by a link on another site: the button has the focus, and a press goes on', async () => {
    const { page, context, leave, faults } = await visit(browser, latchkey)
    const start = `${latchkey.url}/api/auth/provider-b?returnTo=%2Fhealth%2Flive%3Fvia%3Dlink`
    const body = `<a href="${start}">Win a prize</a>`
    await context.route('http://another-site.example/**', (route) => route.fulfill({ contentType: 'text/html', body }))
    await page.goto('http://another-site.example/')
    await page.getByRole('link', { name: 'Win a prize' }).click()
    await page.waitForURL(`${latchkey.url}/login?provider=provider-b&returnTo=*`)
    const button = page.getByRole('link', { name: 'Continue with GitHub' })
    await expect.poll(() => button.evaluate((link) => link === document.activeElement)).toBe(true)
    await page.getByText('Another page asks you to sign in with GitHub.').waitFor()
    expect((await context.cookies()).filter(({ name }) => name.includes('attempt'))).toEqual([])
    await page.keyboard.press('Enter')
    await be(page, 'Ada Example')
    await page.waitForURL('**/health/live?via=link')
    expect(faults).toEqual([])
    await leave()
  })

  it('says in words that no email came, and still knows where the visitor was going', async () => {
    const { page, leave } = await visit(browser, latchkey)
    await page.goto('/login?returnTo=%2Fhealth%2Flive%3Fvia%3Drefusal')
    await page.getByRole('link', { name: 'Continue with GitHub' }).click()
    await be(page, 'No Email')
    await page.getByRole('alert').getByText('GitHub did not give us a confirmed email address').waitFor()
    await page.getByRole('link', { name: 'Continue with Google' }).click()
    await be(page, 'Ben Example')
    await page.waitForURL('**/health/live?via=refusal')
    await leave()
  })
})

describe('linked providers', () => {
  it('are connected and disconnected on the dashboard, but never the last way in', async () => {
    await latchkey.signedUp('linus', { email: 'linus@example.com' })
    const { page, context, leave } = await visitAs(browser, latchkey, 'linus')
    await page.goto('/dashboard')
    await page.getByRole('button', { name: 'Connect Google' }).waitFor()
    const olderTab = isLongRun ? await context.newPage() : undefined
    await olderTab?.goto('/dashboard')
    await olderTab?.getByRole('button', { name: 'Connect Google' }).waitFor()
    await press(page, 'Connect Google')
    await be(page, 'Zoë')
    await page.getByText('Google is connected.').waitFor()
    expect(page.url()).toBe(`${latchkey.url}/dashboard`)
    if (olderTab) {
      await press(olderTab, 'Connect Google')
      await olderTab.getByText('Another Google account is already connected. Disconnect it first.').waitFor()
      await olderTab.close()
      await press(page, 'Connect GitHub')
      await be(page, 'Refuse to sign in')
      await page.getByRole('status').getByText('You cancelled at GitHub. Nothing was connected.').waitFor()
    }
    await press(page, 'Disconnect Google')
    await press(page, 'Yes, disconnect')
    await page.getByText('Google is disconnected.').waitFor()
    await page.getByRole('button', { name: 'Connect Google' }).waitFor()
    await leave()
  })

  it('sign in though the cookies do not come along with the way back, and the only way in stays', async () => {
    const { page, context, leave, faults } = await visit(browser, latchkey)
    await page.goto('/login')
    await page.getByRole('link', { name: 'Continue with Google' }).click()
    await be(page, 'Ben Example')
    await page.waitForURL('**/dashboard')
    await page.getByText('Hello, Ben Example', { exact: true }).waitFor()
    await page.getByText('Signed in with Google').first().waitFor()
    // Which of their accounts it is.
    await page.getByText('Connected · ben@example.com', { exact: true }).waitFor()
    await press(page, 'Disconnect Google')
    await press(page, 'Yes, disconnect')
    await page.getByText('This is your only way to sign in.').waitFor()
    await page.getByRole('link', { name: 'Set a password' }).click()
    await page.getByRole('heading', { name: 'Set a password' }).waitFor()
    await expect.poll(() => page.getByLabel('Username or email').inputValue()).toBe('ben@example.com')
    expect(`${await page.title()} ${await page.locator('main').innerText()}`).not.toMatch(/forgot/i)
    await press(page, 'Send the link')
    await page.getByText('We have sent an email with a link to ben@example.com.').waitFor()
    expect((await latchkey.mailTo('ben@example.com', /reset-password#/)).subject).toBe('Set a password for Latchkey')
    const back = page.getByRole('link', { name: 'Back to your account' })
    expect(await back.getAttribute('href')).toBe('/dashboard')
    if (isLongRun) {
      // An identity of one user is none of another.
      await latchkey.signedUp('theo', { email: 'theo@example.com' })
      await context.clearCookies()
      await page.request.post('/api/auth/login', { data: { username: 'theo', password: goodPassword } })
      await back.click()
      await press(page, 'Connect Google')
      await be(page, 'Ben Example')
      await page.getByText('This Google account is already connected to another account here.').waitFor()
    }
    expect(faults).toEqual([])
    await leave()
  })
})

import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { createAuthenticator } from '../support/authenticator.js'
import { fillIn, keepPicture, openChromium, signIn, visit } from '../support/chromium.js'
import { type Latchkey, startLatchkey } from '../support/latchkey.js'

let latchkey: Latchkey
let browser: Browser

beforeAll(async () => {
  ;[latchkey, browser] = await Promise.all([startLatchkey(), openChromium()])
  await latchkey.signedUp('ruth')
})
afterAll(() => latchkey?.stop())

it('switches two-step sign-in on, and signs in with a code and with a recovery code', async () => {
  const { page, context } = await visit(browser, latchkey)
  await page.goto('/login?returnTo=/dashboard')
  await signIn(page, 'ruth')
  await page.getByRole('button', { name: 'Switch on' }).click()
  await page.getByRole('img', { name: 'QR code for the authenticator app' }).waitFor()
  const secret = (await page.locator('code.secret').innerText()).replaceAll(/\s/g, '')
  const app = createAuthenticator(secret, latchkey)
  await keepPicture(page, 'two-step-begun')
  await fillIn(page, { 'Code from the app': app.code() })
  await page.getByRole('button', { name: 'Confirm' }).click()
  await page.getByText('Save these recovery codes now').waitFor()
  const codes = await page.locator('.recovery-codes code').allInnerTexts()
  expect(codes).toHaveLength(10)
  await page.getByRole('button', { name: 'I have saved them' }).click()
  await page.getByText('Recovery codes left: 10.').waitFor()

  await page.getByRole('button', { name: 'Sign out', exact: true }).first().click()
  await page.getByText('You are signed out.').waitFor()
  await signIn(page, 'ruth')
  await page.getByRole('heading', { name: 'Enter your code' }).waitFor()
  expect(await page.getByLabel('Code from the app').getAttribute('inputmode')).toBe('numeric')
  expect(await page.getByLabel('Code from the app').getAttribute('autocomplete')).toBe('one-time-code')
  // A broken connection does not end the sign-in.
  await page.route('**/api/auth/second-factor', (route) => route.abort())
  await page.reload()
  const again = page.getByRole('button', { name: 'Try again' })
  await again.waitFor()
  await page.unroute('**/api/auth/second-factor')
  await again.click()
  await page.getByLabel('Code from the app').waitFor()
  // The code that confirmed the app is used up.
  latchkey.clock.advance(30_000)
  const code = app.code()
  await fillIn(page, { 'Code from the app': '000' })
  await page.getByRole('button', { name: 'Continue' }).click()
  await page.getByText('This code does not work.').waitFor()
  await keepPicture(page, 'second-factor')
  await fillIn(page, { 'Code from the app': `${code.slice(0, 3)} ${code.slice(3)}` })
  await page.getByRole('button', { name: 'Continue' }).click()
  await page.getByRole('heading', { level: 1, name: 'ruth' }).waitFor()

  await page.getByRole('button', { name: 'Sign out', exact: true }).first().click()
  await page.getByText('You are signed out.').waitFor()
  await signIn(page, 'ruth')
  await page.getByRole('button', { name: 'Use a recovery code' }).click()
  await fillIn(page, { 'Recovery code': codes[0] ?? '' })
  await page.getByRole('button', { name: 'Continue' }).click()
  await page.getByText('Recovery codes left: 9.').waitFor()
  await context.close()
})

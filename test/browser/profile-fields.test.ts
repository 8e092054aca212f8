import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { minutes } from '../../src/lib/durations.js'
import { addAuthenticator } from '../support/authenticator.js'
import { faultsOf } from '../support/axe.js'
import { fillIn, focusedName, openChromium, press, visit } from '../support/chromium.js'
import { goodPassword, type Latchkey, startLatchkey } from '../support/latchkey.js'
import { isLongRun } from '../support/long-run.js'
import { profileFieldsFile } from '../support/profile-fields.js'

let file: Awaited<ReturnType<typeof profileFieldsFile>>
let latchkey: Latchkey
let browser: Browser
const narrow = { viewport: { width: 390, height: 844 } }

beforeAll(async () => {
  file = await profileFieldsFile()
  const terms = { TERMS_URL: '/terms', TERMS_VERSION: '1', PRIVACY_URL: 'https://example.com/privacy' }
  const settings = { PROFILE_FIELDS_FILE: file.path, USERNAMES: 'from_email', ...terms }
  ;[latchkey, browser] = await Promise.all([startLatchkey({ settings }), openChromium()])
})
afterAll(async () => {
  await latchkey?.stop()
  await file.remove()
})

it('are asked for by the registration, with the terms, and without a username if it is made from the address', async () => {
  const { page, leave } = await visit(browser, latchkey, narrow)
  await page.goto('/register')
  await fillIn(page, { Email: 'ada@example.com', 'Choose a password': goodPassword })
  await press(page, 'Create account')
  await page.getByText('is missing.').first().waitFor()
  expect(await page.getByLabel('Department').getAttribute('aria-invalid')).toBe('true')
  expect(await page.getByLabel('Username').count()).toBe(0)
  expect(await faultsOf(page)).toEqual([])
  expect(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth)).toBe(true)
  await page.getByLabel('Department').selectOption('sales')
  await page.getByLabel('Nickname (optional)').fill('Ada')
  await page.getByLabel(/I have read the/).check()
  await press(page, 'Create account')
  await page.waitForURL('**/verify-email**')
  const { text } = await latchkey.mailTo('ada@example.com', /verify-email#token=/)
  expect(text).toContain('Privacy <https://example.com/privacy>')
  // Another page first: a new fragment alone would not load it again.
  await page.goto('/health/live')
  await page.goto(`/verify-email#token=${/#token=([\w-]+)/.exec(text)?.[1]}`)
  await press(page, 'Confirm my email')
  await page.waitForURL('**/dashboard')

  const panel = page.locator('section', { has: page.getByRole('heading', { name: 'Further details' }) })
  await panel.getByText('Sales').waitFor()
  // As if the file had allowed it once. The account page does not know of it.
  await latchkey.sql.query('update users set fields = fields || \'{"website": "ftp://example.com"}\'')
  await press(page, 'Change further details')
  await fillIn(page, { 'Website (optional)': 'example.com' })
  await press(page, 'Save')
  await page.getByText('Please enter an address that begins with https://').waitFor()
  await fillIn(page, { 'Website (optional)': '', 'Mobile phone (optional)': '030 1' })
  await press(page, 'Save')
  await page.getByText('Please enter the number with its country').waitFor()
  await fillIn(page, { 'Mobile phone (optional)': '+49 30 123456' })
  await press(page, 'Save')
  await panel.getByText('+4930123456').waitFor()
  // Shown, and not to be edited.
  await panel.getByText('Staff number').waitFor()
  expect((await latchkey.app.rooms.users.findByLogin('ada'))?.fields).toMatchObject({
    mobile: '+4930123456',
    website: 'ftp://example.com',
  })
  await leave()
})

it('and the terms are asked for at a sign-in, and can be declined', async () => {
  await latchkey.sql.query('delete from agreed_terms')
  await latchkey.sql.query("update users set fields = '{}'")
  const { page, context } = await visit(browser, latchkey, { ...narrow, locale: 'de' })
  await page.goto('/login')
  await page.getByLabel('Benutzername oder E‑Mail').fill('ada')
  await page.getByLabel('Passwort', { exact: true }).fill(goodPassword)
  await page.keyboard.press('Enter')
  await page.getByRole('heading', { name: 'Noch ein paar Angaben' }).waitFor()
  expect(await faultsOf(page)).toEqual([])
  await page.getByLabel('Abteilung').selectOption('sales')
  await press(page, 'Weiter')
  await expect.poll(() => focusedName(page)).toBe('Nutzungsbedingungen')
  await press(page, 'Ich möchte nicht fortfahren')
  await page.getByLabel('Um das Konto zu löschen').fill('someone')
  await press(page, 'Mein Konto löschen')
  await page.locator('[aria-invalid=true]').waitFor()
  await page.getByLabel(/gelesen und stimme/).check()
  await press(page, 'Weiter')
  await page.waitForURL('**/dashboard')
  await context.close()
})

it('a user who declines can leave with the data, after a fresh proof', async () => {
  const tab = latchkey.browser()
  const login = () => tab.post('/login', { username: 'ada', password: goodPassword })
  expect((await login()).status).toBe(200)
  const app = await addAuthenticator(tab, latchkey)
  await latchkey.advance(1 * minutes)
  const { page, context } = await visit(browser, latchkey, narrow)
  if (isLongRun) {
    await login()
    expect((await tab.post('/api/auth/second-factor', { code: app.code(), trustDevice: true })).status).toBe(200)
    await latchkey.advance(1 * minutes)
    const value = tab.jar.get('trusted_device') ?? ''
    await context.addCookies([{ name: 'trusted_device', value, url: latchkey.url }])
  }
  await latchkey.sql.query('delete from agreed_terms')
  const signIn = async () => {
    await page.goto('/login')
    await fillIn(page, { 'Username or email': 'ada', Password: goodPassword })
    await page.keyboard.press('Enter')
  }
  const decline = async () => {
    await press(page, 'I do not want to go on')
    await fillIn(page, { 'To delete the account, type your username': 'ada' })
  }

  // A browser that is trusted proves nothing.
  if (isLongRun) {
    await signIn()
    await decline()
    const sentence = page.getByText('sign in in a private window with your password')
    for (const [at, action] of ['Download my data', 'Delete my account'].entries()) {
      await press(page, action)
      await sentence.nth(at).waitFor()
    }
    await context.clearCookies()
  }

  await signIn()
  await fillIn(page, { 'Code from the app': app.code() })
  await press(page, 'Continue')
  await decline()
  const downloading = page.waitForEvent('download')
  await press(page, 'Download my data')
  expect((await downloading).suggestedFilename()).toBe('account-data.json')
  await press(page, 'Delete my account')
  await page.getByText('Your account was deleted.').waitFor()
  expect(await latchkey.sql.query('select 1 from users')).toEqual([])
  await context.close()
})

import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { minutes } from '../../src/lib/durations.js'
import {
  fillIn,
  focusedField,
  focusedName,
  keepPicture,
  linkIn,
  openChromium,
  press,
  visit,
  visitAs,
} from '../support/chromium.js'
import { goodPassword, type Latchkey, startLatchkey } from '../support/latchkey.js'
import { isLongRun } from '../support/long-run.js'
import { addPasskey } from '../support/passkey.js'

const newPassword = 'amber-Meadow-27-kettle'

let latchkey: Latchkey
let browser: Browser
beforeAll(async () => {
  ;[latchkey, browser] = await Promise.all([startLatchkey({ settings: { SUPPORT_URL: '/help' } }), openChromium()])
})
afterAll(() => latchkey?.stop())

/** A page that is open already does not load again when only the fragment of its address changes. */
const leavePage = (page: Page) => page.goto('/health/live')

const heading = (page: Page, name: string) => page.getByRole('heading', { name, level: 1 }).waitFor()

it('changes the email on the account page, confirms it by the link, and undoes it by the link to the old address', async () => {
  await latchkey.signedUp('ada')
  const { page, leave, faults } = await visitAs(browser, latchkey, 'ada')
  await page.goto('/dashboard')
  await page.getByText('Hello, ada', { exact: true }).waitFor()
  await press(page, 'Change the email address')
  await fillIn(page, { 'New email address': 'ADA@example.com' })
  await press(page, 'Send the link')
  await page.getByText('This is already your email address.').waitFor()
  await fillIn(page, { 'New email address': 'ada@example.net' })
  await press(page, 'Send the link')
  await page.getByText('Not confirmed yet: ada@example.net.').waitFor()
  await fillIn(page, { 'Code from the email': 'AAAA-AAAA' })
  await press(page, 'Confirm')
  await page.getByText('This is not the code of our newest email.').waitFor()
  await keepPicture(page, 'change-email-code')
  await page.reload()
  await press(page, 'Cancel the change')
  await page.getByText('The change was cancelled.').waitFor()
  await expect.poll(() => focusedName(page)).toBe('Change the email address')

  await latchkey.advance(11 * minutes)
  await press(page, 'Change the email address')
  await fillIn(page, { 'New email address': 'ada@example.org' })
  await keepPicture(page, 'change-email')
  await press(page, 'Send the link')
  const dialog = page.getByRole('dialog')
  await dialog.getByRole('textbox', { name: 'Password' }).fill(goodPassword)
  await page.keyboard.press('Enter')
  await page.getByText('We have sent an email to ada@example.org').waitFor()

  const elsewhere = await visit(browser, latchkey)
  const link = linkIn(await latchkey.mailTo('ada@example.org'))
  await elsewhere.page.goto(link)
  await heading(elsewhere.page, 'Confirm your new email')
  await elsewhere.page.getByText('To use ada@example.org for your account').waitFor()
  await elsewhere.page.getByText('The email also has a code.').waitFor()
  await fillIn(elsewhere.page, { Password: 'wrong' })
  await press(elsewhere.page, 'Confirm this address')
  await elsewhere.page.getByText('This is not your current password.').waitFor()
  if (isLongRun) {
    await latchkey.signedUp('bea')
    await elsewhere.page.request.post('/api/auth/login', { data: { username: 'bea', password: goodPassword } })
    await leavePage(elsewhere.page)
    await elsewhere.page.goto(link)
    await elsewhere.page.getByText('You are signed in as bea, but this link is for another account.').waitFor()
    await keepPicture(elsewhere.page, 'confirm-email-other')
  }

  const tab = await page.context().newPage()
  await tab.goto(link)
  await heading(tab, 'Confirm your new email')
  await tab.getByText('your account ada will use this address: ada@example.org').waitFor()
  await keepPicture(tab, 'confirm-email')
  await press(tab, 'Confirm this address')
  await heading(tab, 'Email changed')
  expect(tab.url()).not.toContain('token')
  await tab.getByRole('link', { name: 'Continue' }).click()
  await tab.getByText('ada@example.org', { exact: true }).waitFor()
  await fillIn(page, { 'Code from the email': 'AAAA-AAAA' })
  await press(page, 'Confirm')
  await page.getByText('ada@example.org', { exact: true }).waitFor()
  await expect.poll(() => page.getByText('Not confirmed yet').count()).toBe(0)
  await tab.close()
  await leavePage(elsewhere.page)
  await elsewhere.page.goto(link)
  await heading(elsewhere.page, 'This link does not work')

  const thief = latchkey.browser()
  await thief.post('/login', { username: 'ada', password: goodPassword })
  await addPasskey(thief, latchkey.url, 'stolen')
  const undo = linkIn(await latchkey.mailTo('ada@example.com', /was changed/))
  await elsewhere.page.goto(undo)
  await heading(elsewhere.page, 'Take your account back')
  await elsewhere.page.getByText('The account gets back the address ada@example.com.').waitFor()
  await elsewhere.page.getByText('The passkey “stolen” is removed.').waitFor()
  await fillIn(elsewhere.page, { 'New password': 'short' })
  await keepPicture(elsewhere.page, 'undo')
  await press(elsewhere.page, 'Take the account back')
  await expect.poll(() => focusedField(elsewhere.page)).toBe('password')
  await fillIn(elsewhere.page, { 'New password': newPassword })
  await elsewhere.page.keyboard.press('Enter')
  await heading(elsewhere.page, 'The account is yours again')
  await elsewhere.page.getByText('Your mailbox: can others read your emails?').waitFor()
  await elsewhere.page.getByRole('link', { name: 'Sign in and check' }).waitFor()
  await keepPicture(elsewhere.page, 'undo-done')
  await latchkey.mailTo('ada@example.com', /is yours again/)
  await leavePage(elsewhere.page)
  await elsewhere.page.goto(undo)
  await heading(elsewhere.page, 'This link does not work')
  await elsewhere.page.getByRole('link', { name: 'Choose a new password' }).waitFor()
  expect(await elsewhere.page.getByRole('link', { name: 'Get help' }).getAttribute('href')).toBe('/help')
  await page.reload()
  await page.waitForURL('**/login?**')
  const data = { username: 'ada', password: newPassword }
  expect((await page.request.post('/api/auth/login', { data })).status()).toBe(200)
  expect([...faults, ...elsewhere.faults]).toEqual([])
  await Promise.all([leave(), elsewhere.leave()])
})

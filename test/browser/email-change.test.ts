import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { minutes } from '../../src/lib/durations.js'
import { fillIn, keepPicture, linkIn, openChromium, press, signIn, visit } from '../support/chromium.js'
import { goodPassword, type Latchkey, startLatchkey } from '../support/latchkey.js'

let latchkey: Latchkey
let browser: Browser
beforeAll(async () => {
  ;[latchkey, browser] = await Promise.all([startLatchkey(), openChromium()])
})
afterAll(() => latchkey?.stop())

const heading = (page: Page, name: string) => page.getByRole('heading', { name, level: 1 }).waitFor()

it('changes the email on the account page, confirms it by the link, and undoes it by the link to the old address', async () => {
  await latchkey.signedUp('ada')
  const { page, context, faults } = await visit(browser, latchkey)
  await page.goto('/login')
  await signIn(page, 'ada')
  await page.getByRole('heading', { name: 'Hello, ada' }).waitFor()
  latchkey.clock.advance(11 * minutes)
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
  await press(elsewhere.page, 'Confirm this address')
  await fillIn(elsewhere.page, { Password: 'wrong' })
  await press(elsewhere.page, 'Confirm this address')
  await elsewhere.page.getByText('This is not your current password.').waitFor()

  await page.goto(link)
  await heading(page, 'Confirm your new email')
  await keepPicture(page, 'confirm-email')
  await press(page, 'Confirm this address')
  await heading(page, 'Email changed')
  expect(page.url()).not.toContain('token')
  await page.getByRole('link', { name: 'Continue' }).click()
  await page.getByText('ada@example.org', { exact: true }).waitFor()
  await elsewhere.page.goto(link)
  await press(elsewhere.page, 'Confirm this address')
  await heading(elsewhere.page, 'This link does not work')

  await elsewhere.page.goto(linkIn(await latchkey.mailTo('ada@example.com', /was changed/)))
  await heading(elsewhere.page, 'Was this not you?')
  await keepPicture(elsewhere.page, 'undo')
  await press(elsewhere.page, 'Undo the change')
  await heading(elsewhere.page, 'The change was undone')
  await keepPicture(elsewhere.page, 'undo-done')
  await latchkey.mailTo('ada@example.com', /is yours again/)
  await page.reload()
  await page.waitForURL('**/login?**')
  expect([...faults, ...elsewhere.faults]).toEqual([])
  await Promise.all([context.close(), elsewhere.context.close()])
})

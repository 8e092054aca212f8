import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { minutes } from '../../src/lib/durations.js'
import { faultsOf } from '../support/axe.js'
import {
  fillIn,
  focusedField,
  keepPicture,
  namedProviders,
  openChromium,
  press,
  signIn,
  visitAs,
} from '../support/chromium.js'
import { goodPassword, type Latchkey, startLatchkey } from '../support/latchkey.js'

let latchkey: Latchkey
let browser: Browser
beforeAll(async () => {
  ;[latchkey, browser] = await Promise.all([startLatchkey({ settings: namedProviders }), openChromium()])
})
afterAll(() => latchkey?.stop())

const tabTo = async (page: Page, name: string) => {
  const button = page.getByRole('button', { name })
  for (let presses = 0; presses < 10; presses += 1) {
    await page.keyboard.press('Tab')
    if (await button.evaluate((element) => document.activeElement === element)) return
  }
  throw new Error(`The keyboard does not reach "${name}"`)
}

const identities = () => latchkey.sql.query("select 1 from identities where provider = 'provider_b'")

it('asks for the password when the session is no longer fresh, and then makes the change that was refused', async () => {
  await latchkey.signedUp('ada')
  await latchkey.sql.query(
    "insert into identities (user_id, provider, subject, linked_at) select id, 'provider_b', '1', now() from users",
  )
  const { page, context, leave, faults } = await visitAs(browser, latchkey, 'ada')
  await page.goto('/dashboard')
  const unlink = page.getByRole('button', { name: /^Disconnect / })
  await unlink.waitFor()
  await latchkey.advance(11 * minutes)

  const sure = page.getByRole('button', { name: 'Yes, disconnect' })
  await unlink.press('Enter')
  await sure.press('Enter')
  const dialog = page.getByRole('dialog', { name: 'Confirm that it is you' })
  await dialog.waitFor()
  await expect.poll(() => focusedField(page)).toBe('password')
  await keepPicture(page, 'step-up-dialog')
  expect(await faultsOf(page)).toEqual([])
  await page.keyboard.press('Escape')
  await dialog.waitFor({ state: 'detached' })
  await expect.poll(() => unlink.evaluate((button) => document.activeElement === button)).toBe(true)
  expect(await identities()).toHaveLength(1)

  // A form whose dialog was closed shows no error: the user has decided that.
  await press(page, 'Change the email address')
  await fillIn(page, { 'New email address': 'ada2@example.com' })
  await press(page, 'Send the link')
  await dialog.waitFor()
  await page.keyboard.press('Escape')
  await dialog.waitFor({ state: 'detached' })
  await page.locator('form .button:not([aria-busy])').waitFor()
  expect(await page.locator('.notice').count()).toBe(0)

  await unlink.press('Enter')
  await sure.press('Enter')
  await dialog.getByRole('textbox', { name: 'Password' }).fill('wrong')
  await page.keyboard.press('Enter')
  await dialog.getByText('This is not your current password.').waitFor()
  await dialog.getByRole('textbox', { name: 'Password' }).fill(goodPassword)
  await page.keyboard.press('Enter')
  await page.getByText(/is disconnected\.$/).waitFor()
  expect(await identities()).toEqual([])

  await latchkey.advance(11 * minutes)
  await page.goto(`/step-up?fresh=10m&returnTo=${encodeURIComponent('/health/live?a=1#b')}`)
  await page.getByRole('heading', { name: 'Confirm that it is you' }).waitFor()
  await keepPicture(page, 'step-up')
  expect(await faultsOf(page)).toEqual([])
  await fillIn(page, { Password: goodPassword })
  await press(page, 'Confirm')
  await page.waitForURL('**/health/live?a=1#b')
  await page.goto('/step-up?factors=2&returnTo=%2Fdashboard')
  await page.getByRole('heading', { name: 'A second factor is needed' }).waitFor()
  await page.getByText('You are signed in as ada.').waitFor()
  await page.locator('a.button.primary', { hasText: 'Go to your account' }).waitFor()
  await page.getByRole('button', { name: 'Sign out' }).waitFor()

  await page.goto('/step-up?fresh=1s&returnTo=%2Fdashboard')
  await page.getByRole('textbox', { name: 'Password' }).waitFor()
  await expect.poll(() => focusedField(page)).toBe('password')
  await tabTo(page, 'Sign out')
  await page.keyboard.press('Enter')
  await page.waitForURL('**/login?notice=signed_out')
  expect((await context.cookies()).map(({ name }) => name)).not.toContain('refresh_token')
  expect(faults).toEqual([])
  await leave()
})

it('says that an account has no access, and keeps the wish for another account over the next pages', async () => {
  await latchkey.signedUp('gus')
  await latchkey.signedUp('hana')
  const { page, leave, faults } = await visitAs(browser, latchkey, 'gus')
  await page.goto('/step-up?group=1&returnTo=/health/live')
  await page.getByRole('heading', { name: 'No access' }).waitFor()
  await page.getByText('You are signed in as gus.').waitFor()
  expect(await page.getByRole('link', { name: 'Try again' }).getAttribute('href')).toBe('/health/live')
  await keepPicture(page, 'no-access')
  await page.getByRole('link', { name: 'Sign in with another account' }).click()
  await page.getByText('Sign in with another account.').waitFor()
  await page.getByRole('link', { name: 'Create an account' }).click()
  await page.getByRole('heading', { name: 'Create your account' }).waitFor()
  await page.goBack()
  await signIn(page, 'hana')
  await page.waitForURL('**/health/live')
  expect(await (await page.request.get('/api/auth/me')).json()).toMatchObject({ user: { username: 'hana' } })
  expect(faults).toEqual([])
  await leave()
})

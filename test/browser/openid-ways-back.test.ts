import type { Page } from 'playwright-core'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { addAuthenticator } from '../support/authenticator.js'
import { fillIn, focusedName, keepPicture, linkIn, press, visit, visitAs } from '../support/chromium.js'
import { goodPassword } from '../support/latchkey.js'
import { isLongRun } from '../support/long-run.js'
import {
  arrivalWithCode,
  saysWhere,
  siteOf,
  smallTargetsOn,
  startWithApplications,
  visitApplications,
  withApplications,
} from './visits-for-applications.js'

let service: Awaited<ReturnType<typeof startWithApplications>>
beforeAll(async () => {
  service = await startWithApplications()
})
afterAll(() => service?.latchkey.stop())

it('comes back to the application after a registration in its language, with the mail in another tab', async () => {
  const { addressFor, browser, latchkey } = service
  const { page, context, leave } = await visitApplications(browser, latchkey)
  const saysWhereInGerman = (tab: Page) => tab.getByText('Danach geht es weiter zu grafana.').waitFor()
  await page.goto(addressFor('grafana', { ui_locales: 'de' }))
  await page.getByRole('link', { name: 'Konto anlegen' }).click()
  await saysWhereInGerman(page)
  await fillIn(page, { Benutzername: 'rose', 'E\u2011Mail': 'rose@example.com', 'Passwort wählen': goodPassword })
  await press(page, 'Konto anlegen')
  await saysWhereInGerman(page)
  // The address was wrong: nothing is lost by another registration.
  const again = await page.getByRole('link', { name: 'Berichtigen' }).getAttribute('href')
  expect(again).toMatch(/^\/register\?.*returnTo=%2Fapi%2Fauth%2Fauthorize/)
  const link = linkIn(await latchkey.mailTo('rose@example.com', /Bestätigen/))
  const phone = await visit(browser, latchkey)
  await phone.page.goto(link)
  await phone.page.getByText('You came from grafana. After this, go back to the window where you started.').waitFor()
  const mailed = await context.newPage()
  await mailed.goto(link)
  await saysWhereInGerman(mailed)
  await press(mailed, 'E\u2011Mail-Adresse bestätigen')
  await arrivalWithCode(mailed, 'grafana')
  // The tab that has waited leaves the request to the other one, and still knows the application after a reload.
  const onwards = page.getByRole('link', { name: 'Weiter', exact: true })
  await onwards.waitFor()
  await page.reload()
  await saysWhereInGerman(page)
  expect(await onwards.getAttribute('href')).toContain('/login?returnTo=%2Fapi%2Fauth%2Fauthorize')
  // Another browser is not signed in by that, and is told where to go.
  await phone.page.reload()
  await phone.page.getByText('You came from grafana. You can go back to the window where you started.').waitFor()
  const start = phone.page.getByRole('link', { name: 'Start again at grafana' })
  expect(await start.getAttribute('href')).toBe(siteOf('grafana'))
  expect(await smallTargetsOn(phone.page)).toEqual([])
  await Promise.all([leave(), phone.leave()])
})

it('comes back to the application after another account, a new password and the second step', async () => {
  const { addressFor, browser, latchkey } = service
  const app = await addAuthenticator(await latchkey.signedUp('sue'), latchkey)
  const { page, leave } = await withApplications(await visitAs(browser, latchkey, 'ada'))
  await page.goto(addressFor('vault'))
  await press(page, 'Use another account')
  await page.getByText('Sign in with another account.').waitFor()
  await page.getByText('Sign in to continue to vault.').waitFor()
  await keepPicture(page, 'openid-other-account')
  expect(await smallTargetsOn(page)).toEqual([])
  await press(page, 'Keep the account that is signed in')
  await press(page, 'Use another account')
  await page.getByRole('link', { name: 'Forgot password?' }).click()
  await saysWhere(page, 'vault')
  await fillIn(page, { 'Username or email': 'sue' })
  await press(page, 'Send the link')
  await page.getByText('spam folder').waitFor()
  await saysWhere(page, 'vault')
  await page.goto(linkIn(await latchkey.mailTo('sue@example.com', /reset-password/)))
  await saysWhere(page, 'vault')
  await fillIn(page, { 'New password': 'copper-Lagoon-47-meadow' })
  await press(page, 'Set new password')
  await saysWhere(page, 'vault')
  await press(page, 'Continue')
  await saysWhere(page, 'vault')
  await fillIn(page, { 'Code from the app': app.code() })
  await press(page, 'Continue')
  await page.getByText('sue has no access to vault.').waitFor()
  if (isLongRun) await resetElsewhere()
  await leave()
})

/** The mail in another browser, which the application has not sent here. */
const resetElsewhere = async () => {
  const { browser, ids, latchkey } = service
  const before = [...latchkey.mails()]
  await latchkey.browser().post('/api/auth/reset-password', { email: 'sue@example.com', application: ids.vault })
  const phone = await visit(browser, latchkey)
  await phone.page.goto(linkIn(await latchkey.mailTo('sue@example.com', /reset-password/, before)))
  await phone.page.getByText('You came from vault. After this, go back to the window where you started.').waitFor()
  await fillIn(phone.page, { 'New password': goodPassword })
  await press(phone.page, 'Set new password')
  await expect.poll(() => focusedName(phone.page)).toBe('Password changed')
  const start = phone.page.getByRole('link', { name: 'Start again at vault' })
  expect(await start.getAttribute('href')).toBe(siteOf('vault'))
  await keepPicture(phone.page, 'openid-reset-elsewhere')
  await phone.leave()
}

it('comes back to the application from a provider, also from one that has refused', async () => {
  const { addressFor, browser, latchkey } = service
  const { page, leave } = await visitApplications(browser, latchkey)
  await page.goto(addressFor('grafana'))
  await page.getByRole('link', { name: 'Continue with Google' }).click()
  await press(page, 'Refuse to sign in')
  // One's own decision is no error.
  await page.getByRole('status').getByText('You cancelled the sign-in with Google.').waitFor()
  expect(await page.getByRole('alert').count()).toBe(0)
  await keepPicture(page, 'login-cancelled')
  await page.getByText('Sign in to continue to grafana.').waitFor()
  await page.getByRole('link', { name: 'Continue with Google' }).click()
  await page.getByRole('button', { name: 'Ben Example' }).click()
  await arrivalWithCode(page, 'grafana')
  await leave()
})

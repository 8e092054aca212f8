import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { openRoomsForCommand } from '../../src/commands/open-for-commands.js'
import { operatorClient } from '../../src/http/request-origin.js'
import { minutes } from '../../src/lib/durations.js'
import { idOf, signedUpInGroup } from '../support/administrators.js'
import { faultsOf } from '../support/axe.js'
import { fillIn, keepPicture, openChromium, press, visit, visitAs } from '../support/chromium.js'
import { goodPassword, type Latchkey, startLatchkey } from '../support/latchkey.js'
import { signInWith, startProviders, startService, type TestProviders } from '../support/providers/test-providers.js'
import { addUser } from '../support/sign-up-directly.js'
import { latchkey as run } from '../support/terminal.js'

const jwtSecret = 'c6M0xkq2Vw9nYb4RtL8sHd3PzJ7gFa5EuN1oKi0WvTqXyBmCrGhSlDjZfUeApIxO'
const otherPassword = 'zither-Lagoon-84-crumpet'
let providers: TestProviders
let latchkey: Latchkey
let browser: Browser
beforeAll(async () => {
  providers = await startProviders()
  const settings = { ADMIN_GROUP: 'admins', JWT_SECRET: jwtSecret, SUPPORT_URL: 'mailto:help@example.com' }
  ;[latchkey, browser] = await Promise.all([startService(providers, settings, { mailIsOff: true }), openChromium()])
})
afterAll(async () => {
  await latchkey?.stop()
  await providers?.close()
})

const linkFrom = async (...args: string[]) => {
  const { code, out, err } = await run({ openRooms: (role) => openRoomsForCommand(latchkey.config, role) }, args)
  expect([code, err]).toEqual([0, ''])
  return out.trim()
}

it('a printed invitation leads straight into the account, and a printed link to a new password', async () => {
  const { page, leave, faults } = await visit(browser, latchkey)
  await page.goto(await linkFrom('invite', 'ada@example.com', '--print'))
  await fillIn(page, { Username: 'ada', 'Choose a password': goodPassword })
  await keepPicture(page, 'without-mail-invitation')
  await press(page, 'Create account')
  await page.waitForURL('**/dashboard')
  await page.getByText('Your administrator can change it.').waitFor()
  for (const name of ['Confirm the address', 'Change the email address'])
    expect(await page.getByRole('button', { name }).count(), name).toBe(0)
  expect(await page.getByText('Your email address is not confirmed.').count()).toBe(0)

  await page.goto(await linkFrom('user', 'reset-link', 'ada'))
  await fillIn(page, { 'New password': otherPassword })
  await press(page, 'Set new password')
  await press(page, 'Continue')
  await page.waitForURL('**/dashboard')
  // Who is signed in is led on from there.
  await page.goto('/invite')
  await page.waitForURL('**/dashboard')
  await page.goto('/reset-password')
  await page.getByText('open the link that your administrator gave you').waitFor()
  expect(await faultsOf(page)).toEqual([])
  expect(faults).toEqual([])
  await leave()
})

it('“Forgot password?” says whom to ask, in four languages', async () => {
  const { page, leave, faults } = await visit(browser, latchkey)
  await page.goto('/login')
  expect(await page.getByRole('link', { name: 'Create an account' }).count()).toBe(0)
  await page.getByRole('link', { name: 'Forgot password?' }).click()
  await page.getByText('No emails are sent here.').waitFor()
  expect(await page.locator('main').getByRole('link', { name: 'help@example.com' }).getAttribute('href')).toBe(
    'mailto:help@example.com',
  )
  expect(await page.locator('main input').count()).toBe(0)
  await keepPicture(page, 'without-mail-forgot-password')
  expect(await faultsOf(page)).toEqual([])
  for (const [name, sentence] of [
    ['Deutsch', 'Hier werden keine E‑Mails versendet.'],
    ['Français', 'Aucun e‑mail n’est envoyé ici.'],
    ['Español', 'Aquí no se envían correos.'],
  ] as const) {
    await press(page, name)
    await page.getByText(sentence).waitFor()
  }
  expect(faults).toEqual([])
  await leave()
})

it('the account page begins with what a mail would have told, until its user has looked at it, in each browser', async () => {
  const tab = await latchkey.signedUp('ben')
  await tab.act('/api/auth/change-password', { currentPassword: goodPassword, newPassword: otherPassword })
  await tab.act('/api/auth/change-password', { currentPassword: otherPassword, newPassword: goodPassword })
  const owner = await visitAs(browser, latchkey, 'ben')
  await owner.page.goto('/dashboard')
  const news = owner.page.getByRole('region', { name: 'Recent security activity' })
  await news.waitFor()
  for (const title of ['Password changed', 'Signed in on a new device'])
    expect(await news.getByText(title).count(), title).toBeGreaterThan(0)
  // It is the first thing on the page.
  const tops = await owner.page.evaluate(() =>
    [...document.querySelectorAll('main section')].map((section) => section.getBoundingClientRect().top),
  )
  expect(tops[0]).toBe(Math.min(...tops))
  await keepPicture(owner.page, 'without-mail-recent-security')
  expect(await faultsOf(owner.page, 'structure')).toEqual([])
  await press(owner.page, 'I have seen this')
  await news.waitFor({ state: 'hidden' })
  await owner.page.reload()
  await owner.page.getByText('Recent activity').waitFor()
  expect(await news.count()).toBe(0)

  await latchkey.app.rooms.operatorChanges.resetFactors({
    userId: await idOf(latchkey, 'ben'),
    client: operatorClient('root'),
  })
  const other = await visitAs(browser, latchkey, 'ben')
  await other.page.goto('/dashboard')
  await other.page
    .getByRole('region', { name: 'Recent security activity' })
    .getByText('Password changed')
    .first()
    .waitFor()
  expect([...owner.faults, ...other.faults]).toEqual([])
  await owner.leave()
  await other.leave()
})

it('an account of a provider is sent back to it to confirm who it is, and to the administrator for a password', async () => {
  await linkFrom('invite', 'cleo@example.com', '--print')
  providers.issuer.become({ sub: 'cleo-there', email: 'cleo@example.com', email_verified: true })
  const tab = latchkey.browser()
  await signInWith(tab, 'provider-a')
  const { page, context, leave, faults } = await visit(browser, latchkey)
  const attributes = { url: latchkey.url, httpOnly: true, sameSite: 'Strict' as const }
  await context.addCookies([...tab.jar].map(([name, value]) => ({ name, value, ...attributes })))
  await page.goto('/dashboard')
  await page.getByText('To set one, ask your administrator for a link.').waitFor()
  await keepPicture(page, 'without-mail-account-of-provider')
  latchkey.clock.advance(11 * minutes)
  await press(page, 'Switch on')
  const dialog = page.getByRole('dialog')
  await dialog.getByText('Sign in again with the provider of your account.').waitFor()
  const link = dialog.getByRole('link', { name: 'Continue with Google' })
  expect(await link.getAttribute('href')).toBe('/api/auth/provider-a?fresh=true&returnTo=%2Fdashboard')
  await keepPicture(page, 'without-mail-step-up')
  expect(await faultsOf(page, 'structure')).toEqual([])
  expect(faults).toEqual([])
  await leave()
})

it('administrators are offered no mail, and told what operators do instead', async () => {
  const root = await signedUpInGroup(latchkey, 'root1', 'admins')
  const dan = await addUser(latchkey.app, { username: 'dan', email: 'dan@example.com', password: goodPassword })
  const actor = { userId: dan.id, client: operatorClient('root') }
  await latchkey.app.rooms.operatorChanges.lockDown(actor)
  const { page, context, leave, faults } = await visit(browser, latchkey, { viewport: { width: 900, height: 700 } })
  const attributes = { url: latchkey.url, httpOnly: true, sameSite: 'Strict' as const }
  await context.addCookies([...root.tab.jar].map(([name, value]) => ({ name, value, ...attributes })))
  await page.goto('/api/auth/admin#invitations')
  await page.getByText('latchkey invite EMAIL --print').waitFor()
  expect(await page.getByRole('button', { name: 'Invite…' }).count()).toBe(0)
  await keepPicture(page, 'without-mail-admin-invitations')
  await page.goto(`/api/auth/admin#users/${dan.id}`)
  await press(page, 'Enable…')
  await page.getByText('an operator then prints one on the command line').waitFor()
  await page.getByText('Nobody gets an email about it.').waitFor()
  expect(await page.getByText('Send a link').count()).toBe(0)
  await keepPicture(page, 'without-mail-admin-enable')
  expect(await faultsOf(page, 'structure')).toEqual([])
  expect(faults).toEqual([])
  await leave()
})

it('a sign-in that needs a second factor says that the administrator opens it', async () => {
  const strict = await startLatchkey({ settings: { SECOND_FACTOR: 'required' }, mailIsOff: true })
  try {
    await addUser(strict.app, { username: 'eve', email: 'eve@example.com', password: goodPassword })
    const { page, leave, faults } = await visit(browser, strict)
    await page.goto('/login')
    await fillIn(page, { 'Username or email': 'eve', Password: goodPassword })
    await press(page, 'Sign in')
    await page.waitForURL('**/second-factor**')
    await page.getByText('Ask your administrator for a link to your account').waitFor()
    await keepPicture(page, 'without-mail-link-required')
    expect(await faultsOf(page, 'structure')).toEqual([])
    expect(faults).toEqual([])
    await leave()
  } finally {
    await strict.stop()
  }
})

it('an address that was only typed can be confirmed on the account page as soon as there is a mail server', async () => {
  const later = await startLatchkey()
  try {
    const email = { email: 'fay@example.com', key: 'fay@example.com' }
    const made = await later.app.rooms.invitations.print(email, operatorClient('root'))
    if ('refused' in made) throw new Error(made.refused)
    const person = { username: 'fay', email: 'fay@example.com', password: goodPassword, invite: made.token }
    expect((await later.browser().post('/api/auth/register', person)).status).toBe(201)
    const { page, leave, faults } = await visitAs(browser, later, 'fay')
    await page.goto('/dashboard')
    await page.getByText('Your email address is not confirmed.').waitFor()
    await page
      .getByRole('region', { name: 'Recent security activity' })
      .getByText('Signed in on a new device')
      .waitFor()
    await press(page, 'Confirm the address')
    const { text } = await later.mailTo('fay@example.com', /Or enter this code/)
    await keepPicture(page, 'address-to-confirm')
    await fillIn(page, { 'Code from the email': /^\s*([A-Z2-9]{4}-[A-Z2-9]{4})\s*$/m.exec(text)?.[1] ?? '' })
    await press(page, 'Confirm')
    await page.getByText('Your email address is confirmed.').waitFor()
    expect(await page.getByText('Your email address is not confirmed.').count()).toBe(0)
    expect(faults).toEqual([])
    await leave()
  } finally {
    await later.stop()
  }
})

import { readFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import type { AxeResults } from 'axe-core'
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { operatorClient } from '../../src/domain/sessions/client.js'
import { addApplication } from '../support/applications.js'
import { addAuthenticator, createAuthenticator } from '../support/authenticator.js'
import { parametersFor } from '../support/authorization-requests.js'
import {
  fillIn,
  focusedName,
  keepPicture,
  linkIn,
  openChromium,
  press,
  signIn,
  visit,
  visitAs,
} from '../support/chromium.js'
import { goodPassword, type Latchkey, startLatchkey } from '../support/latchkey.js'

let latchkey: Latchkey
let browser: Browser
const ids: Record<string, string> = {}
const siteOf = (name: string) => `https://${name}.example.com`
beforeAll(async () => {
  // In development there are providers on this machine.
  const settings = { NODE_ENV: 'development', PROVIDER_A_NAME: 'Google', PROVIDER_B_NAME: 'GitHub' }
  ;[latchkey, browser] = await Promise.all([startLatchkey({ settings }), openChromium()])
  await latchkey.app.nouns.groups.add('staff', operatorClient('root'))
  const given = {
    grafana: {},
    wiki: {},
    shop: { consent: 'ask' },
    vault: { access: 'groups', groups: ['staff'] },
    safe: { factors: 2 },
  } as const
  for (const [name, more] of Object.entries(given)) {
    const place = { home: siteOf(name), redirectAddresses: [`${siteOf(name)}/callback`] }
    ids[name] = (await addApplication(latchkey, { name, ...place, ...more })).id
  }
  await latchkey.advance(1_001)
  await latchkey.signedUp('ada')
})
afterAll(() => latchkey?.stop())

const addressFor = (name: string, changed: Record<string, string> = {}) => {
  const parameters = parametersFor(ids[name] ?? '', { redirect_uri: `${siteOf(name)}/callback`, ...changed })
  return `${latchkey.url}/api/auth/authorize?${parameters}`
}

type Visitor = Awaited<ReturnType<typeof visit>>

/** This browser finds an application at each of its sites: a page with a link to the sign-in. */
const withApplications = async (visitor: Visitor) => {
  await visitor.context.route(/^https:\/\/\w+\.example\.com\//, (route) => {
    const { searchParams } = new URL(route.request().url())
    const link = searchParams.get('link') ?? ''
    return route.fulfill({ contentType: 'text/html', body: `<a href="${link.replaceAll('&', '&amp;')}">Sign in</a>` })
  })
  return visitor
}
const visitApplications = async () => withApplications(await visit(browser, latchkey))
const leaveFor = async (page: Page, name: string, changed: Record<string, string> = {}) => {
  await page.goto(`${siteOf(name)}/?link=${encodeURIComponent(addressFor(name, changed))}`)
  await page.getByRole('link', { name: 'Sign in' }).click()
}
const arrival = (page: Page, name: string) => page.waitForURL(`${siteOf(name)}/callback?**`)
const arrivalWithCode = (page: Page, name: string) => page.waitForURL(`${siteOf(name)}/callback?code=**`)
const saysWhere = (page: Page, name: string) => page.getByText(`After this you continue to ${name}.`).waitFor()
const isTooWide = (page: Page) => page.evaluate(() => document.body.scrollWidth > innerWidth)
const violationsOn = async (page: Page) => {
  await page.evaluate(await readFile(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8'))
  const { violations } = await page.evaluate<AxeResults>('axe.run()')
  return [...violations.map(({ id }) => id), ...(await smallTargetsOn(page))]
}
/** What a finger does not hit: WCAG 2.2 asks for 44 pixels of everything that is pressed and stands in no sentence. */
const smallTargetsOn = (page: Page) =>
  page.evaluate(() =>
    [...document.querySelectorAll<HTMLElement>('.card :is(a, button), .card-footer a, .notice a')]
      .filter((target) => target.offsetHeight > 0 && target.offsetHeight < 44)
      .map((target) => `${target.textContent || target.getAttribute('aria-label')}: ${target.offsetHeight}`),
  )
it('signs in for one application, and for the next without a question', async () => {
  const { page, context, faults } = await visitApplications()
  await leaveFor(page, 'grafana', { login_hint: 'ada' })
  await page.getByText('Sign in to continue to grafana.').waitFor()
  expect(await page.getByLabel('Username or email').inputValue()).toBe('ada')
  await keepPicture(page, 'openid-sign-in')
  expect(await violationsOn(page)).toEqual([])
  await signIn(page, 'ada')
  await arrivalWithCode(page, 'grafana')
  await leaveFor(page, 'wiki')
  await arrival(page, 'wiki')
  // Nothing of ours is left in the history.
  await page.goBack()
  expect(page.url()).toContain(`${siteOf('wiki')}/?link=`)
  // A name in a link is not believed.
  await page.goto(
    `/login?notice=sign_in&returnTo=${encodeURIComponent('/api/auth/authorize?request=made.up&name=Bank')}`,
  )
  await page.getByText('Sign in to continue.').waitFor()
  expect(faults).toEqual([])
  await context.close()
})

it('asks for consent, for a proof, and says that there is no access, in two tabs', async () => {
  const { page, context, faults } = await visitApplications()
  await leaveFor(page, 'shop')
  await signIn(page, 'ada')
  await page.getByRole('heading', { name: 'Continue to shop?' }).waitFor()
  await page.getByText('This access ends when you sign out here').waitFor()
  await keepPicture(page, 'openid-consent')
  expect(await violationsOn(page)).toEqual([])
  const other = await context.newPage()
  await leaveFor(other, 'vault')
  await other.getByRole('heading', { name: 'No access' }).waitFor()
  await keepPicture(other, 'openid-no-access')
  expect(await violationsOn(other)).toEqual([])
  await press(other, 'Back to vault')
  await arrival(other, 'vault')
  expect(other.url()).toContain('error=access_denied')
  // An answer that does not arrive, and a page that does not load: both name what failed.
  const asking = '**/api/auth/authorization**'
  await page.route(asking, (route) => route.abort())
  await press(page, 'Continue')
  await expect.poll(() => focusedName(page)).toBe('Your answer did not arrive')
  await keepPicture(page, 'openid-answer-failed')
  await page.reload()
  await page.getByRole('heading', { name: 'This page could not be loaded' }).waitFor()
  await saysWhere(page, 'shop')
  await page.unroute(asking)
  await press(page, 'Try again')
  await press(page, 'Continue')
  await arrival(page, 'shop')
  expect(page.url()).toContain('code=')
  await leaveFor(page, 'grafana', { prompt: 'login' })
  await page.getByRole('heading', { name: 'Confirm that it is you' }).waitFor()
  expect(await page.getByRole('link', { name: 'Forgot password?' }).getAttribute('href')).toContain('?returnTo=%2Fapi')
  await keepPicture(page, 'openid-prove')
  expect(await violationsOn(page)).toEqual([])
  const waiting = page.url()
  await fillIn(page, { Password: goodPassword })
  await press(page, 'Confirm')
  await arrival(page, 'grafana')
  expect(page.url()).toContain('code=')
  await page.goto(waiting)
  await page.getByRole('link', { name: 'Start again at grafana' }).waitFor()
  expect(await violationsOn(page)).toEqual([])
  await page.goto(addressFor('grafana', { redirect_uri: 'https://evil.example.com/' }))
  await page.getByText('not registered').waitFor()
  await keepPicture(page, 'openid-wrong-redirect')
  expect(await page.getByRole('link', { name: 'Go to your account' }).getAttribute('href')).toBe(
    '/api/auth/account-page',
  )
  expect(await violationsOn(page)).toEqual([])
  await page.goto(`/api/auth/authorize?${parametersFor('nobody')}`)
  await page.getByText('The application that sent you here is not known to this site.').waitFor()
  expect(await page.getByRole('heading').innerText()).toBe('Sign-in is not possible')
  expect(await page.locator('.card').innerText()).not.toContain('address')
  expect(faults).toEqual([])
  await context.close()
})

it('comes back to the application after a registration in its language, with the mail in another tab', async () => {
  const { page, context } = await visitApplications()
  const saysWhereInGerman = (tab: Page) => tab.getByText('Danach geht es weiter zu grafana.').waitFor()
  await leaveFor(page, 'grafana', { ui_locales: 'de' })
  await page.getByRole('link', { name: 'Konto anlegen' }).click()
  await saysWhereInGerman(page)
  await fillIn(page, { Benutzername: 'rose', 'E\u2011Mail': 'rose@example.com', 'Passwort wählen': goodPassword })
  await press(page, 'Konto anlegen')
  await saysWhereInGerman(page)
  // The address was wrong: nothing is lost by another registration.
  const again = await page.getByRole('link', { name: 'Erneut registrieren' }).getAttribute('href')
  expect(again).toContain('/register?returnTo=%2Fapi%2Fauth%2Fauthorize')
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
  expect(await violationsOn(phone.page)).toEqual([])
  await phone.leave()
  await context.close()
})

it('comes back to the application after another account, a new password and the second step', async () => {
  const app = await addAuthenticator(await latchkey.signedUp('sue'), latchkey)
  const { page, context } = await withApplications(await visitAs(browser, latchkey, 'ada'))
  await leaveFor(page, 'vault')
  await press(page, 'Use another account')
  await page.getByText('Sign in with another account.').waitFor()
  await page.getByText('Sign in to continue to vault.').waitFor()
  await keepPicture(page, 'openid-other-account')
  expect(await violationsOn(page)).toEqual([])
  await press(page, 'Keep the account that is signed in')
  await press(page, 'Use another account')
  await page.getByRole('link', { name: 'Forgot password?' }).click()
  await saysWhere(page, 'vault')
  await fillIn(page, { Email: 'sue@example.com' })
  await press(page, 'Send the link')
  await page.getByText('spam folder').waitFor()
  await saysWhere(page, 'vault')
  await page.goto(linkIn(await latchkey.mailTo('sue@example.com', /reset-password/)))
  await saysWhere(page, 'vault')
  await fillIn(page, { 'New password': 'copper-Lagoon-47-meadow' })
  await press(page, 'Set new password')
  await page.getByText('Your password was changed.').waitFor()
  await page.getByText('Sign in to continue to vault.').waitFor()
  await signIn(page, 'sue', 'copper-Lagoon-47-meadow')
  await saysWhere(page, 'vault')
  await fillIn(page, { 'Code from the app': app.code() })
  await press(page, 'Continue')
  await page.getByText('sue has no access to vault.').waitFor()

  // The mail in another browser, which the application has not sent here.
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
  await Promise.all([context.close(), phone.leave()])
})

it('comes back to the application from a provider, also from one that has refused', async () => {
  const { page, context } = await visitApplications()
  await leaveFor(page, 'grafana')
  await page.getByRole('link', { name: 'Continue with Google' }).click()
  await press(page, 'Refuse to sign in')
  await page.getByRole('alert').getByText('Signing in with Google did not work.').waitFor()
  await page.getByText('Sign in to continue to grafana.').waitFor()
  await page.getByRole('link', { name: 'Continue with Google' }).click()
  await page.getByRole('button', { name: 'Ben Example' }).click()
  await arrivalWithCode(page, 'grafana')
  await context.close()
})

it('leads to the account page for a second factor, and goes on with it', async () => {
  await latchkey.signedUp('lone')
  const { page, context, faults } = await withApplications(await visitAs(browser, latchkey, 'lone'))
  await leaveFor(page, 'safe')
  await page.getByRole('heading', { name: 'A second factor is needed' }).waitFor()
  await keepPicture(page, 'openid-enrol')
  expect(await violationsOn(page)).toEqual([])
  await page.getByRole('link', { name: 'Add a second factor' }).click()
  const panel = page.locator('#two-step')
  await panel.getByText('safe asks for a second factor.').waitFor()
  await expect.poll(() => panel.evaluate((section) => section.getBoundingClientRect().top < innerHeight)).toBe(true)
  await keepPicture(page, 'openid-enrol-account')
  await press(page, 'Switch on')
  await saysWhere(page, 'safe')
  const app = createAuthenticator(
    await page
      .locator('.secret')
      .innerText()
      .then((text) => text.replaceAll(' ', '')),
    latchkey,
  )
  await fillIn(page, { 'Code from the app': app.code() })
  await press(page, 'Confirm')
  // One sentence is read out at once, and not ten codes.
  await expect.poll(() => page.getByRole('list', { name: 'Recovery codes' }).getByRole('listitem').count()).toBe(10)
  expect(await page.getByRole('status').getByRole('listitem').count()).toBe(0)
  await saysWhere(page, 'safe')
  const there = page.url()
  await press(page, 'I have saved them')
  await page.getByRole('heading', { name: 'Confirm that it is you' }).waitFor()
  // The account page does not ask for what it has.
  await page.goto(there)
  await panel.getByText('Your account has the second factor that safe asks for.').waitFor()
  await keepPicture(page, 'openid-enrolled-account')
  await page.getByRole('link', { name: 'Back to safe' }).click()
  await page.getByRole('heading', { name: 'Confirm that it is you' }).waitFor()
  // The code that confirmed the app is used up.
  await latchkey.advance(30_000)
  await fillIn(page, { 'Code from the app, or a recovery code': app.code() })
  await press(page, 'Confirm')
  await arrivalWithCode(page, 'safe')
  expect(faults).toEqual([])
  await context.close()
})

it('shows which applications have access, ends it, and signs out for an application', async () => {
  await latchkey.signedUp('iris')
  const phone = { viewport: { width: 390, height: 844 } }
  const { page, context, faults } = await withApplications(await visitAs(browser, latchkey, 'iris', phone))
  for (const name of ['grafana', 'wiki']) {
    await leaveFor(page, name)
    await arrivalWithCode(page, name)
  }
  await page.goto('/dashboard')
  const list = page.getByRole('list', { name: 'Applications with access' })
  await list.getByText('wiki').waitFor()
  await keepPicture(page, 'openid-applications')
  expect(await violationsOn(page)).toEqual([])
  expect(await isTooWide(page)).toBe(false)
  await page.setViewportSize({ width: 1280, height: 800 })
  expect(await isTooWide(page)).toBe(false)
  await page.getByRole('button', { name: 'End access: grafana' }).focus()
  await page.keyboard.press('Enter')
  await page.getByText('grafana has no access any more.').waitFor()
  await expect.poll(() => list.getByRole('listitem').allInnerTexts()).toEqual([expect.stringContaining('wiki')])
  await expect.poll(() => focusedName(page)).toBe('Applications with access')

  const ending = `/api/auth/end-session?client_id=${ids.wiki}&post_logout_redirect_uri=https://evil.example.com/`
  await page.goto(ending)
  await page.getByRole('heading', { name: 'Sign out?' }).waitFor()
  await keepPicture(page, 'openid-end-session')
  expect(await violationsOn(page)).toEqual([])
  await page.setViewportSize(phone.viewport)
  expect(await isTooWide(page)).toBe(false)
  await page.getByRole('button', { name: 'Stay signed in' }).focus()
  await page.keyboard.press('Enter')
  await expect.poll(() => focusedName(page)).toBe('Still signed in')
  await page.getByRole('link', { name: 'Back to Wiki' }).waitFor()
  await page.reload()
  await page.getByRole('button', { name: 'Sign out' }).focus()
  await page.keyboard.press('Enter')
  await expect.poll(() => focusedName(page)).toBe('You are signed out')
  await keepPicture(page, 'openid-signed-out')
  expect(await violationsOn(page)).toEqual([])
  expect(faults).toEqual([])
  await context.close()
})

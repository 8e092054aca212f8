import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest'
import { languages } from '#contract/languages.js'
import { createAuthenticator } from '../support/authenticator.js'
import { faultsOf } from '../support/axe.js'
import { fillIn, focusedName, keepPicture, openChromium, press, tabTo, visit } from '../support/chromium.js'
import { goodPassword, type Latchkey, startLatchkey } from '../support/latchkey.js'

const phone = { width: 360, height: 740 }
const account = { Username: 'ada', Email: 'ada@example.com', 'Choose a password': goodPassword }

let latchkey: Latchkey
let browser: Browser
beforeAll(async () => {
  ;[latchkey, browser] = await Promise.all([startLatchkey(), openChromium()])
})
afterAll(() => latchkey?.stop())
beforeEach(() => latchkey.sql.query('delete from users'))

const newLink = async () => (await latchkey.app.rooms.setup.makeLink()) ?? ''
const heading = (page: Page, name: string) => page.getByRole('heading', { name, level: 1 }).waitFor()

/** A phone or laptop that unlocks by itself, as Chromium's developer tools have it. */
const addDevice = async (page: Page) => {
  const tools = await page.context().newCDPSession(page)
  await tools.send('WebAuthn.enable')
  const options = {
    protocol: 'ctap2',
    transport: 'internal',
    hasResidentKey: true,
    hasUserVerification: true,
    isUserVerified: true,
    automaticPresenceSimulation: true,
  } as const
  await tools.send('WebAuthn.addVirtualAuthenticator', { options })
}

const nextSteps = async (page: Page) => {
  await page.getByRole('heading', { name: 'The next steps' }).waitFor()
  expect(await page.locator('ol.row-list strong').allInnerTexts()).toEqual([
    'Mail',
    'The first application',
    'The first invitation',
  ])
}

it('leads from the link of the log to the page of administrators, with an app', async () => {
  const { page, faults, leave } = await visit(browser, latchkey, { viewport: phone })
  await page.goto(await newLink())
  await heading(page, 'Create the first account')
  expect(page.url()).not.toContain('token=')
  expect(await faultsOf(page)).toEqual([])
  await keepPicture(page, 'setup-phone')
  // A reload keeps the token.
  await page.reload()
  await fillIn(page, { ...account, 'Choose a password': 'ada' })
  await press(page, 'Create account')
  const password = page.getByRole('textbox', { name: 'Choose a password' })
  await expect.poll(() => password.getAttribute('aria-invalid')).toBe('true')
  await keepPicture(page, 'setup-problems-phone')
  await fillIn(page, { 'Choose a password': goodPassword })
  await press(page, 'Create account')
  await heading(page, 'Choose your second step')
  expect(await faultsOf(page)).toEqual([])
  await keepPicture(page, 'setup-second-step-phone')
  // The account is made, and the page goes on after a reload.
  await page.reload()
  await press(page, 'Set up an app')
  await heading(page, 'Set up your app')
  const secret = (await page.locator('code.secret').innerText()).replaceAll(/\s/g, '')
  const app = createAuthenticator(secret, latchkey)
  await fillIn(page, { 'Code from the app': app.code() })
  await press(page, 'Confirm')
  await heading(page, 'Save your recovery codes')
  await press(page, 'I have saved them')
  await page.waitForURL('**/step-up?factors=2*')
  // A code works once, so the next one is needed.
  latchkey.clock.advance(30_000)
  await fillIn(page, { 'Code from the app, or a recovery code': app.code() })
  await press(page, 'Confirm')
  await page.waitForURL('**/api/auth/admin#overview?setup=done')
  await nextSteps(page)
  expect(await faultsOf(page)).toEqual([])
  await keepPicture(page, 'setup-next-steps-phone')
  await page.setViewportSize({ width: 1280, height: 900 })
  await keepPicture(page, 'setup-next-steps')
  await page.getByRole('link', { name: 'Add an application' }).click()
  await heading(page, 'What is it?')
  await page.goBack()
  await page.getByRole('link', { name: 'Invite someone' }).click()
  await heading(page, 'Invitations')
  expect(faults).toEqual([])
  await leave()
})

it('leads there with a passkey and the keyboard alone', async () => {
  const { page, context, faults } = await visit(browser, latchkey, { viewport: { width: 1280, height: 900 } })
  await addDevice(page)
  await page.goto(await newLink())
  await heading(page, 'Create the first account')
  await keepPicture(page, 'setup')
  expect(await focusedName(page)).toContain('Email')
  await page.keyboard.type('ada@example.com')
  await page.keyboard.press('Tab')
  await page.keyboard.type('ada')
  await page.keyboard.press('Tab')
  await page.keyboard.press('Tab')
  await page.keyboard.type(goodPassword)
  await page.keyboard.press('Enter')
  await heading(page, 'Choose your second step')
  await tabTo(page, ' Add a passkey')
  await page.keyboard.press('Enter')
  await page.waitForURL('**/step-up?factors=2*')
  await tabTo(page, ' Use a passkey')
  await page.keyboard.press('Enter')
  await page.waitForURL('**/api/auth/admin#overview?setup=done')
  await nextSteps(page)
  expect(faults).toEqual([])
  await context.close()
})

it('ends on the account page where a proxy does not pass the page of administrators on', async () => {
  const { page, context } = await visit(browser, latchkey)
  await addDevice(page)
  await context.route('**/api/auth/admin**', (route) => route.fulfill({ status: 404, body: 'Not found' }))
  await page.goto(await newLink())
  await fillIn(page, account)
  await press(page, 'Create account')
  await press(page, 'Add a passkey')
  await page.waitForURL('**/api/auth/account-page?setup=done')
  await nextSteps(page)
  await page.getByText('latchkey invite EMAIL').waitFor()
  expect(await faultsOf(page)).toEqual([])
  await keepPicture(page, 'setup-next-steps-account')
  await context.close()
})

it('says without a link where it is, and with one that does not work what to do, in every language', async () => {
  const { page, leave } = await visit(browser, latchkey)
  const address = new URL('/api/auth/setup', latchkey.url).href
  await page.goto(address)
  await page.getByText('latchkey setup-link').waitFor()
  expect(await faultsOf(page)).toEqual([])
  await keepPicture(page, 'setup-without-link')
  await page.goto('about:blank')
  // Nothing is typed in vain: the page asks first, also about a token that no link can have.
  await page.goto(`${address}#token=${'x'.repeat(500)}`)
  await page.getByText('This link has expired, was already used, or is incomplete.').waitFor()
  await page.goto('about:blank')
  await page.goto(`${address}#token=${'x'.repeat(43)}`)
  await page.getByText('This link has expired, was already used, or is incomplete.').waitFor()
  await page.getByText('latchkey setup-link').waitFor()

  const link = await newLink()
  await page.goto('about:blank')
  await page.goto(link)
  await fillIn(page, account)
  await latchkey.signedUp('bea')
  await press(page, 'Create account')
  await page.getByText('There is an account already.').waitFor()
  await page.getByText('latchkey user groups USER --add GROUP').waitFor()
  expect(await focusedName(page)).toBe('Set up the service')
  expect(await faultsOf(page)).toEqual([])
  await keepPicture(page, 'setup-over')
  await page.goto('about:blank')
  await page.goto(link)
  await page.getByText('There is an account already.').waitFor()
  expect(await page.getByRole('textbox').count()).toBe(0)
  const headings = new Set<string>()
  for (const language of languages) {
    await page.locator(`.languages button[lang=${language}]`).click()
    await expect.poll(() => page.evaluate(() => document.documentElement.lang)).toBe(language)
    headings.add(await page.locator('h1').innerText())
  }
  expect(headings.size).toBe(languages.length)
  await leave()
})

it('shows what is wrong with the proxy without scripts and style, and above the form what is missing', async () => {
  const { page, context } = await visit(browser, latchkey, { javaScriptEnabled: false })
  await context.route('**/*.css', (route) => route.abort())
  await page.goto(new URL('/api/auth/setup', latchkey.url.replace('localhost', '127.0.0.1')).href)
  await page.getByText('This page was opened at 127.0.0.1').waitFor()
  await keepPicture(page, 'setup-proxy-without-style')
  await context.close()
  const styled = await visit(browser, latchkey, { viewport: phone })
  await styled.page.goto(new URL('/api/auth/setup', latchkey.url.replace('localhost', '127.0.0.1')).href)
  expect(await faultsOf(styled.page)).toEqual([])
  await keepPicture(styled.page, 'setup-proxy-phone')
  await styled.leave()

  const other = await startLatchkey({ settings: { TRUST_PROXY: '' } })
  const behind = await visit(browser, other, { extraHTTPHeaders: { 'x-forwarded-for': '203.0.113.9' } })
  await behind.page.goto((await other.app.rooms.setup.makeLink()) ?? '')
  await behind.page.getByText('TRUST_PROXY=127.0.0.1').waitFor()
  await heading(behind.page, 'Create the first account')
  expect(await faultsOf(behind.page)).toEqual([])
  await keepPicture(behind.page, 'setup-trust-proxy')
  await behind.context.close()
  await other.stop()
})

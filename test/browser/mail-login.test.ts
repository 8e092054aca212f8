import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { faultsOf } from '../support/axe.js'
import { fillIn, focusedField, keepPicture, openChromium, press, visit } from '../support/chromium.js'
import { type Latchkey, startLatchkey } from '../support/latchkey.js'
import { secretsIn } from '../support/mail-login.js'

let latchkey: Latchkey
let browser: Browser
beforeAll(async () => {
  ;[latchkey, browser] = await Promise.all([
    startLatchkey({ settings: { MAIL_SIGN_IN: 'on', LOGIN_LIMIT: '2/15m', TERMS_URL: '/terms', TERMS_VERSION: '1' } }),
    openChromium(),
  ])
})
afterAll(() => latchkey?.stop())

const byMail = 'Sign in with an email code'
const mailed = async (email: string, before: Parameters<Latchkey['mailTo']>[2] = []) =>
  secretsIn((await latchkey.mailTo(email, /login#mail=/, before)).text)

it('leads from a code over the registration to the account, and next time by the link', async () => {
  const { page, leave } = await visit(browser, latchkey, { viewport: { width: 390, height: 844 } })
  await page.goto(`${latchkey.url}/login`)
  await fillIn(page, { 'Username or email': 'ada@example.com', Password: 'not the password' })
  await keepPicture(page, 'mail-login-offer')
  // The limit of passwords leaves this way.
  const guess = { username: 'ada@example.com', password: 'not the password' }
  await Promise.all([1, 2].map(() => latchkey.browser().post('/login', guess)))
  await press(page, 'Sign in')
  await page.getByText('sign in with an email code or choose a new password by email.').waitFor()
  await press(page, byMail)
  // What was typed stays.
  expect(await page.getByLabel('Email', { exact: true }).inputValue()).toBe('ada@example.com')
  await expect.poll(() => focusedField(page)).toBe('email')
  await keepPicture(page, 'mail-login-ask')
  await press(page, 'Send the email')
  await page.getByText('We have sent an email to ada@example.com').waitFor()
  await expect.poll(() => page.locator('h1:focus').textContent()).toBe('Check your email')
  const { code } = await mailed('ada@example.com')

  await fillIn(page, { 'Code from the email': 'AAAA-AAAA' })
  await press(page, 'Sign in')
  await page.getByText('Attempts left: 4.').waitFor()
  await keepPicture(page, 'mail-login-wrong-code')
  expect(await faultsOf(page)).toEqual([])
  // A phone loads the page again when the user comes back from the mail.
  await page.reload()
  await fillIn(page, { 'Code from the email': code.toLowerCase() })
  await press(page, 'Sign in')
  await page.getByText('ada@example.com has no account yet.').waitFor()
  expect(await page.getByLabel('Username').inputValue()).toBe('ada')
  await keepPicture(page, 'mail-login-registration')
  expect(await faultsOf(page)).toEqual([])
  await page.getByRole('checkbox').check()
  await press(page, 'Create my account')
  await page.getByText('Hello, ada', { exact: true }).waitFor()
  await leave()

  const next = await visit(browser, latchkey)
  const before = [...latchkey.mails()]
  await next.page.request.post('/api/auth/mail-login', { data: { email: 'ada@example.com' } })
  const { token } = await mailed('ada@example.com', before)
  const link = `${latchkey.url}/login#mail=${token}`

  const elsewhere = await visit(browser, latchkey)
  await elsewhere.page.goto(link)
  await elsewhere.page.getByText('Go back to the window where you started').waitFor()
  await keepPicture(elsewhere.page, 'mail-login-elsewhere')
  await elsewhere.leave()

  const tab = next.page
  await tab.goto(link)
  await tab.getByText('Press the button to sign in in this browser.').waitFor()
  expect(tab.url()).toBe(`${latchkey.url}/login`)
  await keepPicture(tab, 'mail-login-link')
  await press(tab, 'Sign in')
  await tab.getByText('Hello, ada', { exact: true }).waitFor()
  await next.leave()

  const late = await visit(browser, latchkey)
  await late.page.goto(link)
  await late.page.getByText('It has expired or was used').waitFor()
  await press(late.page, 'Ask for a new email')
  await late.page.getByLabel('Email').waitFor()
  await late.leave()
})

import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { fillIn, linkIn, openChromium, press, registerByRequest, signIn, visit } from '../support/chromium.js'
import { goodPassword, type Latchkey, startLatchkey } from '../support/latchkey.js'

let latchkey: Latchkey
let browser: Browser

beforeAll(async () => {
  ;[latchkey, browser] = await Promise.all([startLatchkey(), openChromium()])
})
afterAll(() => latchkey?.stop())

/** The link of a mail that came after the one with this link. */
const newerLink = async (email: string, known: string) => {
  await expect.poll(async () => linkIn(await latchkey.mailTo(email))).not.toBe(known)
  return linkIn(await latchkey.mailTo(email))
}

describe('the confirmation of an address', () => {
  it('can be mailed again; the older link says so, and the code stays good', async () => {
    const { page, context, leave } = await visit(browser, latchkey)
    const email = await registerByRequest(page, 'nina')
    const first = await latchkey.mailTo(email)
    await press(page, 'Send the email again')
    await page
      .getByText('A new email is on its way, unless this address has already had five in the last hour.')
      .waitFor()
    await expect
      .poll(() => page.getByRole('button', { name: 'Send the email again' }).getAttribute('aria-disabled'))
      .toBe('true')
    await newerLink(email, linkIn(first))

    const mailTab = await context.newPage()
    await mailTab.goto(linkIn(first))
    await mailTab.getByText('We have sent you a newer email.').waitFor()
    await expect.poll(() => mailTab.title()).toBe('There is a newer email · Latchkey')
    await mailTab.getByRole('link', { name: 'Enter the code instead' }).click()
    await fillIn(mailTab, { 'Code from the email': 'short' })
    await press(mailTab, 'Confirm')
    await mailTab.getByText('Please enter the whole code.').waitFor()
    const code = /^[A-Z0-9]{4}-[A-Z0-9]{4}$/m.exec(first.text)?.[0] ?? ''
    await fillIn(mailTab, { 'Code from the email': code.toLowerCase() })
    await press(mailTab, 'Confirm')
    await mailTab.getByText('Hello, nina', { exact: true }).waitFor()
    await page.getByText('Hello, nina', { exact: true }).waitFor()
    await leave()
  })

  it('points at the link after five wrong codes; a link outlives a reload until it is refused', async () => {
    const { page, leave } = await visit(browser, latchkey)
    const email = await registerByRequest(page, 'tilda')
    for (let wrong = 1; wrong <= 3; wrong += 1)
      await page.request.post('/api/auth/verify-email', { data: { code: `AAAAAAA${wrong}` } })
    await fillIn(page, { 'Code from the email': 'AAAAAAA4' })
    await press(page, 'Confirm')
    await page.getByText('Check it, or use the link in the email.').waitFor()
    await expect.poll(() => page.locator('button[aria-busy]').count()).toBe(0)
    await fillIn(page, { 'Code from the email': 'AAAAAAA5' })
    await press(page, 'Confirm')
    await page.getByRole('alert').getByText('You have used all five attempts. Open the link').waitFor()
    await expect.poll(() => page.getByLabel('Code from the email').count()).toBe(0)
    await expect.poll(() => page.locator('.notice:focus').count()).toBe(1)
    await page.reload()
    await page.getByText('You have used all five attempts.').waitFor()
    expect(await page.getByLabel('Code from the email').count()).toBe(0)

    const first = linkIn(await latchkey.mailTo(email))
    const phone = await visit(browser, latchkey)
    await phone.page.goto(first)
    await phone.page.getByText('You registered in another browser').waitFor()
    await phone.page.reload()
    await phone.page.getByText('You registered in another browser').waitFor()
    expect(phone.page.url()).toBe(`${latchkey.url}/verify-email`)
    // Who has forgotten the password as well can register again.
    await phone.page.getByText('Forgot the password that you chose?').waitFor()
    expect(await phone.page.getByRole('link', { name: 'Register again' }).getAttribute('href')).toBe('/register')

    await press(page, 'Send the email again')
    await newerLink(email, first)
    await phone.page.reload()
    await phone.page.getByText('We have sent you a newer email.').waitFor()
    // No registration waits in that browser, so it has no use for a code.
    await phone.page.waitForLoadState('networkidle')
    await expect.poll(() => phone.page.getByRole('link', { name: 'Enter the code instead' }).count()).toBe(0)
    await phone.page.reload()
    await phone.page.getByText('There is no registration waiting in this browser.').waitFor()
    await Promise.all([leave(), phone.leave()])
  })

  it('is noticed by the first tab when it happens on another device, and the used link leads on', async () => {
    const { page, leave } = await visit(browser, latchkey)
    const link = linkIn(await latchkey.mailTo(await registerByRequest(page, 'emil')))
    const phone = await visit(browser, latchkey)
    await phone.page.goto(link)
    await phone.page.getByText('You registered in another browser').waitFor()
    await fillIn(phone.page, { Password: 'a wrong one' })
    await press(phone.page, 'Confirm my email')
    await phone.page.getByText('This is not the password that you chose').waitFor()
    await fillIn(phone.page, { Password: goodPassword })
    await press(phone.page, 'Confirm my email')
    await phone.page.getByText('Hello, emil', { exact: true }).waitFor()

    await page.evaluate(() => document.dispatchEvent(new Event('visibilitychange')))
    await page.getByText('Your email is already confirmed.').waitFor()
    await page.getByRole('heading', { name: 'Email confirmed' }).waitFor()
    // This browser is not signed in.
    expect(await page.locator('.button.primary').innerText()).toBe('Sign in')
    expect(await page.getByRole('link', { name: /register|create/i }).count()).toBe(0)
    await phone.page.goto(link)
    await phone.page.getByRole('heading', { name: 'Email confirmed' }).waitFor()
    await phone.page.getByText('Your email is already confirmed. You are signed in.').waitFor()
    await phone.page.getByRole('link', { name: 'Continue' }).click()
    await phone.page.getByText('Hello, emil', { exact: true }).waitFor()
    // A user who is registered is not asked to register again.
    await page.goto('/verify-email#token=of-an-old-mail')
    await page.getByText('This link has expired, was already used, or is incomplete.').waitFor()
    expect(await page.locator('.button.primary').innerText()).toBe('Sign in')
    await Promise.all([leave(), phone.leave()])
  })

  it('is what a sign-in with the right password asks for in the browser that registered, and offers to send', async () => {
    const { page, leave } = await visit(browser, latchkey)
    const email = await registerByRequest(page, 'nora')
    const first = linkIn(await latchkey.mailTo(email))
    await page.goto('/login')
    await signIn(page, email)
    await page.getByRole('alert').getByText('Confirm your email first.').waitFor()
    await press(page, 'Send the email again')
    await page.waitForURL('**/verify-email')
    await page.getByText(`We have sent an email to ${email}`).waitFor()
    await page.goto(await newerLink(email, first))
    await press(page, 'Confirm my email')
    await page.getByText('Hello, nora', { exact: true }).waitFor()
    await leave()
  })
})

import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import {
  descriptionOf,
  fillIn,
  focusedField,
  keepPicture,
  listen,
  openChromium,
  press,
  register,
  signIn,
  visit,
} from '../support/chromium.js'
import { goodPassword, type Latchkey, startLatchkey } from '../support/latchkey.js'
import { isLongRun } from '../support/long-run.js'

let latchkey: Latchkey
let browser: Browser

beforeAll(async () => {
  ;[latchkey, browser] = await Promise.all([startLatchkey(), openChromium()])
})
afterAll(() => latchkey?.stop())

const newPassword = 'Quiet+Orchard+48+marble'

describe('a new user', () => {
  it('registers, proves the address, looks around, changes the password and signs out', async () => {
    const { page, leave, faults } = await visit(browser, latchkey)
    const asked = new Set<string>()
    page.on('request', (request) => asked.add(new URL(request.url()).origin))
    const email = await register(page, 'mira')
    await expect.poll(() => page.getByText(`We have sent an email to ${email}`).isVisible()).toBe(true)

    // Only the address was wrong: everything but the password is still there.
    await page.getByRole('link', { name: 'Correct it' }).click()
    await expect.poll(() => focusedField(page)).toBe('email')
    const selected = () => page.evaluate(() => getSelection()?.toString())
    await expect.poll(selected).toBe(email)
    expect(await page.getByLabel('Username').inputValue()).toBe('mira')
    expect(await page.getByLabel('Choose a password', { exact: true }).inputValue()).toBe('')
    const heard = await listen(page)
    await fillIn(page, { Email: 'mira@gmial.com' })
    await expect.poll(heard).toContain('Did you mean mira@gmail.com?')
    await keepPicture(page, 'register-slip')
    await press(page, 'Use mira@gmail.com')
    await expect.poll(() => page.getByLabel('Email').inputValue()).toBe('mira@gmail.com')
    await expect.poll(() => focusedField(page)).toBe('email')
    await expect.poll(() => page.getByText('Did you mean').count()).toBe(0)
    await fillIn(page, { Email: email, 'Choose a password': goodPassword })
    await press(page, 'Create account')
    await expect.poll(() => page.getByText(`We have sent an email to ${email}`).isVisible()).toBe(true)

    await page.goto(`/dev/mailbox/${(await latchkey.mailTo(email)).id}`)
    await page.frameLocator('iframe').getByRole('link', { name: 'Confirm my email' }).click()
    await page.getByRole('button', { name: 'Confirm my email' }).waitFor()
    expect(page.url()).toBe(`${latchkey.url}/verify-email`)
    // Opening the link alone changes nothing.
    expect(await latchkey.sql.query('select id from users where username = $1', ['mira'])).toEqual([])
    await press(page, 'Confirm my email')
    await page.waitForURL('**/dashboard')
    await page.getByText('Hello, mira', { exact: true }).waitFor()
    await page.getByText(email).waitFor()
    await page.getByText('Account created').waitFor()

    const said = await listen(page)
    await press(page, 'Change password')
    await fillIn(page, { 'Current password': 'not this one', 'New password': newPassword })
    await press(page, 'Change password')
    await page.getByText('This is not your current password.').waitFor()
    await expect.poll(() => focusedField(page)).toBe('currentPassword')
    await fillIn(page, { 'Current password': goodPassword, 'New password': goodPassword })
    await press(page, 'Change password')
    await page.getByText('Choose a different password.').waitFor()
    await expect.poll(() => focusedField(page)).toBe('newPassword')
    await fillIn(page, { 'New password': newPassword })
    await press(page, 'Change password')
    await expect.poll(async () => (await said()).at(-1)).toContain('Your password was changed.')
    await expect.poll(() => page.locator('button:focus').textContent()).toBe('Change password')

    await press(page, 'Sign out')
    await page.waitForURL('**/login?notice=signed_out')
    await page.getByText('You are signed out.').waitFor()
    await page.getByRole('heading', { level: 1, name: 'Sign in' }).waitFor()
    await signIn(page, email, newPassword)
    await page.waitForURL('**/dashboard')
    // A user who is signed in has nothing to register.
    await page.goto('/register?returnTo=%2Fhealth%2Flive')
    await page.waitForURL('**/health/live')
    expect(faults).toEqual([])
    expect([...asked].filter((origin) => origin !== 'null')).toEqual([latchkey.url])
    await leave()
  })

  it('is told at the fields what is wrong with the form, and where to begin', async () => {
    const { page, leave } = await visit(browser, latchkey)
    await latchkey.signedUp('taken')
    await page.goto('/register')
    await expect.poll(() => focusedField(page)).toBe('email')
    // Nothing was refused yet.
    expect(await page.locator('input:not([aria-invalid=false])').count()).toBe(0)
    const said = await listen(page)
    await press(page, 'Create account')
    // The focus goes to the first one, which is read with its error.
    const isEmpty = (field: string) => `${field} is missing.`
    await expect.poll(said).toEqual(['Username', 'Choose a password'].map(isEmpty))
    const focused = page.locator('input:focus')
    await expect.poll(() => focused.getAttribute('name')).toBe('email')
    await expect.poll(() => focused.getAttribute('aria-invalid')).toBe('true')

    // The bar of an empty field is as wide as the field.
    const widthOf = async (part: string) => (await page.locator(part).boundingBox())?.width
    expect(await widthOf('.strength-bar')).toBe(await widthOf('[name=password]'))
    const filled = page.locator('.strength-bar .filled')
    await fillIn(page, { 'Choose a password': 'password' })
    await page.getByText(/^Strength: Very weak$/).waitFor()
    const steps = await filled.count()
    await fillIn(page, { Username: 'ta ken', Email: 'not an address', 'Choose a password': 'Harbor91' })
    await page.locator('.password-rules').getByText('a special character').waitFor()
    await page.getByText(/^Strength: Weak$/).waitFor()
    expect(await filled.count()).toBeGreaterThan(steps)
    await expect
      .poll(() => page.locator('.password-rules li').filter({ hasText: 'still missing' }).locator('path').count())
      .toBe(0)
    await expect.poll(() => page.locator('.password-rules .met').first().locator('path').count()).toBe(1)
    const strength = page.locator('.password-rules li').filter({ hasText: 'a strength of “Good” or better' })
    await strength.filter({ hasText: 'still missing' }).waitFor()
    await press(page, 'Create account')
    // Everything at once.
    await page.getByText('Enter an email address like name@example.com.').waitFor()
    await page.getByText('Use letters, digits and . _ - only.').waitFor()
    await page.getByText('Still missing: a special character, a strength of “Good” or better.').waitFor()
    await expect.poll(() => page.locator('.password-rules .missed').count()).toBe(2)
    await fillIn(page, { Username: 'taken', Email: 'fresh@example.com' })
    await press(page, 'Create account')
    await page.getByText('This username is taken.').waitFor()
    const rules = 'At least 8 characters, with a lowercase and an uppercase letter, a number and a special character.'
    expect(await descriptionOf(page, 'Choose a password')).toMatch(/Still missing: a special character.* At least 8/)
    await page.getByText('Still missing: a special character, a strength of “Good” or better.').waitFor()
    const sentences = await page
      .locator('.field-errors, .strength-feedback')
      .evaluateAll((places) => places.flatMap(({ textContent }) => textContent.match(/[A-Z][^.]+\./g) ?? []))
    expect(sentences.length).toBeGreaterThan(1)
    expect(new Set(sentences).size).toBe(sentences.length)
    // A password that would be refused does not look half good.
    await fillIn(page, { 'Choose a password': '1qaz@WSX' })
    await page.getByText(/^Strength: Not strong enough$/).waitFor()
    // Some screen readers say a description again with each change, so it does not follow the typing.
    expect(await descriptionOf(page, 'Choose a password')).toBe(rules)
    await expect.poll(() => filled.count()).toBe(2)
    await fillIn(page, { 'Choose a password': goodPassword })
    await page.getByText(/^Strength: (Good|Strong)$/).waitFor()
    expect(await filled.count()).toBeGreaterThan(3)
    await strength.filter({ hasText: 'done' }).waitFor()
    await expect.poll(() => page.getByText('Still missing:').count()).toBe(0)
    // What was typed is there again after a look at another page, except for the password.
    await page.getByRole('link', { name: 'Sign in' }).click()
    await expect.poll(() => page.locator('[name=username]').inputValue()).toBe('fresh@example.com')
    await page.goBack()
    await expect.poll(() => page.locator('[name=email]').inputValue()).toBe('fresh@example.com')
    expect(await page.locator('[name=username]').inputValue()).toBe('taken')
    expect(await page.locator('[name=password]').inputValue()).toBe('')
    await leave()
  })

  // login.test.ts has a refusal in another language.
  if (isLongRun)
    it('is told in the language of the page what the service says of a field', async () => {
      const { page, leave } = await visit(browser, latchkey, { locale: 'de-DE' })
      await page.goto('/register')
      await fillIn(page, { Benutzername: 'John Smith', 'E\u2011Mail': 'foo@bar.test', 'Passwort wählen': goodPassword })
      const submit = () => press(page, 'Konto anlegen')
      const remarkOn = async (name: string) => {
        const ids = (await page.locator(`[name=${name}]`).getAttribute('aria-describedby')) ?? ''
        return page.locator(`[id="${ids.split(' ')[0]}"]`).textContent()
      }
      await submit()
      await expect.poll(() => remarkOn('username')).toBe('Nur Buchstaben, Ziffern und . _ - sind möglich.')
      await expect.poll(() => focusedField(page)).toBe('username')
      await fillIn(page, { Benutzername: ' johann ', 'E\u2011Mail': 'foo@bar' })
      expect(await remarkOn('username')).toBe('')
      await submit()
      await expect
        .poll(() => remarkOn('email'))
        .toBe('Geben Sie eine E\u2011Mail-Adresse ein, zum Beispiel name@example.com.')
      await fillIn(page, { 'E\u2011Mail': 'johann@example.com' })
      await submit()
      await page.waitForURL('**/verify-email')
      await leave()
    })
})

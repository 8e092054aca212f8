import type { Browser, Page } from 'playwright-core'
import decodeQR from 'qr/decode.js'
import { afterAll, beforeAll, expect, it, onTestFinished } from 'vitest'
import { createAuthenticator } from '../support/authenticator.js'
import {
  fillIn,
  focusedField,
  focusedName,
  keepPicture,
  openChromium,
  press,
  register,
  signIn,
  visit,
  visitAs,
} from '../support/chromium.js'
import { type Latchkey, startLatchkey } from '../support/latchkey.js'

let latchkey: Latchkey
let browser: Browser

beforeAll(async () => {
  ;[latchkey, browser] = await Promise.all([startLatchkey(), openChromium()])
  await latchkey.signedUp('ruth')
})
afterAll(() => latchkey?.stop())

const printed = async (page: Page) =>
  (await page.locator('body').innerText()).split('\n').flatMap((line) => line.trim() || [])
const sheetOf = (page: Page, username: string, codes: string[]) => [
  'Latchkey: recovery codes',
  expect.stringMatching(new RegExp(`^${new URL(page.url()).host}: ${username}, \\d+ \\w+ \\d{4}`)),
  ...codes,
]

it('switches two-step sign-in on, and signs in with a code and with a recovery code', async () => {
  const { page, context } = await visitAs(browser, latchkey, 'ruth')
  await page.goto('/dashboard')
  await page.getByRole('button', { name: 'Switch on' }).click()
  await page.getByRole('img', { name: 'QR code for the authenticator app' }).waitFor()
  const secret = (await page.locator('code.secret').innerText()).replaceAll(/\s/g, '')
  const app = createAuthenticator(secret, latchkey)
  await keepPicture(page, 'two-step-begun')
  await fillIn(page, { 'Code from the app': app.code() })
  await page.getByRole('button', { name: 'Confirm' }).click()
  await page.getByText('Save these recovery codes now').waitFor()
  await expect.poll(() => focusedName(page)).toBe('Save your recovery codes')
  const firstCodes = await page.locator('.recovery-codes code').allInnerTexts()
  await page.getByRole('button', { name: 'I have saved them' }).click()
  await page.getByText('Recovery codes left: 10.').waitFor()
  await expect.poll(() => focusedName(page)).toBe('Two-step sign-in')
  await press(page, 'New recovery codes')
  await page.getByText('The recovery codes that you have will stop working.').waitFor()
  await keepPicture(page, 'two-step-new-codes')
  await press(page, 'Yes, make new codes')
  await page.getByText('The old ones do not work any more.').waitFor()
  await expect.poll(() => focusedName(page)).toBe('Save your recovery codes')
  const codes = await page.locator('.recovery-codes code').allInnerTexts()
  expect(codes).toHaveLength(10)
  await page.emulateMedia({ media: 'print' })
  expect(await printed(page)).toEqual(sheetOf(page, 'ruth', codes))
  await page.emulateMedia({ media: 'screen' })
  await press(page, 'I have saved them')

  await page.getByRole('button', { name: 'Sign out', exact: true }).first().click()
  await page.getByText('You are signed out.').waitFor()
  await signIn(page, 'ruth')
  await page.getByRole('heading', { name: 'Enter your code' }).waitFor()
  expect(await page.getByLabel('Code from the app').getAttribute('inputmode')).toBe('numeric')
  expect(await page.getByLabel('Code from the app').getAttribute('autocomplete')).toBe('one-time-code')
  // A broken connection does not end the sign-in.
  await page.route('**/api/auth/second-factor', (route) => route.abort())
  await page.reload()
  const again = page.getByRole('button', { name: 'Try again' })
  await again.waitFor()
  await page.unroute('**/api/auth/second-factor')
  await again.click()
  await page.getByLabel('Code from the app').waitFor()
  // The code that confirmed the app is used up.
  await latchkey.advance(30_000)
  const code = app.code()
  await fillIn(page, { 'Code from the app': '000' })
  await page.getByRole('button', { name: 'Continue' }).click()
  await page.getByText('This code does not work.').waitFor()
  await keepPicture(page, 'second-factor')
  await page.getByLabel('Do not ask for a code in this browser for 30 days').waitFor()
  await fillIn(page, { 'Code from the app': firstCodes[0] ?? '' })
  await page.getByRole('button', { name: 'Continue' }).click()
  await page.getByText('This recovery code does not work.').waitFor()
  await fillIn(page, { 'Code from the app': `${code.slice(0, 3)} ${code.slice(3)}` })
  await page.getByRole('button', { name: 'Continue' }).click()
  await page.getByRole('heading', { level: 1, name: 'ruth' }).waitFor()
  // Who is signed in has no second step to do.
  await page.goto('/second-factor?returnTo=/dashboard')
  await page.getByRole('heading', { level: 1, name: 'ruth' }).waitFor()

  await page.getByRole('button', { name: 'Sign out', exact: true }).first().click()
  await page.getByText('You are signed out.').waitFor()
  await signIn(page, 'ruth')
  await page.getByRole('button', { name: 'Use a recovery code' }).click()
  await expect.poll(() => focusedField(page)).toBe('code')
  await fillIn(page, { 'Recovery code': codes[0] ?? '' })
  await page.getByRole('button', { name: 'Continue' }).click()
  await page.getByText('Recovery codes left: 9.').waitFor()
  await press(page, 'Switch off')
  await press(page, 'Yes, switch off')
  await page.getByText('Two-step sign-in is off.').waitFor()
  await expect.poll(() => focusedName(page)).toBe('Two-step sign-in')
  await context.close()
})

/** What a phone sees: the picture on the page, read as pixels. */
const readQrCode = async (page: Page) => {
  const png = await page.getByRole('img', { name: 'QR code' }).screenshot()
  const blank = await page.context().newPage()
  const image = await blank.evaluate(
    async (source) => {
      const picture = new Image()
      picture.src = source
      await picture.decode()
      const { width, height } = picture
      const context = Object.assign(document.createElement('canvas'), { width, height }).getContext('2d')
      context?.drawImage(picture, 0, 0)
      return { width, height, data: [...(context?.getImageData(0, 0, width, height).data ?? [])] }
    },
    `data:image/png;base64,${png.toString('base64')}`,
  )
  await blank.close()
  return decodeQR({ ...image, data: Uint8Array.from(image.data) })
}

it('leads a user without a second factor over a mailed code, an app and the recovery codes to the page they wanted', async () => {
  const required = await startLatchkey({ settings: { SECOND_FACTOR: 'required' } })
  onTestFinished(required.stop)
  const { page, context, faults } = await visit(browser, required)
  await register(page, 'mia', '/register?returnTo=%2Fdashboard%3Ffrom%3Dreports')
  const { text } = await required.mailTo('mia@example.com')
  await page.goto(/http\S+#token=\S+/.exec(text)?.[0] ?? '')
  await press(page, 'Confirm my email')
  await page.getByRole('heading', { name: 'Set up a second step' }).waitFor()
  await keepPicture(page, 'enrolment-begun')
  await press(page, 'Send the code')
  const mail = await required.mailTo('mia@example.com', /Your code for/)
  await fillIn(page, { 'Code from the email': 'AAAA-AAAA' })
  await press(page, 'Confirm')
  await page.getByText('This is not the code of our newest email.').waitFor()
  await keepPicture(page, 'enrolment-mail')
  await fillIn(page, { 'Code from the email': /^\s*(\S{4}-?\S{4})\s*$/m.exec(mail.text)?.[1] ?? '' })
  await press(page, 'Confirm')
  // The sign-in that waits survives a reload.
  await page.getByRole('button', { name: 'Set up an app' }).waitFor()
  await expect.poll(() => focusedName(page)).toBe('Choose your second step')
  await expect.poll(() => page.title()).toBe('Choose your second step · Latchkey')
  await page.reload()
  await page.getByRole('button', { name: 'Add a passkey' }).waitFor()
  await keepPicture(page, 'enrolment-choice')
  await press(page, 'Set up an app')
  await press(page, 'Choose another way')
  await press(page, 'Set up an app')
  const uri = await readQrCode(page)
  expect(decodeURIComponent(uri)).toContain('otpauth://totp/Latchkey:mia@example.com?')
  await keepPicture(page, 'enrolment-app')
  const app = createAuthenticator(new URL(uri).searchParams.get('secret') ?? '', required)
  await fillIn(page, { 'Code from the app': app.code() })
  await press(page, 'Confirm')
  await page.getByRole('heading', { name: 'Save your recovery codes' }).waitFor()
  const codes = await page.locator('.recovery-codes code').allInnerTexts()
  expect(codes).toHaveLength(10)
  await page.emulateMedia({ media: 'print' })
  expect(await printed(page)).toEqual(sheetOf(page, 'mia', codes))
  await page.emulateMedia({ media: 'screen' })
  await keepPicture(page, 'enrolment-codes')
  await press(page, 'I have saved them')
  await page.getByRole('heading', { level: 1, name: 'mia' }).waitFor()
  expect(new URL(page.url()).search).toBe('?from=reports')
  await page.getByText('Every account needs a second step here.').waitFor()
  await keepPicture(page, 'enrolment-account')
  expect(await page.getByRole('button', { name: 'Switch off' }).count()).toBe(0)
  expect(faults).toEqual([])
  await context.close()
})

import { text } from 'node:stream/consumers'
import type { Browser, Page } from 'playwright-core'
import decodeQR from 'qr/decode.js'
import { afterAll, beforeAll, expect, it, onTestFinished } from 'vitest'
import { minutes } from '../../src/lib/durations.js'
import { addAuthenticator, createAuthenticator } from '../support/authenticator.js'
import { faultsOf } from '../support/axe.js'
import {
  descriptionOf,
  fillIn,
  focusedDescription,
  focusedField,
  focusedName,
  keepPicture,
  openChromium,
  press,
  signIn,
  visit,
  visitAs,
} from '../support/chromium.js'
import { goodPassword, type Latchkey, startLatchkey } from '../support/latchkey.js'

let latchkey: Latchkey
let browser: Browser

beforeAll(async () => {
  ;[latchkey, browser] = await Promise.all([startLatchkey(), openChromium()])
  await latchkey.signedUp('ruth')
})
afterAll(() => latchkey?.stop())

/** The service does what it is asked for once, but its answer never arrives. */
const loseAnswer = (page: Page, address: string) =>
  page.route(
    address,
    async (route) => {
      await route.fetch()
      await route.abort()
    },
    { times: 1 },
  )

const printed = async (page: Page) =>
  (await page.locator('body').innerText()).split('\n').flatMap((line) => line.trim() || [])
const sheetOf = (page: Page, username: string, codes: string[]) => [
  'Latchkey: recovery codes',
  expect.stringMatching(new RegExp(`^${new URL(page.url()).host}: ${username}, \\d+ \\w+ \\d{4}`)),
  ...codes,
]

it('begins on a phone with the app that is there, and has the picture for another device', async () => {
  const phone = { viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true }
  const { page, leave } = await visitAs(browser, latchkey, 'ruth', phone)
  await page.goto('/dashboard')
  await press(page, 'Switch on')
  const openApp = page.getByRole('link', { name: 'Open an app on this device' })
  expect(await openApp.getAttribute('href')).toMatch(/^otpauth:/)
  const picture = page.getByRole('img', { name: 'QR code for the authenticator app' })
  expect(await picture.isVisible()).toBe(false)
  await page.getByText('The app is on another device').click()
  await picture.waitFor()
  const [link, key, image] = await Promise.all(
    [openApp, page.getByRole('button', { name: 'Copy the key' }), picture].map((each) => each.boundingBox()),
  )
  expect(link?.y).toBeLessThan(key?.y ?? 0)
  expect(key?.y).toBeLessThan(image?.y ?? 0)
  expect(await faultsOf(page)).toEqual([])
  await keepPicture(page, 'two-step-begun-phone')
  await press(page, 'Cancel')
  await leave()
})

it('offers new recovery codes if the answer that had the first ones was lost', async () => {
  await latchkey.signedUp('lena')
  const { page, leave } = await visitAs(browser, latchkey, 'lena')
  await page.goto('/dashboard')
  await press(page, 'Switch on')
  const secret = (await page.locator('code.secret').innerText()).replaceAll(/\s/g, '')
  await loseAnswer(page, '**/api/auth/totp/confirm')
  await fillIn(page, { 'Code from the app': createAuthenticator(secret, latchkey).code() })
  await press(page, 'Confirm')
  await page.getByText('The service cannot be reached').waitFor()
  await press(page, 'Confirm')
  await page.getByText('Its recovery codes were not shown: make new ones now.').waitFor()
  await page.getByRole('button', { name: 'New recovery codes' }).waitFor()
  await leave()
})

it('switches two-step sign-in on, and signs in with a code and with a recovery code', async () => {
  const { page, context, leave } = await visitAs(browser, latchkey, 'ruth')
  await context.grantPermissions(['clipboard-read', 'clipboard-write'])
  await page.goto('/dashboard')
  await page.getByRole('button', { name: 'Switch on' }).click()
  const picture = page.getByRole('img', { name: 'QR code for the authenticator app' })
  await picture.waitFor()
  // The heading has the focus, and is read with what to do first.
  await expect.poll(() => focusedDescription(page)).toMatch(/^Scan this picture with an authenticator app\./)
  expect((await picture.boundingBox())?.width).toBe(192)
  const secret = (await page.locator('code.secret').innerText()).replaceAll(/\s/g, '')
  const app = createAuthenticator(secret, latchkey)
  await page.getByRole('button', { name: 'Copy the key' }).click()
  await page.getByRole('button', { name: 'Copied' }).waitFor()
  expect(await page.evaluate(() => navigator.clipboard.readText())).toBe(secret)
  expect(await page.getByRole('link', { name: 'Open an app on this device' }).count()).toBe(0)
  await keepPicture(page, 'two-step-begun')
  await fillIn(page, { 'Code from the app': app.code() })
  await page.getByRole('button', { name: 'Confirm' }).click()
  await page.getByText('Save these recovery codes now').waitFor()
  await expect.poll(() => focusedName(page)).toBe('Save your recovery codes')
  const firstCodes = await page.locator('.recovery-codes code').allInnerTexts()
  // They are shown once: a reload asks first.
  const [question] = await Promise.all([
    page.waitForEvent('dialog'),
    page.evaluate(() => setTimeout(() => location.reload())),
  ])
  expect(question.type()).toBe('beforeunload')
  await question.dismiss()
  await page.getByRole('button', { name: 'I have saved them' }).click()
  await page.getByText(/^On since .+ · 10 recovery codes left$/).waitFor()
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
  await keepPicture(page, 'recovery-codes-printed')
  await page.emulateMedia({ media: 'screen' })
  await keepPicture(page, 'recovery-codes')
  const [file] = await Promise.all([page.waitForEvent('download'), press(page, 'Download')])
  expect(file.suggestedFilename()).toBe(`${new URL(page.url()).hostname}-recovery-codes.txt`)
  const saved = await text(await file.createReadStream())
  expect(saved.split('\r\n').filter(Boolean)).toEqual(sheetOf(page, 'ruth', codes))
  await press(page, 'I have saved them')

  await page.goto('/health/live')
  await context.clearCookies()
  await page.goto('/login?returnTo=%2Fhealth%2Flive')
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
  await page.getByText('Please enter the whole code.').waitFor()
  await keepPicture(page, 'second-factor')
  await page.getByLabel('Do not ask for a code in this browser for 30 days').waitFor()
  // Here the digits are not sent by themselves, and the field does not say so.
  await fillIn(page, { 'Code from the app': '' })
  expect(await descriptionOf(page, 'Code from the app')).toBe('6 digits.')
  await fillIn(page, { 'Code from the app': firstCodes[0] ?? '' })
  await page.getByRole('button', { name: 'Continue' }).click()
  await page.getByText('This recovery code does not work.').waitFor()
  // The box is below the code, so six digits are not sent before it can be ticked.
  const sent: (string | null)[] = []
  page.on('request', (request) => request.method() === 'POST' && sent.push(request.postData()))
  const wrong = code === '000000' ? '000001' : '000000'
  await fillIn(page, { 'Code from the app': wrong })
  await page.getByLabel('Do not ask for a code').check()
  expect(sent).toEqual([])
  await page.getByRole('button', { name: 'Continue' }).click()
  await page.getByText('Check the six digits, or wait for the next ones.').waitFor()
  expect(await focusedField(page)).toBe('code')
  expect(sent.filter((body) => body?.includes(wrong))).toHaveLength(1)
  await page.getByLabel('Do not ask for a code').uncheck()
  await fillIn(page, { 'Code from the app': `${code.slice(0, 3)} ${code.slice(3)}` })
  await page.keyboard.press('Enter')
  await page.waitForURL('**/health/live')

  // Who is signed in has no second step to do, and one who waits for it can load the page.
  await page.goto('/second-factor?returnTo=/health')
  await page.waitForURL('**/health')
  await context.clearCookies()
  await page.request.post('/api/auth/login', { data: { username: 'ruth', password: goodPassword } })
  await page.goto('/second-factor?returnTo=/dashboard')
  await page.getByRole('button', { name: 'Use a recovery code' }).click()
  await expect.poll(() => focusedField(page)).toBe('code')
  await page.getByRole('heading', { name: 'Enter a recovery code' }).waitFor()
  await keepPicture(page, 'second-factor-recovery')
  await fillIn(page, { 'Recovery code': codes[0] ?? '' })
  await page.getByRole('button', { name: 'Continue' }).click()
  const used = page.getByText('You have used a recovery code: 9 recovery codes left. New phone?')
  await used.waitFor()
  await keepPicture(page, 'used-recovery-code')
  await page.locator('.notice').getByRole('button', { name: 'Close this message' }).click()
  await page.reload()
  await page.getByText(/^On since .+ · 9 recovery codes left$/).waitFor()
  expect(await used.count()).toBe(0)
  await press(page, 'Switch off')
  await press(page, 'Yes, switch off')
  await page.getByText('Two-step sign-in is off.').waitFor()
  await expect.poll(() => focusedName(page)).toBe('Two-step sign-in')
  await context.clearPermissions()
  await leave()
})

it('sets the app up again after a sign-in with a recovery code', async () => {
  const { recoveryCodes } = await addAuthenticator(await latchkey.signedUp('vera'), latchkey)
  // The page leaves the notice out if the app is newer than the sign-in.
  latchkey.clock.advance(1 * minutes)
  const { page, context } = await visit(browser, latchkey)
  await page.goto('/login')
  await signIn(page, 'vera')
  await page.getByRole('button', { name: 'Use a recovery code' }).click()
  await fillIn(page, { 'Recovery code': recoveryCodes[0] ?? '' })
  await press(page, 'Continue')
  const used = page.locator('.used-recovery-code')
  await used.getByRole('button', { name: 'Set up the app again' }).click()
  await page.getByText('The one that you have works until you confirm the new one.').waitFor()
  expect(await focusedName(page)).toBe('Set up the app again')
  await keepPicture(page, 'two-step-replaced')
  await press(page, 'Cancel')
  await expect.poll(() => focusedName(page)).toBe('Two-step sign-in')
  await page.locator('#two-step').getByRole('button', { name: 'Set up the app again' }).click()
  const app = createAuthenticator((await page.locator('code.secret').innerText()).replaceAll(/\s/g, ''), latchkey)
  await fillIn(page, { 'Code from the app': app.code() })
  await press(page, 'Confirm')
  await page.getByText('The app is set up.').waitFor()
  await page.getByText(/^On since .+ · 9 recovery codes left$/).waitFor()
  await expect.poll(() => focusedName(page)).toBe('Two-step sign-in')
  await expect.poll(() => used.count()).toBe(0)
  await context.close()
})

/** What a phone sees: the picture on the page, read as pixels. Undefined if it is not yet drawn. */
const readQrCode = async (page: Page) => {
  const png = await page.getByRole('img', { name: 'QR code' }).screenshot()
  const { width, height, dark } = await page.evaluate(async (base64) => {
    const bytes = Uint8Array.from(atob(base64), (character) => character.charCodeAt(0))
    const bitmap = await createImageBitmap(new Blob([bytes], { type: 'image/png' }))
    const { width, height } = bitmap
    const context = new OffscreenCanvas(width, height).getContext('2d')
    context?.drawImage(bitmap, 0, 0)
    const pixels = context?.getImageData(0, 0, width, height).data ?? []
    // One character for a pixel: a list of numbers would take most of the time of this test.
    return {
      width,
      height,
      dark: Array.from({ length: width * height }, (_, at) => (Number(pixels[at * 4]) < 128 ? 1 : 0)).join(''),
    }
  }, png.toString('base64'))
  const data = Uint8Array.from([...dark].flatMap((pixel) => (pixel === '1' ? [0, 0, 0, 255] : [255, 255, 255, 255])))
  try {
    return decodeQR({ width, height, data })
  } catch {
    return undefined
  }
}

it('leads a user without a second factor over a mailed code, an app and the recovery codes to the page they wanted', async () => {
  const required = await startLatchkey({ settings: { SECOND_FACTOR: 'required' } })
  onTestFinished(required.stop)
  const { page, context, faults } = await visit(browser, required)
  const returnTo = 'returnTo=%2Fdashboard%3Ffrom%3Dreports'
  await page.goto(`/register?${returnTo}`)
  await page.getByText('Step 1 of 3', { exact: true }).waitFor()
  const mia = { username: 'mia', email: 'mia@example.com', password: goodPassword }
  await page.request.post('/api/auth/register', { data: mia })
  const { text } = await required.mailTo('mia@example.com')
  await page.goto(/http\S+#token=\S+/.exec(text)?.[0] ?? '')
  await page.getByText('Step 2 of 3', { exact: true }).waitFor()
  await press(page, 'Confirm my email')
  // The mail was a proof: no other code is asked for. The step is read out with the heading.
  await page.getByRole('heading', { name: 'Choose your second step' }).waitFor()
  const step = await page.locator('h1').getAttribute('aria-describedby')
  expect(await page.locator(`[id="${step}"]`).textContent()).toBe('Step 3 of 3')
  await keepPicture(page, 'enrolment-step')
  // The password alone proves less.
  await page.goto(`/login?${returnTo}`)
  await signIn(page, 'mia')
  await page.getByRole('heading', { name: 'Set up a second step' }).waitFor()
  await keepPicture(page, 'enrolment-begun')
  await press(page, 'Send the code')
  const mail = await required.mailTo('mia@example.com', /Your code for/)
  // The sentence comes a moment after the form and moves its button.
  await page.getByText('We have sent you an email with a code.').waitFor()
  await fillIn(page, { 'Code from the email': 'AAAA-AAAA' })
  await press(page, 'Confirm')
  await page.getByText('This is not the code of our newest email.').waitFor()
  await keepPicture(page, 'enrolment-mail')
  await loseAnswer(page, '**/api/auth/second-factor')
  await fillIn(page, { 'Code from the email': /^\s*(\S{4}-?\S{4})\s*$/m.exec(mail.text)?.[1] ?? '' })
  await press(page, 'Confirm')
  await page.getByText('The service cannot be reached').waitFor()
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
  let uri = ''
  await expect
    .poll(async () => {
      uri = (await readQrCode(page)) ?? ''
      return decodeURIComponent(uri)
    })
    .toContain('otpauth://totp/Latchkey:mia@example.com?')
  await keepPicture(page, 'enrolment-app')
  const app = createAuthenticator(new URL(uri).searchParams.get('secret') ?? '', required)
  await fillIn(page, { 'Code from the app': app.code() })
  await press(page, 'Confirm')
  await page.getByRole('heading', { name: 'Save your recovery codes' }).waitFor()
  const codes = await page.locator('.recovery-codes code').allInnerTexts()
  expect(codes).toHaveLength(10)
  await keepPicture(page, 'enrolment-codes')
  await press(page, 'I have saved them')
  await page.getByText('Hello, mia', { exact: true }).waitFor()
  expect(new URL(page.url()).search).toBe('?from=reports')
  await page.getByText('Every account needs a second step here.').waitFor()
  await keepPicture(page, 'enrolment-account')
  expect(await page.getByRole('button', { name: 'Switch off' }).count()).toBe(0)
  expect(faults).toEqual([])
  await context.close()
})

import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { minutes } from '../../src/lib/durations.js'
import { joinGroup } from '../support/administrators.js'
import { addAuthenticator } from '../support/authenticator.js'
import { focusedName, keepPicture, openChromium, press, signIn, visit } from '../support/chromium.js'
import type { Browser as Tab } from '../support/client.js'
import { goodPassword, type Latchkey, startLatchkey } from '../support/latchkey.js'
import { isLongRun } from '../support/long-run.js'

let latchkey: Latchkey
let browser: Browser
let ruth: Tab

beforeAll(async () => {
  ;[latchkey, browser] = await Promise.all([startLatchkey({ settings: { ADMIN_GROUP: 'admins' } }), openChromium()])
  ruth = await latchkey.signedUp('ruth')
  await latchkey.signedUp('sam')
})
afterAll(() => latchkey?.stop())

/** A phone or laptop that unlocks by itself, as Chromium's developer tools have it. */
const addDevice = async (page: Page) => {
  const tools = await page.context().newCDPSession(page)
  await tools.send('WebAuthn.enable')
  const { authenticatorId } = await tools.send('WebAuthn.addVirtualAuthenticator', {
    options: {
      protocol: 'ctap2',
      transport: 'internal',
      hasResidentKey: true,
      hasUserVerification: true,
      isUserVerified: true,
      automaticPresenceSimulation: true,
    },
  })
  return {
    unlocks: (isUserVerified: boolean) => tools.send('WebAuthn.setUserVerified', { authenticatorId, isUserVerified }),
    credentials: async () => (await tools.send('WebAuthn.getCredentials', { authenticatorId })).credentials,
  }
}

it('adds a passkey, signs in and steps up with it, renames and removes it', async () => {
  const { page, context, faults } = await visit(browser, latchkey)
  // This device answers without being asked, so passkeys are offered in the field only where the test wants it.
  await page.addInitScript(
    "if (!location.search.includes('autofill')) PublicKeyCredential.isConditionalMediationAvailable = async () => false",
  )
  const device = await addDevice(page)
  // Where a sign-in leads that needs nothing of the account page: this one costs little.
  const returnTo = 'returnTo=%2Fhealth%2Flive'
  const isSignedIn = () => page.waitForURL('**/health/live')
  const signOut = async () => {
    // First no page that renews its tokens meanwhile.
    await page.goto('/health')
    for (const name of ['access_token', 'refresh_token']) await context.clearCookies({ name })
  }
  await page.goto('/login?returnTo=/dashboard')
  expect(await page.getByLabel('Username or email').getAttribute('autocomplete')).toBe('username webauthn')
  await signIn(page, 'ruth')
  await press(page, 'Add a passkey')
  await page.getByText('The passkey was added: Chrome on Linux.').waitFor()
  expect(await device.credentials()).toMatchObject([{ rpId: 'localhost', isResidentCredential: true }])
  await keepPicture(page, 'passkeys')
  await press(page, 'Add a passkey')
  await page.getByText('This device has a passkey for your account already.').waitFor()
  await press(page, 'Rename Chrome on Linux')
  await expect.poll(() => page.evaluate(() => String(getSelection()))).toBe('Chrome on Linux')
  await page.keyboard.type('Work laptop')
  await press(page, 'Save')
  await page.getByText('The passkey is now called Work laptop.').waitFor()
  await page.getByRole('button', { name: 'Rename Work laptop' }).waitFor()
  await press(page, 'Remove Work laptop')
  await expect.poll(() => focusedName(page)).toContain('You will no longer be able to sign in with it.')
  await page.keyboard.press('Escape')
  await expect.poll(() => focusedName(page)).toBe('Remove Work laptop')
  expect(await page.getByText('This device has a passkey for your account already.').count()).toBe(0)

  await signOut()
  await page.goto(`/login?${returnTo}`)
  // A device that was not unlocked signs no user in, and the page goes on.
  await device.unlocks(false)
  await press(page, 'Use a passkey')
  await page.getByText('No passkey was used.').waitFor()
  await keepPicture(page, 'login-passkey')
  await device.unlocks(true)
  await press(page, 'Use a passkey')
  await isSignedIn()
  // Signed out, so that nothing but the passkey in the field leads on.
  await signOut()
  const offers: string[] = []
  page.on('request', (request) => {
    if (request.url().endsWith('/api/auth/passkey-login/options')) offers.push(page.url())
  })
  // The way to the next page takes a moment, in which another sign-in with the same passkey would end the session of the first.
  await page.route(
    '**/health/live',
    async (route) => {
      await new Promise((resolve) => setTimeout(resolve, 300))
      await route.continue()
    },
    { times: 1 },
  )
  await page.goto(`/login?notice=sign_in&autofill&${returnTo}`)
  await isSignedIn()
  expect(offers).toHaveLength(1)

  // The password is no proof any more, except at a new sign-in: the passkey may be lost.
  await latchkey.advance(11 * minutes)
  await page.goto(`/step-up?fresh=10m&${returnTo}`)
  await page.getByRole('button', { name: 'Use a passkey' }).waitFor()
  await page.getByRole('link', { name: 'Sign in again in another way' }).waitFor()
  expect(await page.getByLabel('Password').count()).toBe(0)
  await page.getByRole('link', { name: 'Sign in again in another way' }).click()
  await signIn(page, 'ruth')
  await isSignedIn()

  await ruth.post('/login', { username: 'ruth', password: goodPassword })
  await addAuthenticator(ruth, latchkey)
  await page.goto(`/login?notice=sign_in&${returnTo}`)
  await signIn(page, 'ruth')
  await page.getByRole('heading', { name: 'Enter your code' }).waitFor()
  await keepPicture(page, 'second-factor-passkey')
  await press(page, 'Use a passkey')
  await isSignedIn()
  await page.goto('/login?notice=sign_in')
  await press(page, 'Use a passkey')
  await page.getByText('Hello, ruth', { exact: true }).waitFor()

  await latchkey.advance(11 * minutes)
  await press(page, 'Remove Work laptop')
  await press(page, 'Yes, remove')
  await page.getByRole('dialog').getByText('Confirm that it is you', { exact: true }).waitFor()
  await keepPicture(page, 'step-up-passkey')
  await press(page, 'Use a passkey')
  await page.getByText('The passkey was removed.').waitFor()
  await page.getByRole('button', { name: 'Remove Work laptop' }).waitFor({ state: 'detached' })
  await expect.poll(() => focusedName(page)).toBe('Passkeys')
  // The browser was told, and does not offer it any more.
  await expect.poll(device.credentials).toEqual([])
  // The session began with that passkey, so a code would be its only factor: a new sign-in is needed.
  await page.goto('/step-up?factors=2&returnTo=%2Fdashboard')
  await page.waitForURL('**/login?notice=sign_in&returnTo=%2Fdashboard')
  expect(faults).toEqual([])
  await context.close()
})

it('asks an administrator with an older second factor for it once, and goes on to add the passkey', async () => {
  const grace = await latchkey.signedUp('grace')
  const app = await addAuthenticator(grace, latchkey)
  await joinGroup(latchkey, grace, 'grace', 'admins')
  latchkey.clock.advance(1 * minutes)
  await grace.post('/api/auth/refresh')
  expect((await grace.act('/api/auth/step-up', { code: app.code() })).status).toBe(200)
  latchkey.clock.advance(6 * minutes)
  await grace.post('/api/auth/refresh')
  const { page, context, faults } = await visit(browser, latchkey)
  const device = await addDevice(page)
  await context.addCookies(
    [...grace.jar].map(([name, value]) => ({
      name,
      value,
      url: latchkey.url,
      httpOnly: true,
      sameSite: 'Strict' as const,
    })),
  )
  await page.goto('/dashboard')
  await press(page, 'Add a passkey')
  const dialog = page.getByRole('dialog', { name: 'Confirm that it is you' })
  await dialog.waitFor()
  await dialog.getByRole('textbox').fill(app.code())
  await page.keyboard.press('Enter')
  await page.getByText('The passkey was added: Chrome on Linux.').waitFor()
  expect(await dialog.count()).toBe(0)
  expect(await device.credentials()).toHaveLength(1)
  expect(faults.filter((fault) => !fault.includes('403'))).toEqual([])
  await context.close()
})

it('says in a browser without passkeys why there are none, and the form works', async () => {
  const { page, context } = await visit(browser, latchkey)
  await page.addInitScript('delete globalThis.PublicKeyCredential')
  await page.goto('/login?returnTo=/dashboard')
  await page.getByLabel('Username or email').waitFor()
  expect(await page.getByRole('button', { name: 'Use a passkey' }).count()).toBe(0)
  await signIn(page, 'sam')
  await page.getByText('This browser does not support passkeys.').waitFor()
  await context.close()
  if (isLongRun) await signInAtNumbers()
})

const signInAtNumbers = async () => {
  const numeric = latchkey.url.replace('localhost', '127.0.0.1')
  const other = await visit(browser, latchkey, { baseURL: numeric })
  await other.page.goto('/login?returnTo=/dashboard')
  await other.page.getByLabel('Username or email').waitFor()
  expect(await other.page.getByRole('button', { name: 'Use a passkey' }).count()).toBe(0)
  await signIn(other.page, 'sam')
  await other.page.getByText('use localhost instead').waitFor()
  await other.context.close()
}

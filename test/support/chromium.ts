import { type Browser, type BrowserContextOptions, chromium, type Page } from 'playwright-core'
import { goodPassword, type Latchkey } from './latchkey.js'
import { testProgram } from './servers/programs.js'

/** Everything here waits for a browser, a database and bcrypt at once, on machines that may be busy. */
export const timeout = 120_000

/** Both buttons are there; no test that uses these goes to the providers behind them. */
export const namedProviders = {
  PROVIDER_A_CLIENT_ID: 'a',
  PROVIDER_A_CLIENT_SECRET: 'secret of a',
  PROVIDER_B_CLIENT_ID: 'b',
  PROVIDER_B_CLIENT_SECRET: 'secret of b',
}

export const launchChromium = (...more: string[]): Promise<Browser> =>
  chromium.launch({
    executablePath: testProgram('chromium'),
    args: [
      '--no-sandbox',
      '--disable-gpu',
      '--disable-quic',
      '--no-first-run',
      '--disable-background-networking',
      '--disable-component-update',
      '--disable-sync',
      ...more,
    ],
  })

/** A visitor with cookies of their own, and whatever went wrong on their pages. */
export const visit = async (browser: Browser, latchkey: Latchkey, options: BrowserContextOptions = {}) => {
  const context = await browser.newContext({ baseURL: latchkey.url, locale: 'en-GB', ...options })
  context.setDefaultTimeout(60_000)
  const faults: string[] = []
  context.on('weberror', (fault) => faults.push(fault.error().message))
  context.on('console', (message) => {
    if (/Content.Security.Policy|Refused to/i.test(message.text())) faults.push(message.text())
  })
  return { context, page: await context.newPage(), faults }
}

export const fillIn = async (page: Page, values: Record<string, string>) => {
  for (const [label, value] of Object.entries(values)) await page.getByLabel(label, { exact: true }).fill(value)
}

export const press = (page: Page, name: string) => page.getByRole('button', { name, exact: true }).click()

/** Fills in the registration form and arrives where the mail is waited for. */
export const register = async (page: Page, username: string, place = '/register') => {
  const email = `${username}@example.com`
  await page.goto(place)
  await fillIn(page, { Username: username, Email: email, 'Choose a password': goodPassword })
  await press(page, 'Create account')
  // On a very busy machine a password cannot be checked in time. The page says so, and a person tries again.
  const busy = page.getByRole('timer').getByText('You can try again now.')
  const again = busy.waitFor().then(() => press(page, 'Create account'))
  again.catch(() => undefined)
  await page.waitForURL('**/verify-email')
  return email
}

export const linkIn = (mail: { text: string }) => {
  const link = /^https?:\S+#token=\S+$/m.exec(mail.text)?.[0]
  if (!link) throw new Error('The mail has no link on a line of its own')
  return link
}

export const signIn = async (page: Page, username: string, password = goodPassword) => {
  await fillIn(page, { 'Username or email': username, Password: password })
  await press(page, 'Sign in')
}

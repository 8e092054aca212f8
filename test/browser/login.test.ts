import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import {
  descriptionOf,
  fillIn,
  focusedField,
  keepPicture,
  linkIn,
  listen,
  namedProviders,
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
  const settings = {
    // Not the quarter of an hour that the body of the refusal always names.
    LOGIN_LIMIT: '3/10m',
    SENSITIVE_LIMIT: '3/1h',
    ...namedProviders,
  }
  ;[latchkey, browser] = await Promise.all([startLatchkey({ settings }), openChromium()])
  await latchkey.signedUp('lena')
})
afterAll(() => latchkey?.stop())

/** Each test comes from an address of its own, so that no limiter remembers the others. */
const from = (address: string) => visit(browser, latchkey, { extraHTTPHeaders: { 'x-forwarded-for': address } })

describe('the login page', () => {
  it('runs no script but its own, and turns no text into HTML', async () => {
    const { page, leave, faults } = await from('192.0.2.99')
    // web/words/refusals.test.ts has the words for each way in which a sign-in with a provider can fail.
    await page.goto('/login?error=%3Cimg%20src%3Dx%3E')
    await page.getByRole('alert').getByText('Signing in did not work.').waitFor()
    expect(await page.locator('main').textContent()).not.toContain('<img')
    expect(faults).toEqual([])
    const refused = await page.evaluate(async () => {
      const tried = (act: () => void) => {
        try {
          act()
          return 'done'
        } catch (error) {
          return (error as Error).name
        }
      }
      const script = document.createElement('script')
      const link = document.createElement('a')
      link.setAttribute('href', 'javascript:document.title="run"')
      document.body.append(link)
      const fromHtml = tried(() => document.body.insertAdjacentHTML('beforeend', '<b>text</b>'))
      const fromText = tried(() => {
        script.textContent = 'document.title = "run"'
      })
      const blocked = new Promise((resolve) => document.addEventListener('securitypolicyviolation', resolve))
      link.click()
      await blocked
      return [fromHtml, fromText, document.title === 'run']
    })
    expect(refused).toEqual(['TypeError', 'TypeError', false])
    await leave()
  })

  it('is there before its script, sends nothing until then, and keeps what was typed', async () => {
    const { page, leave } = await from('192.0.2.98')
    let send = () => {}
    const isSent = new Promise<void>((resolve) => {
      send = resolve
    })
    const sent: string[] = []
    page.on('request', (request) => sent.push(`${request.method()} ${request.url()}`))
    await page.route('**/assets/*.js', async (route) => {
      await isSent
      await route.continue()
    })
    await page.goto('/login?returnTo=%2Fhealth%2Flive', { waitUntil: 'commit' })
    await page.getByRole('heading', { name: 'Welcome back' }).waitFor()
    await page.getByRole('link', { name: 'Continue with Google' }).waitFor({ state: 'detached' })
    await page.getByLabel('Username or email').fill('lena')
    await page.getByLabel('Password', { exact: true }).fill(goodPassword)
    await page.keyboard.press('Enter')
    const button = page.getByRole('button', { name: 'Sign in' })
    expect(await button.isDisabled()).toBe(true)
    const place = await button.boundingBox()
    const incomplete = page.getByRole('alert').filter({ hasText: 'This page could not load completely.' })
    expect(await incomplete.isVisible()).toBe(false)
    await page.evaluate(() => document.getElementById('not-complete')?.getAnimations()[0]?.finish())
    expect(await incomplete.getByRole('link', { name: 'Reload' }).isVisible()).toBe(true)
    await keepPicture(page, 'login-not-complete')
    // A program may send a form past its button: a password is in no address, whatever happens.
    expect(await page.evaluate(() => document.querySelector('form')?.method)).toBe('post')
    expect(sent.filter((line) => !/\/assets\/|^GET [^?]*\/login\?returnTo/.test(line))).toEqual([])
    send()
    await expect.poll(() => button.isEnabled()).toBe(true)
    expect(await incomplete.count()).toBe(0)
    expect(await button.boundingBox()).toEqual(place)
    await expect.poll(() => focusedField(page)).toBe('password')
    expect(await page.getByLabel('Username or email').inputValue()).toBe('lena')
    expect(await page.getByRole('heading', { level: 1 }).count()).toBe(1)
    await expect
      .poll(() => page.getByRole('link', { name: 'Create an account' }).getAttribute('href'))
      .toBe('/register?returnTo=%2Fhealth%2Flive')
    await page.keyboard.press('Enter')
    await page.waitForURL('**/health/live')
    await leave()
  })

  it('works with the keyboard and password managers, shows a password when asked, and warns of Caps Lock', async () => {
    const { page, leave } = await from('192.0.2.1')
    await page.goto('/login?returnTo=%2Fhealth%2Flive')
    await page.getByLabel('Username or email').waitFor()
    await expect.poll(() => focusedField(page)).toBe('username')
    await expect.poll(() => page.locator('[name=username]').getAttribute('autocomplete')).toBe('username webauthn')
    expect(await page.locator('[name=password]').getAttribute('autocomplete')).toBe('current-password')
    expect(await page.locator('main form').count()).toBe(1)
    for (const [name, off] of Object.entries({ autocorrect: 'off', autocapitalize: 'none', spellcheck: 'false' }))
      expect(await page.locator('[name=username]').getAttribute(name), name).toBe(off)
    await page.keyboard.type(' lena ')
    await page.keyboard.press('Enter')
    await page.getByText('Password is missing.').waitFor()
    await expect.poll(() => focusedField(page)).toBe('password')
    await page.keyboard.press('Shift+Tab')
    await page.keyboard.press('Tab')
    await page.keyboard.insertText(goodPassword)
    await expect.poll(() => page.getByText('Password is missing.').count()).toBe(0)
    await page.keyboard.press('Tab')
    await page.keyboard.press('Enter')
    await expect.poll(() => page.locator('[name=password]').getAttribute('type')).toBe('text')
    await page.locator('[name=password]').dispatchEvent('keydown', { key: 'A', modifierCapsLock: true })
    await page.getByText('Caps Lock is on.').waitFor()
    await page.getByRole('button', { name: 'Hide password' }).press('Shift+Tab')
    await page.keyboard.press('Enter')
    await page.waitForURL('**/health/live')
    await leave()
  })

  it('says what is wrong at the field, also again, and counts down when there were too many tries', async () => {
    const { page, leave } = await from('192.0.2.3')
    await page.goto('/login')
    await page.locator('[type=submit]:enabled').waitFor()
    const said = await listen(page)
    // The focus moves to the first field that is wrong: its error is read with it, and not once more.
    await press(page, 'Sign in')
    await expect.poll(said).toContain('Password is missing.')
    expect((await said()).join()).not.toMatch(/Username or email/)
    const field = page.getByRole('textbox', { name: 'Username or email' })
    expect(await field.evaluate((input) => input === document.activeElement)).toBe(true)
    expect(await descriptionOf(page, 'Username or email')).toBe('Username or email is missing.')
    await fillIn(page, { 'Username or email': 'lena', Password: 'not the password' })
    // A screen reader says it also when the focus stays, and again when it is the same.
    const wrong = 'Password. Username, email or password is incorrect.'
    for (const times of [1, 2]) {
      await page.locator('[name=password]').press('Enter')
      await expect.poll(async () => (await said()).filter((text) => text === wrong).length).toBe(times)
      // The second sentence about the same field does not name it again.
      expect((await said()).join(' ')).not.toContain('Password. Registered')
      await expect.poll(() => page.locator('button[aria-busy]').count()).toBe(0)
    }
    await expect.poll(() => focusedField(page)).toBe('password')
    const data = { username: 'lena', password: 'wrong again' }
    expect((await page.request.post('/api/auth/login', { data })).status()).toBe(401)
    await signIn(page, 'lena', goodPassword)
    await page.getByRole('alert').getByText('Too many sign-in attempts.').waitFor()
    const others = 'You can still use a passkey, continue with Google or GitHub or choose a new password by email.'
    const wait = `Too many sign-in attempts. ${others} Please try again in about 10 minutes.`
    await expect.poll(said).toContain(wait)
    await keepPicture(page, 'login-too-many')
    const timer = page.getByRole('timer')
    const left = await timer.textContent()
    expect(left).toMatch(/^Please try again in (10\smin|9\smin( \d+\ss)?)\.$/)
    await expect.poll(() => timer.textContent()).not.toBe(left)
    await expect.poll(() => page.getByRole('button', { name: 'Sign in' }).getAttribute('aria-disabled')).toBe('true')
    await page.locator('[name=password]').press('Enter')
    await expect.poll(async () => (await said()).filter((text) => text === wait).length).toBe(2)
    await leave()
  })

  it('leads to the change of the password that a password manager asked for', async () => {
    const { page, leave } = await from('192.0.2.8')
    await page.goto('/.well-known/change-password')
    await page.getByText('Sign in to continue.').waitFor()
    await signIn(page, 'lena')
    await page.getByLabel('Current password', { exact: true }).waitFor()
    expect(new URL(page.url()).hash).toBe('#password')
    await expect.poll(() => focusedField(page)).toBe('currentPassword')
    await leave()
  })
})

describe('the switch of languages', () => {
  it('keeps what is typed and the way back, works with the keyboard, and is remembered', async () => {
    const { page, context, leave, faults } = await visit(browser, latchkey, { viewport: { width: 390, height: 800 } })
    await page.goto('/login?returnTo=%2Fhealth%2Flive#part')
    await fillIn(page, { 'Username or email': 'lena', Password: 'another' })
    await press(page, 'Sign in')
    await page.getByText('Username, email or password is incorrect.').waitFor()
    await context.setOffline(true)
    await press(page, 'Español')
    await page.getByRole('status').getByText('The language could not be changed. Check your connection').waitFor()
    await context.setOffline(false)
    const spanish = page.getByRole('button', { name: 'Español' })
    await spanish.focus()
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { name: 'Te damos la bienvenida' }).waitFor()
    await page.getByText('El nombre de usuario, el correo o la contraseña no es correcto.').waitFor()
    expect(await page.getByText('Username, email or password is incorrect.').count()).toBe(0)
    expect(await page.evaluate(() => document.documentElement.lang)).toBe('es')
    expect(await page.title()).toBe('Iniciar sesión · Latchkey')
    expect(await page.getByRole('form', { name: 'Idioma' }).getByRole('button', { pressed: true }).textContent()).toBe(
      'Español',
    )
    expect(await focusedField(page)).toBe('to')
    expect(new URL(page.url()).search).toBe('?returnTo=%2Fhealth%2Flive')
    expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBe(390)
    await keepPicture(page, 'login-es-phone')
    await page.getByLabel('Contraseña', { exact: true }).fill(goodPassword)
    await page.getByRole('button', { name: 'Iniciar sesión', exact: true }).click()
    await page.waitForURL('**/health/live#part')
    await page.goto('/nowhere')
    await page.getByRole('heading', { name: 'Página no encontrada' }).waitFor()
    await page.getByRole('button', { name: 'Deutsch' }).click()
    await page.getByRole('heading', { name: 'Seite nicht gefunden' }).waitFor()
    expect(new URL(page.url()).pathname).toBe('/nowhere')
    expect(await page.getByText('no se ha podido cambiar el idioma').count()).toBe(0)
    expect(faults.filter((fault) => !/404|ERR_INTERNET_DISCONNECTED/.test(fault))).toEqual([])
    await leave()
  })

  it('keeps the token of a mailed link', async () => {
    const { page, leave } = await from('192.0.2.98')
    await page.goto('/forgot-password')
    await press(page, 'Español')
    await page.getByLabel('Nombre de usuario o correo').fill('lena@example.com')
    await page.getByRole('button', { name: 'Enviar el enlace' }).click()
    await page.getByRole('heading', { name: 'Revisa tu correo' }).waitFor()
    await page.goto(linkIn(await latchkey.mailTo('lena@example.com', /Choose a new password/)))
    await page.getByLabel('Nueva contraseña', { exact: true }).fill(goodPassword)
    await press(page, 'Français')
    await page.getByRole('heading', { name: 'Nouveau mot de passe pour lena' }).waitFor()
    await page.reload()
    await page.getByLabel('Nouveau mot de passe', { exact: true }).waitFor()
    await leave()
  })
})

describe('a forgotten password', () => {
  it('is replaced by way of the mail, and the visitor arrives where they were going', async () => {
    const { page, context, leave } = await from('192.0.2.5')
    await page.goto('/login?returnTo=%2Fhealth%2Flive')
    await fillIn(page, { 'Username or email': 'lena@example.com' })
    await page.getByRole('link', { name: 'Forgot password?' }).click()
    await expect.poll(() => page.getByLabel('Username or email').inputValue()).toBe('lena@example.com')
    await fillIn(page, { 'Username or email': 'lina@example.com' })
    await press(page, 'Send the link')
    await page.getByText('If there is an account for lina@example.com').waitFor()
    await expect.poll(() => page.locator('h1:focus').textContent()).toBe('Check your email')
    await expect.poll(() => page.title()).toBe('Check your email · Latchkey')
    await keepPicture(page, 'forgot-password-sent')
    await press(page, 'Enter it again')
    await fillIn(page, { 'Username or email': 'lena' })
    await press(page, 'Send the link')
    await page.getByText('If there is an account for lena,').waitFor()
    const first = linkIn(await latchkey.mailTo('lena@example.com', /reset-password#/))
    await press(page, 'Send the email again')
    await page.getByText('Only the link in the newest email works.').waitFor()
    const newest = async () => linkIn(await latchkey.mailTo('lena@example.com', /reset-password#/))
    await expect.poll(newest).not.toBe(first)
    const link = linkIn(await latchkey.mailTo('lena@example.com', /reset-password#/))
    const mailTab = await context.newPage()
    await mailTab.goto(link)
    await mailTab.getByRole('heading', { name: 'New password for lena' }).waitFor()
    expect(mailTab.url()).toBe(`${latchkey.url}/reset-password`)
    await mailTab.reload()
    await mailTab.getByRole('heading', { name: 'New password for lena' }).waitFor()
    expect(await mailTab.locator('[autocomplete=username]').inputValue()).toBe('lena')
    await fillIn(mailTab, { 'New password': 'password' })
    await press(mailTab, 'Set new password')
    await mailTab.getByText('Still missing: an uppercase letter, a number, a special character, a strength').waitFor()
    await expect.poll(() => mailTab.locator('.password-rules .missed').count()).toBe(4)
    await fillIn(mailTab, { 'New password': 'Quiet+Orchard+48+marble' })
    await press(mailTab, 'Set new password')
    await mailTab.getByText('Your password was changed.').waitFor()
    await press(mailTab, 'Continue')
    // Signed in, on the page that the visitor was going to.
    await mailTab.waitForURL('**/health/live')
    expect((await mailTab.request.get('/api/auth/me')).status()).toBe(200)
    await mailTab.goto(link)
    await mailTab.getByText('This link has expired, was already used, or is incomplete.').waitFor()
    await mailTab.getByRole('heading', { name: 'This link does not work' }).waitFor()
    await mailTab.getByText('only the link in the newest email works.').waitFor()
    await leave()
  })

  // The countdown is that of the login page.
  if (isLongRun)
    it('is under a limit of its own', async () => {
      const { page, leave } = await from('192.0.2.6')
      const data = { email: 'nobody@example.com' }
      for (let tries = 0; tries < 3; tries += 1) {
        const answer = await page.request.post('/api/auth/reset-password', { data })
        expect(answer.ok()).toBe(true)
      }
      await page.goto('/forgot-password')
      await fillIn(page, { 'Username or email': data.email })
      await press(page, 'Send the link')
      await page
        .getByRole('alert')
        .getByText('Too many attempts. You can still use a passkey or continue with Google or GitHub.')
        .waitFor()
      expect(await page.getByRole('timer').textContent()).toMatch(/ in (1\sh|59\smin)\.$/)
      await leave()
    })
})

// openid-ways-back.test.ts has a registration on the way to an application, with the mail in another tab.
if (isLongRun)
  describe('a registration on the way elsewhere', () => {
    it('arrives there in the end', async () => {
      const { page, context, leave } = await from('192.0.2.7')
      await page.goto('/login?returnTo=%2Fhealth%2Flive')
      const link = await page.getByRole('link', { name: 'Create an account' }).getAttribute('href')
      const email = await register(page, 'rita', link ?? '')
      const mailTab = await context.newPage()
      await mailTab.goto(linkIn(await latchkey.mailTo(email)))
      await press(mailTab, 'Confirm my email')
      await mailTab.waitForURL('**/health/live')
      // The tab that waited goes there too. Chromium may hang when it is closed while one of its tabs is on its way.
      await page.waitForURL('**/health/live')
      await leave()
    })
  })

import { mkdtemp, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { operatorClient } from '../../src/http/request-origin.js'
import { type AxeRules, faultsOf } from '../support/axe.js'
import {
  fillIn,
  keepPicture,
  keepsPictures,
  linkIn,
  namedProviders,
  openChromium,
  press,
  registerByRequest,
  signIn,
  visit,
} from '../support/chromium.js'
import { goodPassword, type Latchkey, startLatchkey } from '../support/latchkey.js'
import { inLongRun, isLongRun } from '../support/long-run.js'

/** WCAG 2.2, 1.4.10 asks for the second one. The first begins where pages have the columns of a desk. */
const sizes = {
  wide: keepsPictures ? { width: 1280, height: 900 } : { width: 900, height: 400 },
  narrow: { width: 320, height: 640 },
}

/** Every page, and the states of it that people see. */
const views: Record<string, (page: Page) => Promise<unknown>> = {
  'login-refused': async (page) => {
    await page.goto('/login?error=provider_a_auth_failed&reason=no_email')
    await signIn(page, 'paula', 'not the password')
    await page.getByText('Username, email or password is incorrect.').waitFor()
  },
  register: async (page) => {
    await page.goto('/register')
    await fillIn(page, { Username: 'paula', 'Choose a password': 'Password1' })
    await page.getByText(/^Strength:/).waitFor()
  },
  'login-unconfirmed': async (page) => {
    await page.request.post('/api/auth/register', { data: quinn })
    await page.goto('/login')
    await signIn(page, 'quinn')
    await page.getByRole('button', { name: 'Send the email again' }).waitFor()
  },
  'verify-email': (page) => registerByRequest(page, `paul${Math.random().toString(36).slice(2)}`),
  'verify-email-elsewhere': (page) => page.goto('/verify-email'),
  'verify-email-link': (page) => page.goto(links.confirm),
  'verify-email-expired': (page) => page.goto('/verify-email#token=abc'),
  'forgot-password': (page) => page.goto('/forgot-password'),
  'reset-password': async (page) => {
    await page.goto(links.reset)
    await fillIn(page, { 'New password': goodPassword })
    await page.getByText(/^Strength:/).waitFor()
  },
  'reset-password-expired': (page) => page.goto('/reset-password#token=abc'),
  invite: async (page) => {
    await page.goto(links.invite)
    await page.getByText('The invitation is for this address.').waitFor()
  },
  'invite-refused': (page) => page.goto('/invite#token=abc'),
  'development-mailbox': (page) => page.goto('/dev/mailbox'),
  'development-mail': async (page) => {
    await page.goto('/dev/mailbox')
    await page.locator('.mail').first().click()
    await page.frameLocator('iframe').getByRole('link').first().waitFor()
  },
  'not-found': (page) => page.goto('/no/such/door'),
  dashboard: async (page) => {
    await page.request.post('/api/auth/login', { data: { username: 'paula', password: goodPassword } })
    await page.goto('/dashboard')
    await page.getByText('Hello, paula', { exact: true }).waitFor()
    for (const opened of formsOfAccount) await press(page, opened)
    await page.getByRole('button', { name: 'Delete my account for good' }).waitFor()
  },
}

/** All forms of the account page, open at once. */
const formsOfAccount = [
  'Change name or username',
  'Change the language',
  'Change the email address',
  'Change password',
  'Sign out everywhere',
  'Delete account',
]
const links = { confirm: '', reset: '', invite: '' }
const quinn = { username: 'quinn', email: 'quinn@example.com', password: goodPassword }
let latchkey: Latchkey
let browser: Browser

beforeAll(async () => {
  ;[latchkey, browser] = await Promise.all([startLatchkey({ settings: namedProviders }), openChromium()])
  await latchkey.signedUp('paula')
  const visitor = latchkey.browser()
  await visitor.post('/api/auth/register', quinn)
  links.confirm = linkIn(await latchkey.mailTo(quinn.email))
  await visitor.post('/api/auth/reset-password', { email: 'paula@example.com' })
  await latchkey.app.rooms.invitations.invite(
    { email: 'olga@example.com', key: 'olga@example.com' },
    operatorClient('root'),
  )
  links.invite = linkIn(await latchkey.mailTo('olga@example.com'))
  links.reset = linkIn(await latchkey.mailTo('paula@example.com', /reset-password#/))
})
afterAll(() => latchkey?.stop())

/** Together they have every component: about these, axe is also asked for the colours of both schemes. */
const colourful = ['login-refused', 'register', 'development-mail', 'dashboard']
/** The same card with other words: axe has seen it on another page. */
const variants = [
  'login-unconfirmed',
  'verify-email-elsewhere',
  'verify-email-link',
  'verify-email-expired',
  'reset-password-expired',
  'invite-refused',
  'development-mailbox',
]
const everyView = Object.entries(views)
const viewsOfThisRun = isLongRun || keepsPictures ? everyView : everyView.filter(([name]) => !variants.includes(name))

type Look = { scheme: 'light' | 'dark'; size: keyof typeof sizes; rules?: AxeRules | undefined }

/** The dark scheme changes nothing but colours, and colours do not depend on the size: each size and scheme once. */
const looksOf = (name: string): Look[] => {
  const dark: Look = { scheme: 'dark', size: 'wide', rules: 'colors' }
  if (colourful.includes(name)) return [{ scheme: 'light', size: 'narrow', rules: 'all' }, dark]
  const rules = variants.includes(name) ? undefined : 'structure'
  return [{ scheme: 'light', size: 'narrow', rules }, ...(keepsPictures ? [dark] : [])]
}

const widerThanItsWindow = (page: Page) =>
  page.evaluate(() => document.documentElement.scrollWidth > document.documentElement.clientWidth)

describe('in both schemes', () => {
  // One page for all views: a new one would load everything again.
  let visitor: Awaited<ReturnType<typeof visit>>
  beforeAll(async () => {
    visitor = await visit(browser, latchkey)
  })
  afterAll(() => visitor?.context.close())

  it.each(viewsOfThisRun)('%s can be used by every user, on a phone and on a desk', async (name, act) => {
    const { page, context, faults } = visitor
    await context.clearCookies()
    await act(page)
    await page.getByRole('heading', { level: 1 }).waitFor()
    await page.locator('.skeleton').waitFor({ state: 'detached' })
    for (const { scheme, size, rules } of looksOf(name)) {
      await page.emulateMedia({ colorScheme: scheme })
      await page.setViewportSize(sizes[size])
      await keepPicture(page, `${name}-${size}-${scheme}`)
      if (rules) expect(await faultsOf(page, rules), `${scheme}, ${size}`).toEqual([])
      expect(await widerThanItsWindow(page)).toBe(false)
    }
    expect(faults).toEqual([])
    await page.evaluate(() => [sessionStorage, localStorage].map((storage) => storage.clear()))
  })
})

describe('the looks and words of an operator', () => {
  const theme = {
    light: { accent: '#ffe066', background: '#f2f2fa', line: '#d8d8ea' },
    dark: { background: '#0c0c18', surface: '#151526', raised: '#1e1e33', 'info-background': '#1e1e33' },
    radii: { mark: 2, control: 3, panel: 4, card: 4 },
    fonts: { text: ['DejaVu Serif', 'serif'] },
  }
  const words = {
    en: { pages: { 'login.heading': 'Good to see you at Acme' }, mails: { 'labels.verifyEmail': 'Yes, it is me' } },
  }
  const wordMark = (colour: string) =>
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 300 60" width="300" height="60"><text x="0" y="44" font-size="40" fill="${colour}">Acme &amp; Söhne</text></svg>`

  it('are on every page and in mails, in both schemes, and stay readable', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'latchkey-looks-'))
    const files = { THEME_FILE: join(folder, 'theme.json'), WORDS_FILE: join(folder, 'words.json') }
    await writeFile(files.THEME_FILE, JSON.stringify(theme))
    await writeFile(files.WORDS_FILE, JSON.stringify(words))
    const logo = { PRODUCT_LOGO_URL: '/word.svg', PRODUCT_LOGO_DARK_URL: '/word-dark.svg', PRODUCT_LOGO_SIZE: '300x60' }
    const links = { TERMS_URL: '/terms', SUPPORT_URL: 'mailto:help@example.com' }
    const settings = { ...files, ...logo, ...links, PRODUCT_NAME: 'Acme & Söhne' }
    const theirs = await startLatchkey({ settings })
    const { page, context } = await visit(browser, theirs, { colorScheme: 'light' })
    for (const [name, colour] of Object.entries({ word: '#202040', 'word-dark': '#f0f0ff' }))
      await context.route(`**/${name}.svg`, (route) =>
        route.fulfill({ contentType: 'image/svg+xml', body: wordMark(colour) }),
      )
    await page.goto('/login')
    await page.getByRole('heading', { level: 1, name: 'Good to see you at Acme' }).waitFor()
    expect(await page.title()).toBe('Sign in · Acme & Söhne')
    const brand = page.locator('.brand').getByRole('img', { name: 'Acme & Söhne' })
    expect(await brand.boundingBox()).toMatchObject({ width: 160, height: 32 })
    expect(await page.locator('.brand').innerText()).toBe('')
    for (const [colorScheme, size, shown, rules] of [
      ['light', 'narrow', '/word.svg', 'colors'],
      ['dark', 'wide', '/word-dark.svg', 'colors'],
    ] as const) {
      await page.emulateMedia({ colorScheme })
      await page.setViewportSize(sizes[size])
      await expect
        .poll(() => brand.evaluate((image: HTMLImageElement) => new URL(image.currentSrc).pathname))
        .toBe(shown)
      await keepPicture(page, `own-looks-login-${colorScheme}`)
      expect(await faultsOf(page, rules), colorScheme).toEqual([])
    }
    const styleOf = (name: 'fontFamily' | 'backgroundColor') =>
      page.evaluate((each) => getComputedStyle(document.body)[each], name)
    expect(await styleOf('backgroundColor')).toBe('rgb(12, 12, 24)')
    expect(await styleOf('fontFamily')).toBe('"DejaVu Serif", serif')

    await registerByRequest(page, 'ruth')
    await page.goto('/dev/mailbox')
    await page.locator('.mail').first().click()
    await page.frameLocator('iframe').getByRole('link', { name: 'Yes, it is me' }).waitFor()
    // The frame is as high as the mail.
    const mail = page.frameLocator('iframe').locator('html')
    expect(await mail.evaluate(({ scrollHeight }) => scrollHeight <= innerHeight)).toBe(true)
    await keepPicture(page, 'own-looks-mail-dark')
    expect(await faultsOf(page, 'colors')).toEqual([])
    const examples = {
      'device/en#WDJB-MJHT': 'Let Wiki sign in?',
      'consent/en': 'Continue to Wiki?',
      'end-session/en': 'Sign out?',
      'mail-sign-in-code/en': 'Check your email',
    }
    for (const [example, heading] of Object.entries(examples).slice(0, inLongRun(undefined, 1))) {
      await page.goto(`/dev/preview/pages/${example}`)
      if (example.startsWith('device')) await press(page, 'Next')
      await page.getByRole('heading', { name: heading, exact: true }).waitFor()
    }
    await context.close()
    await theirs.stop()
  })
})

describe('in forced colours', () => {
  it('a field that is wrong is marked by more than its colour, and the main button by its fill', async () => {
    const { page, leave } = await visit(browser, latchkey, { forcedColors: 'active' })
    await page.goto('/login')
    await fillIn(page, { 'Username or email': 'paula' })
    await press(page, 'Sign in')
    await page.getByText('is missing.').first().waitFor()
    await keepPicture(page, 'login-forced-colours')
    const widthOf = (name: string) =>
      page.locator(`[name=${name}]`).evaluate((field) => Number.parseFloat(getComputedStyle(field).borderTopWidth))
    await expect.poll(() => widthOf('password')).toBeGreaterThan((await widthOf('username')) + 1)
    await expect.poll(() => page.locator('.field-errors svg:visible').count()).toBe(1)
    const fillOf = (name: string) =>
      page.getByRole('button', { name }).evaluate((button) => getComputedStyle(button).backgroundColor)
    expect(await fillOf('Sign in')).not.toBe(await fillOf('Use a passkey'))
    await leave()
  })

  it('the focus of the keyboard stays visible on everything that can have it', async () => {
    const { page, leave } = await visit(browser, latchkey, { forcedColors: 'active' })
    await page.goto('/register')
    await page.getByRole('heading', { level: 1 }).waitFor()
    await page.getByLabel('Username', { exact: true }).focus()
    const outlines: string[] = []
    for (let step = 0; step < 9; step += 1) {
      outlines.push(
        await page.evaluate(() => {
          const focused = document.activeElement ?? document.body
          const { outlineStyle, outlineWidth } = getComputedStyle(focused)
          return `${focused.localName} ${outlineStyle} ${outlineWidth}`
        }),
      )
      await page.keyboard.press('Tab')
    }
    expect(outlines.filter((outline) => !outline.endsWith(' solid 2px'))).toEqual([])
    expect(new Set(outlines.map((outline) => outline.split(' ')[0]))).toEqual(new Set(['input', 'button', 'a']))
    await leave()
  })
})

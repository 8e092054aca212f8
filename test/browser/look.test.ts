import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { operatorClient } from '../../src/domain/sessions/client.js'
import { colorRules, faultsOf } from '../support/axe.js'
import {
  fillIn,
  keepPicture,
  linkIn,
  namedProviders,
  openChromium,
  press,
  registerByRequest,
  signIn,
  visit,
} from '../support/chromium.js'
import { goodPassword, type Latchkey, startLatchkey } from '../support/latchkey.js'

const sizes = { wide: { width: 1280, height: 900 }, narrow: { width: 360, height: 740 } }

/** Every page, and the states of it that people see. */
const views: Record<string, (page: Page) => Promise<unknown>> = {
  login: (page) => page.goto('/login'),
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
    await page.getByRole('heading', { name: 'Hello, paula' }).waitFor()
    await press(page, 'Change password')
    await press(page, 'Sign out everywhere')
  },
}

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
  await latchkey.app.nouns.invitations.invite(
    { email: 'olga@example.com', key: 'olga@example.com' },
    operatorClient('root'),
  )
  links.invite = linkIn(await latchkey.mailTo('olga@example.com'))
  links.reset = linkIn(await latchkey.mailTo('paula@example.com', /reset-password#/))
})
afterAll(() => latchkey?.stop())

/** The dark scheme changes nothing but colours, and colours do not depend on the size: each size and scheme once. */
const looks: { scheme: 'light' | 'dark'; size: keyof typeof sizes; rules?: string[] }[] = [
  { scheme: 'light', size: 'narrow' },
  { scheme: 'dark', size: 'wide', rules: colorRules },
]

const widerThanItsWindow = (page: Page) =>
  page.evaluate(() => document.documentElement.scrollWidth > document.documentElement.clientWidth)

describe('in both schemes', () => {
  // One page for all views: a new one would load everything again.
  let visitor: Awaited<ReturnType<typeof visit>>
  beforeAll(async () => {
    visitor = await visit(browser, latchkey)
  })
  afterAll(() => visitor?.context.close())

  it.each(Object.entries(views))('%s can be used by every user, on a phone and on a desk', async (name, act) => {
    const { page, context, faults } = visitor
    await context.clearCookies()
    await act(page)
    await page.getByRole('heading', { level: 1 }).waitFor()
    for (const { scheme, size, rules } of looks) {
      await page.emulateMedia({ colorScheme: scheme })
      await page.setViewportSize(sizes[size])
      await keepPicture(page, `${name}-${size}-${scheme}`)
      expect(await faultsOf(page, rules), `${scheme}, ${size}`).toEqual([])
      expect(await widerThanItsWindow(page)).toBe(false)
    }
    await page.setViewportSize({ width: 320, height: 640 })
    expect(await widerThanItsWindow(page)).toBe(false)
    expect(faults).toEqual([])
    await page.evaluate(() => [sessionStorage, localStorage].map((storage) => storage.clear()))
  })
})

describe('an accent of the operator', () => {
  // src/lib/accent.test.ts holds this for every colour.
  it('stays readable', async () => {
    const theirs = await startLatchkey({ settings: { ACCENT_COLOR: '#ffe066', PRODUCT_NAME: 'Acme & Söhne' } })
    const { page, context } = await visit(browser, theirs, { colorScheme: 'light' })
    await page.goto('/login')
    await page.getByRole('heading', { level: 1 }).waitFor()
    await expect.poll(() => page.title()).toBe('Sign in · Acme & Söhne')
    for (const colorScheme of ['light', 'dark'] as const) {
      await page.emulateMedia({ colorScheme })
      expect(await faultsOf(page, colorRules), colorScheme).toEqual([])
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
    await page.getByText('Please fill in this field.').waitFor()
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

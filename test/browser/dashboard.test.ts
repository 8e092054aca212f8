import type { Browser, BrowserContextOptions, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import {
  fillIn,
  keepPicture,
  listen,
  namedProviders,
  openChromium,
  signIn,
  visit,
  visitAs,
} from '../support/chromium.js'
import { goodPassword, type Latchkey, startLatchkey } from '../support/latchkey.js'
import { inLongRun } from '../support/long-run.js'

let latchkey: Latchkey
let browser: Browser

beforeAll(async () => {
  ;[latchkey, browser] = await Promise.all([startLatchkey({ settings: namedProviders }), openChromium()])
  await latchkey.signedUp('ruth')
  const login = { username: 'ruth', password: goodPassword }
  for (let times = 0; times < 6; times += 1) await latchkey.browser().post('/api/auth/login', login)
})
afterAll(() => latchkey?.stop())

const open = async (options: BrowserContextOptions = {}) => {
  const visitor = await visitAs(browser, latchkey, 'ruth', options)
  await visitor.page.goto('/dashboard')
  await visitor.page.locator('.account:not(.frame)').waitFor()
  return visitor
}

/** What has the focus, as a listener hears it: its label or its text. */
const focused = (page: Page) =>
  page.evaluate(() => {
    const { activeElement: element } = document
    if (element === null || element === document.body) return 'nothing'
    return element.getAttribute('aria-label') ?? element.getAttribute('name') ?? element.textContent
  })
const enter = async (page: Page, name: string) => {
  await page.getByRole('button', { name, exact: true }).focus()
  await page.keyboard.press('Enter')
}
const expectFocus = (page: Page, what: string | RegExp) => expect.poll(() => focused(page)).toMatch(what)

const groupsOn = (page: Page) => page.locator('dl > div', { has: page.locator('dt', { hasText: /^Groups$/ }) })

/** How much of the window has moved by itself (Cumulative Layout Shift), until nothing more was asked for. */
const shiftOn = async (page: Page, path: string) => {
  await page.addInitScript(() => {
    const shifts = { sum: 0 }
    Object.assign(window, { shifts })
    new PerformanceObserver((list) => {
      for (const entry of list.getEntries()) shifts.sum += (entry as PerformanceEntry & { value: number }).value
    }).observe({ type: 'layout-shift', buffered: true })
  })
  await page.goto(path)
  await page.waitForLoadState('networkidle')
  return page.evaluate(() => (window as unknown as { shifts: { sum: number } }).shifts.sum)
}

describe('the dashboard', () => {
  it.each([
    { width: 1280, height: 800 },
    { width: 390, height: 844 },
  ])('does not jump while it loads, at $width pixels', async (viewport) => {
    const { context, page, leave } = await visitAs(browser, latchkey, 'ruth', { viewport })
    // What the service has to say comes when the frame has been seen.
    await context.route('**/api/auth/account', async (route) => {
      await new Promise((resolve) => setTimeout(resolve, 200))
      await route.continue()
    })
    expect(await shiftOn(page, '/dashboard')).toBeLessThan(0.02)
    await leave()
  })

  it('keeps the focus of a keyboard where the next thing is', async () => {
    const { page, leave } = await open()
    expect(await groupsOn(page).count()).toBe(0)
    const focusedButton = () => page.locator('button:focus').textContent()
    for (const close of inLongRun(['Escape', 'Cancel'], ['Escape'])) {
      await enter(page, 'Sign out everywhere')
      await page.getByRole('button', { name: 'Yes, sign out everywhere' }).waitFor()
      const question = page.getByRole('group', { name: 'This ends every session, including this one.' })
      await expect.poll(() => question.and(page.locator(':focus')).count()).toBe(1)
      if (close === 'Escape') await page.keyboard.press('Escape')
      else await enter(page, close)
      await expect.poll(focusedButton).toBe('Sign out everywhere')

      await enter(page, 'Change password')
      await expectFocus(page, /^currentPassword$/)
      await page.getByRole('button', { name: 'Show password (New password)' }).waitFor()
      if (close === 'Escape') await page.keyboard.press('Escape')
      else await enter(page, close)
      await expect.poll(focusedButton).toBe('Change password')
    }

    await enter(page, 'Show all activity')
    await expect.poll(() => page.locator('.event-list li:nth-child(6):focus').count()).toBe(1)
    await enter(page, 'Show less activity')
    await expect.poll(() => page.locator('.event-list li').count()).toBe(5)
    expect(await page.locator('button:focus').textContent()).toBe('Show all activity')

    await page
      .getByRole('button', { name: /^Sign out .+, / })
      .first()
      .focus()
    const said = await listen(page)
    await page.keyboard.press('Enter')
    await expect.poll(said).toContain('That device is signed out.')
    await expectFocus(page, /^Where you are signed in$/)
    await leave()
  })
})

describe('the way around the account', () => {
  const heading = (page: Page) =>
    page.evaluate(() => (document.activeElement?.matches('h2, h3') ? document.activeElement.textContent : undefined))

  it('is the navigation, the line about what is to do, and an address for each part, also over a sign-in', async () => {
    const { page, context, leave } = await open()
    const links = page.getByRole('navigation', { name: 'Your account' })
    const top = (id: string) => page.locator(`#${id}`).evaluate((part) => Math.abs(part.getBoundingClientRect().top))
    for (const [link, title, id] of [
      ['Devices', 'Devices and activity', 'devices'],
      ['Profile', 'Profile', 'profile'],
    ] as const) {
      await links.getByRole('link', { name: link, exact: true }).click()
      await expect.poll(() => heading(page)).toBe(title)
      expect(await top(id)).toBeLessThan(80)
      await expect.poll(() => links.locator('[aria-current]').allTextContents()).toEqual([link])
    }
    await page.getByText('You have one way to sign in.').waitFor()
    await page.getByRole('link', { name: 'Add a passkey.' }).click()
    await expect.poll(() => heading(page)).toBe('Passkeys')

    await context.clearCookies()
    await page.goto('/health/live')
    await page.goto('/dashboard#trusted-browsers')
    await page.waitForURL('**/login**')
    await signIn(page, 'ruth')
    // This account trusts no browser.
    await expect.poll(() => heading(page)).toBe('Devices and activity')
    expect(await top('devices')).toBeLessThan(80)
    expect(new URL(page.url()).hash).toBe('#trusted-browsers')
    await leave()
  })

  it('shows five devices, all of them, and five again; and says what is said of them only once', async () => {
    const { page, leave } = await open()
    const devices = page.locator('.session-list li')
    const count = (await latchkey.sql.query('select 1 from sessions')).length
    expect(await devices.count()).toBe(5)
    await enter(page, `Show all ${count} devices`)
    await expect.poll(() => devices.count()).toBe(count)
    await expect.poll(() => page.locator('.session-list li:nth-child(6):focus').count()).toBe(1)
    await enter(page, 'Show fewer devices')
    await expect.poll(() => devices.count()).toBe(5)
    expect(await page.locator('button:focus').textContent()).toBe(`Show all ${count} devices`)

    for (const opens of ['Change name or username', 'Change the email address', 'Change password', 'Delete account'])
      await enter(page, opens)
    const tools = await page.context().newCDPSession(page)
    const { nodes } = await tools.send('Accessibility.getFullAXTree')
    const named = (...roles: string[]) =>
      nodes.filter(({ role }) => roles.includes(role?.value)).flatMap(({ name }) => name?.value || [])
    expect(named('region').length).toBeGreaterThan(8)
    expect(named('group').length).toBeGreaterThan(2)
    const all = [...new Set(named('region')), ...new Set(named('group')), ...new Set(named('button'))]
    expect(all.filter((name, at) => all.indexOf(name) !== at)).toEqual([])
    await leave()
  })
})

/** Also a long text: it has most of the width, and neither its beginning nor its button is outside of the window. */
const expectRoomWithLargeLetters = async (page: Page) => {
  await page.evaluate(() => {
    document.documentElement.style.setProperty('font-size', '200%')
    const text = document.querySelector('.toast .notice p')
    if (text) text.textContent = 'Somewhat longer sentences '.repeat(20)
  })
  await keepPicture(page, 'message-large-letters')
  const [notice, text, button] = await Promise.all(
    ['.notice', '.notice p', '.close-notice'].map((part) => page.locator(`.toast ${part}`).boundingBox()),
  )
  expect(notice?.y).toBeGreaterThanOrEqual(0)
  expect((notice?.y ?? 0) + (notice?.height ?? 0)).toBeLessThanOrEqual(640)
  expect(button?.y).toBeGreaterThanOrEqual(0)
  expect(text?.width).toBeGreaterThan(240)
}

describe('a message on a phone', () => {
  it('covers no button at the end of the page, and can be closed', async () => {
    const { page, leave } = await open({ viewport: { width: 360, height: 640 } })
    await page.route('**/api/auth/export', (route) => route.abort())
    const closes = {
      button: () => page.getByRole('button', { name: 'Close this message' }).press('Enter'),
      Escape: () => page.keyboard.press('Escape'),
    }
    for (const [name, close] of Object.entries(closes)) {
      await enter(page, 'Download your data')
      const message = page.getByText('The service cannot be reached.')
      await message.waitFor()
      await page.evaluate(() => scrollTo(0, document.documentElement.scrollHeight))
      await keepPicture(page, `message-${name}`)
      const [last, toast] = await Promise.all([
        page.locator('.panel').last().boundingBox(),
        page.locator('.toast .notice').boundingBox(),
      ])
      expect((last?.y ?? 0) + (last?.height ?? 0)).toBeLessThanOrEqual(toast?.y ?? 0)
      if (name === 'Escape') await expectRoomWithLargeLetters(page)
      await close()
      await expect.poll(() => message.count()).toBe(0)
      if (name === 'button') await expectFocus(page, /^Download your data$/)
    }
    await leave()
  })
})

describe('an account that cannot be loaded', () => {
  it('shows what is there, offers to try again, and can be left', async () => {
    const { page, leave } = await visitAs(browser, latchkey, 'ruth')
    const path = (name: string) => `**/api/auth/${name}`
    await page.route(path('account'), (route) => route.fulfill({ status: 500, json: {} }), { times: 1 })
    await page.route(path('sessions'), (route) => route.fulfill({ status: 500, json: {} }))
    await page.route(path('factors'), (route) => route.fulfill({ status: 503, json: {} }))
    await page.goto('/dashboard')
    await page.getByRole('heading', { level: 1, name: 'Your account' }).waitFor()
    await keepPicture(page, 'not-loaded')
    await page.getByRole('button', { name: 'Try again' }).click()
    await page.getByText('Hello, ruth', { exact: true }).waitFor()
    for (const name of ['Passkeys', 'Two-step sign-in', 'Where you are signed in'])
      await page.getByRole('region', { name }).getByText('This part could not be loaded.').waitFor()
    await page.getByRole('heading', { name: 'Recent activity' }).waitFor()
    await keepPicture(page, 'parts-not-loaded')
    for (const name of ['sessions', 'factors']) await page.unroute(path(name))
    await page.getByRole('button', { name: 'Try again' }).first().click()
    await page.getByText('This device').waitFor()
    await page.getByRole('button', { name: 'Switch on' }).waitFor()
    expect(await page.getByText('This part could not be loaded.').count()).toBe(0)
    await expect.poll(() => page.locator('h1:focus').count()).toBe(1)

    // A part that cannot be loaded again stays as it was.
    await page.route(path('sessions'), (route) => route.fulfill({ status: 500, json: {} }))
    await page.getByRole('button', { name: 'Change name or username' }).click()
    await fillIn(page, { Name: 'Ruth' })
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByText('Hello, Ruth', { exact: true }).waitFor()
    await page.getByText('This device').waitFor()
    await page.unroute(path('sessions'))

    await page.route(path('account'), (route) => route.fulfill({ status: 500, json: {} }))
    await page.reload()
    await page.getByRole('heading', { level: 1, name: 'Your account' }).waitFor()
    await page.getByRole('button', { name: 'Sign out', exact: true }).click()
    await page.waitForURL('**/login?notice=signed_out')
    await leave()
  })
})

describe('a long name', () => {
  it('stands beside the button that signs out, and no button is printed', async () => {
    const name = 'Ruth Anastasia von und zu Hohenlohe-Schillingsfürst-Waldenburg '.repeat(3).trim()
    await latchkey.sql.query("update users set name = $1 where username = 'ruth'", [name])
    const { page, leave } = await open({ viewport: { width: 900, height: 400 } })
    const greeting = page.getByText('Hello, Ruth Anastasia')
    await greeting.waitFor()
    const [heading, button] = await Promise.all([
      page.locator('.page-title > div').boundingBox(),
      page.getByRole('button', { name: 'Sign out', exact: true }).boundingBox(),
    ])
    expect(button?.y).toBeLessThan((heading?.y ?? 0) + 10)
    await keepPicture(page, 'long-name')
    await page.emulateMedia({ media: 'print' })
    await keepPicture(page, 'printed')
    expect(await page.locator('.button:visible').count()).toBe(0)
    await latchkey.sql.query("update users set name = null where username = 'ruth'")
    await page.emulateMedia({ media: 'screen' })
    await leave()
  })
})

/** An extension or a style sheet of the reader enlarges the letters of the page alone. Media queries do not see that. */
describe('letters that the reader has enlarged on the page itself', () => {
  it.each(inLongRun(['fr-FR', 'de-DE'], ['de-DE']))('fit without scrolling sideways (%s)', async (locale) => {
    const { page, leave } = await open({ locale, viewport: { width: 320, height: 640 } })
    await page
      .getByText(locale === 'de-DE' ? /^Jetzt aktiv/ : /^Utilisation en cours/)
      .first()
      .waitFor()
    await page.locator('#password button').click()
    await page.locator('[name=newPassword]').fill('Password1')
    await page.locator('#delete').getByRole('button').click()
    await page.locator('.button.danger').waitFor()
    for (const size of ['150%', '200%']) {
      await page.evaluate((fontSize) => document.documentElement.style.setProperty('font-size', fontSize), size)
      await keepPicture(page, `enlarged-${size}-${locale}`)
      const tooWide = await page.evaluate(() =>
        [...document.querySelectorAll('main :not(.section-links *)')]
          .filter((element) => element.getBoundingClientRect().right > document.documentElement.clientWidth)
          .map(({ localName, className, textContent }) => `${localName}.${className} ${textContent}`),
      )
      expect(tooWide, size).toEqual([])
    }
    await leave()
  })
})

describe('letters twice as large on a small phone', () => {
  it.each(inLongRun(['en-GB', 'de-DE', 'fr-FR'], ['de-DE']))('fit without scrolling sideways (%s)', async (locale) => {
    const options = { locale, viewport: { width: 320, height: 640 } }
    const { page, context } = await visitAs(browser, latchkey, 'ruth', options)
    const tools = await context.newCDPSession(page)
    await tools.send('Page.setFontSizes', { fontSizes: { standard: 32 } })
    const look = async (name: string) => {
      await page.getByRole('heading', { level: 1 }).waitFor()
      expect(await page.evaluate(() => getComputedStyle(document.documentElement).fontSize)).toBe('32px')
      await keepPicture(page, `large-${name}-${locale}`)
      const width = await page.evaluate(() => {
        const { scrollWidth, clientWidth } = document.documentElement
        return { scrollWidth, clientWidth }
      })
      expect(width.scrollWidth, name).toBeLessThanOrEqual(width.clientWidth)
    }
    await page.goto('/dashboard')
    await page.locator('.account:not(.frame)').waitFor()
    await look('dashboard')
    // Icons grow with the letters.
    expect((await page.locator('.session-list .row-icon svg').first().boundingBox())?.width).toBe(40)
    await context.clearCookies()
    await page.goto('/register')
    await page.locator('[name=password]').fill('Password1')
    await look('register')
    await context.close()
  })
})

describe('a new password whose strength cannot be checked', () => {
  it('is told so, and does not look finished', async () => {
    const { page, leave } = await visit(browser, latchkey)
    await page.route('**/api/auth/password-strength', (route) => route.abort())
    await page.goto('/register')
    await fillIn(page, { 'Choose a password': 'Password1!' })
    await page.getByText('The strength could not be checked.').waitFor()
    const colours = await page.evaluate(() =>
      ['.password-rules .met', '.password-rules'].map(
        (part) => getComputedStyle(document.querySelector(part) ?? document.body).color,
      ),
    )
    expect(colours[0]).toBe(colours[1])
    await leave()
  })
})

// The last one: a clock cannot be taken out of a browser again.
describe('an account that is being loaded', () => {
  it('says when the account is there, with this device first and the groups of the user, if there are any', async () => {
    const { page, context } = await visitAs(browser, latchkey, 'ruth')
    await latchkey.sql.query("update users set groups = '{admins,staff}' where username = 'ruth'")
    const answers: (() => void)[] = []
    await page.route('**/api/auth/account', async (route) => {
      await new Promise<void>((resolve) => answers.push(resolve))
      await route.continue()
    })
    // The clock of the browser is ten minutes ahead.
    await page.clock.setFixedTime(Date.now() + 10 * 60_000)
    await page.goto('/dashboard')
    await page.getByText('Loading your account…').waitFor()
    const said = await listen(page)
    for (const answer of answers) answer()
    await expect.poll(said).toContain('Your account is loaded.')
    await expect.poll(() => groupsOn(page).locator('dd').allTextContents()).toEqual(['admins', 'staff'])
    const first = page.locator('.session-list li').first()
    await first.getByText('This device').waitFor()
    expect(await first.textContent()).toContain('Active now')
    await context.close()
  })
})

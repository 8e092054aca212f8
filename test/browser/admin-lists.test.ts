import { text } from 'node:stream/consumers'
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { unregisteredSentence } from '../../src/applications/applications.js'
import { phone } from '../support/admin-looks.js'
import { signedUpInGroup } from '../support/administrators.js'
import { addApplication } from '../support/applications.js'
import { faultsOf } from '../support/axe.js'
import { focusedName, keepPicture, listen, openChromium, press, visit } from '../support/chromium.js'
import { type Latchkey, startLatchkey } from '../support/latchkey.js'

const wide = { width: 1280, height: 800 }
const names = ['ada', 'ben', 'lena', 'kim', 'mia', 'maria', 'paul']

let latchkey: Latchkey
let browser: Browser
let visitor: Awaited<ReturnType<typeof visit>>
let page: Page

beforeAll(async () => {
  ;[latchkey, browser] = await Promise.all([startLatchkey({ settings: { ADMIN_GROUP: 'admins' } }), openChromium()])
  for (const name of names) await latchkey.signedUp(name)
  const application = await addApplication(latchkey, { name: 'Notes' })
  const wrong = unregisteredSentence('redirect_uri', 'https://notes.example.com/other', application.redirectAddresses)
  latchkey.app.rooms.applicationErrors.note(application, 'redirect_address', wrong)
  await latchkey.browser().post('/api/auth/login', { username: 'ada', password: 'not the password' })
  const { tab } = await signedUpInGroup(latchkey, 'grace', 'admins')
  visitor = await visit(browser, latchkey, { viewport: wide })
  page = visitor.page
  const attributes = { url: latchkey.url, httpOnly: true, sameSite: 'Strict' as const }
  await visitor.context.addCookies([...tab.jar].map(([name, value]) => ({ name, value, ...attributes })))
})
afterAll(async () => {
  await visitor?.context.close()
  await latchkey?.stop()
})

const show = async (fragment: string) => {
  await page.goto(`/api/auth/admin${fragment}`)
  await page.getByRole('navigation').waitFor()
}
const rows = () => page.locator('tbody tr:not(.day)')
const usernames = () => page.locator('.list tbody th a').allTextContents()

/** In both schemes, for an eye, and for axe. */
const looksRight = async (name: string) => {
  for (const colorScheme of ['light', 'dark'] as const) {
    await page.emulateMedia({ colorScheme })
    await keepPicture(page, `admin-${name}-${colorScheme}`)
  }
  expect(await faultsOf(page), name).toEqual([])
  const overflow = () => document.documentElement.scrollWidth - document.documentElement.clientWidth
  expect(await page.evaluate(overflow), name).toBeLessThanOrEqual(0)
}

it.each([wide, { width: 390, height: 844 }])('does not jump while it loads, at $width pixels', async (viewport) => {
  await page.setViewportSize(viewport)
  await page.addInitScript(() => {
    const shifts = { sum: 0 }
    Object.assign(window, { shifts })
    new PerformanceObserver((list) => {
      for (const entry of list.getEntries()) shifts.sum += (entry as PerformanceEntry & { value: number }).value
    }).observe({ type: 'layout-shift', buffered: true })
  })
  await page.route('**/admin/api/overview', async (route) => {
    await new Promise((resolve) => setTimeout(resolve, 200))
    await route.continue()
  })
  await page.goto('/health/live')
  await show('')
  await page.getByText('What needs attention').waitFor()
  await page.waitForLoadState('networkidle')
  expect(await page.evaluate(() => (window as unknown as { shifts: { sum: number } }).shifts.sum)).toBeLessThan(0.02)
  await page.unroute('**/admin/api/overview')
})

it('has the users in the order in which people read them, and turns it around', async () => {
  await page.setViewportSize(wide)
  await show('')
  const said = await listen(page)
  await page.getByRole('navigation').getByRole('link', { name: 'Users' }).click()
  await expect.poll(said).toContain('Users: 8')
  expect(await usernames()).toEqual(['ada', 'ben', 'grace', 'kim', 'lena', 'maria', 'mia', 'paul'])
  const head = page.getByRole('columnheader', { name: 'User', exact: true })
  expect(await head.getAttribute('aria-sort')).toBe('ascending')
  await head.getByRole('button').click()
  await expect.poll(usernames).toEqual(['paul', 'mia', 'maria', 'lena', 'kim', 'grace', 'ben', 'ada'])
  expect(await head.getAttribute('aria-sort')).toBe('descending')
  await page.getByRole('columnheader', { name: 'Created' }).getByRole('button').click()
  await expect.poll(usernames).toEqual([...names, 'grace'])
  await looksRight('users-1280')
  const saidBefore = (await said()).length
  await page.getByLabel('Search', { exact: true }).fill('nobody is called this')
  await page.getByRole('button', { name: 'Show everything' }).waitFor()
  await expect.poll(said).toContain('Nothing is found.')
  await press(page, 'Show everything')
  await expect.poll(async () => (await said()).slice(saidBefore)).toContain('Users: 8')
  const saving = page.waitForEvent('download')
  await press(page, 'Export as CSV')
  const saved = await text(await (await saving).createReadStream())
  expect(saved).toMatch(/^username,email,.*\r\nada,ada@example.com,/)
  expect(saved.trim().split('\r\n')).toHaveLength(9)
})

it('shows a user beside the list, which stays, and goes back to the row', async () => {
  await show('#users?search=m')
  await expect.poll(usernames).toEqual(['maria', 'mia'])
  // Anywhere in the row.
  await rows().filter({ hasText: 'mia@example.com' }).locator('td').last().click({ force: true })
  await page.getByRole('heading', { level: 1, name: 'mia' }).waitFor()
  await page.getByText('Nothing here keeps this user from signing in.').waitFor()
  expect(await usernames()).toEqual(['maria', 'mia'])
  await looksRight('user-1280')
  const said = await listen(page)
  await page.getByRole('link', { name: 'maria' }).click()
  await page.getByRole('heading', { level: 1, name: 'maria' }).waitFor()
  await expect.poll(() => focusedName(page)).toBe('maria')
  // The heading had another name when it took the focus.
  await expect.poll(said).toContain('maria')
  await page.keyboard.press('Escape')
  await expect.poll(() => page.locator('.drawer').count()).toBe(0)
  await expect.poll(() => page.evaluate(() => document.activeElement?.tagName)).toBe('A')
  expect(await focusedName(page)).toBe('maria')
  expect(new URL(page.url()).hash).toBe('#users?search=m')
  expect(await page.title()).toContain('Users')
})

it('has rows of two lines on a phone, each a link that a finger can press', async () => {
  await page.setViewportSize(phone)
  await show('#users')
  await page.getByText('Users: 8', { exact: true }).waitFor()
  const heights = await rows().evaluateAll((all) => all.map((each) => each.getBoundingClientRect().height))
  expect(Math.min(...heights)).toBeGreaterThanOrEqual(44)
  expect(Math.max(...heights)).toBeLessThan(80)
  // Nothing says that a line could be scrolled, so all of them are in the window.
  const tabs = await page
    .locator('.frame nav a')
    .evaluateAll((all) =>
      all.map((each) => each.getBoundingClientRect()).map(({ left, right, height }) => ({ left, right, height })),
    )
  expect(tabs).toHaveLength(8)
  for (const { left, right, height } of tabs) {
    expect(left).toBeGreaterThanOrEqual(0)
    expect(right).toBeLessThanOrEqual(390)
    expect(height).toBeGreaterThanOrEqual(44)
  }
  await page.getByLabel('Order').selectOption('The newest first')
  await expect.poll(usernames).toEqual(['grace', ...names.toReversed()])
  await looksRight('users-390')
})

it('finds users, groups, applications, settings and pages with one key', async () => {
  await page.setViewportSize(wide)
  await show('')
  await page.getByText('What needs attention').waitFor()
  await page.keyboard.press('/')
  const field = page.getByRole('combobox', { name: 'Search everywhere' })
  await field.waitFor()
  // An option would be read in the place of the field.
  expect(await field.getAttribute('aria-activedescendant')).toBe(null)
  const said = await listen(page)
  await page.keyboard.type('note')
  await page.getByRole('option', { name: /Notes/ }).waitFor()
  await expect.poll(said).toContain('Found: 1.')
  await page.keyboard.press('Control+A')
  await page.route('**/admin/api/users?*', async (route) => {
    await new Promise((resolve) => setTimeout(resolve, 500))
    await route.continue()
  })
  await page.keyboard.type('maria')
  await page.getByRole('option', { name: /maria@example.com/ }).waitFor()
  await expect.poll(async () => (await said()).at(-1)).toBe('Found: 1.')
  // Nothing is said before the answer is there.
  expect(await said()).not.toContain('Nothing is found.')
  await page.unroute('**/admin/api/users?*')
  await looksRight('search-1280')
  const chosen = page.getByRole('listbox').getByRole('option', { selected: true })
  for (let at = 0; at < 9 && !(await chosen.innerText()).includes('maria'); at += 1)
    await page.keyboard.press('ArrowDown')
  await page.keyboard.press('Enter')
  await page.getByRole('heading', { level: 1, name: 'maria' }).waitFor()
  await page.keyboard.press('Control+K')
  await field.fill('second')
  await page.getByRole('option', { name: /Second factor/ }).waitFor()
  await page.keyboard.press('Escape')
  await expect.poll(() => field.count()).toBe(0)
})

it('leads from a number into the events, which have one line each below their day', async () => {
  await show('')
  await page.getByRole('link', { name: /^Failed sign-ins/ }).click()
  await page.getByRole('heading', { level: 1, name: 'Events' }).waitFor()
  await expect.poll(() => rows().count()).toBe(1)
  expect(await page.locator('tr.day').count()).toBe(1)
  const height = await rows()
    .first()
    .evaluate((row) => row.getBoundingClientRect().height)
  expect(height).toBeLessThan(40)
  await page.getByRole('button', { name: 'Failed sign-in' }).click()
  await page.getByText('sign_in_failed: wrong_password').waitFor()
  await press(page, 'Failed sign-in')
  await page.getByLabel('What happened').selectOption({ label: 'Everything' })
  await expect.poll(() => rows().count()).toBeGreaterThan(5)
  await looksRight('events-1280')
  await page.setViewportSize(phone)
  await looksRight('events-390')
  await page.setViewportSize(wide)
})

it('compares with the days before, for a range of one’s own too', async () => {
  await show('#overview')
  await page.getByLabel('Period').selectOption({ label: 'The last 7 days' })
  await page.getByText('compared with the 7 days before').first().waitFor()
  await looksRight('overview-1280')
  await page.setViewportSize(phone)
  await looksRight('overview-390')
  await page.setViewportSize(wide)
})

it('says in the language of the page what an application has done wrong', async () => {
  await page.goto('/api/auth/admin?ui_locales=de#applications')
  await page.getByText('Die Adresse https://notes.example.com/other ist nicht eingetragen.').waitFor()
  expect(await page.locator('main').innerText()).not.toContain('`')
  for (const language of ['de', 'fr']) {
    await page.goto(`/api/auth/admin?ui_locales=${language}#users`)
    await rows().first().waitFor()
    const tops = await page
      .locator('.frame-self > *')
      .evaluateAll((all) => all.map((each) => each.getBoundingClientRect()))
    // One line: each ends below the top of every other.
    expect(Math.max(...tops.map(({ top }) => top))).toBeLessThan(Math.min(...tops.map(({ bottom }) => bottom)))
    await looksRight(`users-${language}-1280`)
  }
  await visitor.context.clearCookies({ name: 'latchkey_language' })
})

import { text } from 'node:stream/consumers'
import type { Browser, Page, Request } from 'playwright-core'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { languages } from '#contract/languages.js'
import { hours, minutes, seconds } from '../../src/lib/durations.js'
import { desk, hasReadableColors, isFineOnPhone, keepPicturesIn, phone } from '../support/admin-looks.js'
import { idOf, leaveGroup, signedUpInGroup } from '../support/administrators.js'
import { addApplication } from '../support/applications.js'
import { faultsOf } from '../support/axe.js'
import {
  countRoles,
  fillIn,
  focusedField,
  focusedName,
  keepPicture,
  keepsPictures,
  listen,
  openChromium,
  press,
  tabTo,
  visit,
} from '../support/chromium.js'
import { type Latchkey, startLatchkey } from '../support/latchkey.js'
import { everyField, profileFieldsFile } from '../support/profile-fields.js'

type Member = Awaited<ReturnType<typeof signedUpInGroup>>

let latchkey: Latchkey
let browser: Browser
let grace: Member
let sam: Member
/** One tab for all tests, at last with the session of sam: another screen in it costs no new page. */
let graces: Awaited<ReturnType<typeof visit>>
let adaId: string
let file: Awaited<ReturnType<typeof profileFieldsFile>>

beforeAll(async () => {
  file = await profileFieldsFile(everyField.filter(({ required }) => !required))
  const settings = { ADMIN_GROUP: 'admins', SUPPORT_GROUP: 'helpdesk', PROFILE_FIELDS_FILE: file.path }
  ;[latchkey, browser] = await Promise.all([startLatchkey({ settings }), openChromium()])
  grace = await signedUpInGroup(latchkey, 'grace', 'admins')
  sam = await signedUpInGroup(latchkey, 'sam', 'helpdesk')
  for (const username of ['ada', 'adrian', 'barbara']) await latchkey.signedUp(username)
  adaId = await idOf(latchkey, 'ada')
  await latchkey.browser().post('/api/auth/login', { username: 'ada', password: 'not the password' })
  await addApplication(latchkey, { name: 'Notes' })
  graces = await visit(browser, latchkey, { viewport: desk })
  await graces.context.addCookies(cookiesOf(grace))
  await show(graces.page, '')
  await heading(graces.page, 'Overview')
})
afterAll(async () => {
  await graces?.context.close()
  await latchkey?.stop()
  await file?.remove()
})

/** The session of the member, which this browser has from now on. */
const cookiesOf = ({ tab }: Member) =>
  [...tab.jar].map(([name, value]) => ({
    name,
    value,
    url: latchkey.url,
    httpOnly: true,
    sameSite: 'Strict' as const,
  }))

/** Another screen of the page that is open. */
const show = (page: Page, fragment: string) => page.goto(`/api/auth/admin${fragment}`)

const heading = (page: Page, name: string | RegExp) => page.getByRole('heading', { level: 1, name }).waitFor()
const go = async (page: Page, screen: string) => {
  await page.getByRole('navigation').getByRole('link', { name: screen }).click()
  await heading(page, screen)
}
/** The rows of a table, without its head. */
const rows = (page: Page) => page.locator('tbody tr:not(.day)')

it('shows every screen, on a phone too, and in colours that can be read', async () => {
  const { page, faults } = graces
  await page.getByText('What needs attention').waitFor()
  expect(await page.locator('.plot-line').count()).toBe(3)
  await hasReadableColors(page, 'overview')
  await page.setViewportSize(phone)
  await isFineOnPhone(page, 'overview')
  await page.setViewportSize({ width: 360, height: phone.height })
  for (const language of [...languages.filter((each) => each !== 'en'), 'en']) {
    await page.locator(`.languages button[lang=${language}]`).click()
    await expect.poll(() => page.evaluate(() => document.documentElement.lang)).toBe(language)
    expect(await smallestGap(page), language).toBeGreaterThan(2)
    await keepPicture(page, `admin-plot-${language}-360`)
  }
  await graces.context.clearCookies({ name: 'latchkey_language' })
  await page.getByText('Show the numbers').click()
  const table = page.getByRole('table', { name: 'Sign-ins and users' })
  expect(await table.getByRole('row').count()).toBe(31)
  // Today, of those that signed up and failed above.
  expect(await table.getByRole('row').nth(1).getByRole('cell').last().textContent()).toBe('5')

  const screens: Record<string, () => Promise<unknown>> = {
    Users: () => page.getByRole('link', { name: 'ada', exact: true }).waitFor(),
    Invitations: () => page.getByText('No invitation is open.').waitFor(),
    Groups: () => page.getByRole('rowheader', { name: 'helpdesk' }).waitFor(),
    Applications: () => page.getByRole('link', { name: 'Notes' }).waitFor(),
    Events: () => rows(page).filter({ hasText: 'Failed sign-in' }).waitFor(),
  }
  for (const [screen, isThere] of Object.entries(screens)) {
    await go(page, screen)
    await isThere()
    expect(await page.title()).toContain(screen)
    await isFineOnPhone(page, screen.toLowerCase())
  }
  await show(page, `#users/${adaId}`)
  await heading(page, 'ada')
  await page.getByText('Newest events').waitFor()
  await isFineOnPhone(page, 'user')
  await page.setViewportSize(desk)
  expect(faults).toEqual([])
})

/** Between the dates below the plot, in pixels. */
const smallestGap = (page: Page) =>
  page.evaluate(() => {
    const dates = [...document.querySelectorAll('.plot-lines svg > text')].map((each) => each.getBoundingClientRect())
    return Math.min(...dates.slice(1).map(({ left }, index) => left - (dates[index]?.right ?? 0)))
  })

/** By the keyboard alone. */
const enter = async (page: Page, name: string, key?: 'Shift+Tab') => {
  await tabTo(page, name, key)
  await page.keyboard.press('Enter')
}
const isFocused = (page: Page, name: string) => expect.poll(() => focusedName(page)).toBe(name)

it('finds a user and disables the account with the keyboard alone, and comes back to the same row', async () => {
  const { page } = graces
  // From another screen: from a user, the way to the list would lead to their row.
  await show(page, '#groups')
  await show(page, '#users')
  await isFocused(page, 'Users')
  await tabTo(page, 'Search')
  await page.keyboard.type('ad')
  await expect.poll(() => rows(page).count()).toBe(2)
  await page.keyboard.type('a@')
  await expect.poll(() => rows(page).count()).toBe(1)
  await page.reload()
  await expect.poll(() => rows(page).count()).toBe(1)
  await enter(page, 'ada')
  await heading(page, 'ada')
  await isFocused(page, 'ada')
  await page.getByText('Nothing here keeps this user from signing in.').waitFor()
  await latchkey.advance(20 * minutes)

  const said = await listen(page)
  await enter(page, 'Disable…')
  const dialog = page.getByRole('dialog', { name: 'Disable ada?' })
  await dialog.getByText('The user gets an email that the account was disabled.').waitFor()
  await expect.poll(() => focusedField(page)).toBe('reason')
  await page.keyboard.press('Escape')
  await dialog.waitFor({ state: 'detached' })
  await isFocused(page, 'Disable…')
  await page.keyboard.press('Enter')
  await expect.poll(() => focusedField(page)).toBe('reason')
  // A screen reader needs a moment to know the new dialog.
  const sendEmpty = () => page.keyboard.press('Enter').then(said)
  await expect.poll(sendEmpty).toContain('Reason is missing.')
  expect(await faultsOf(page)).toEqual([])
  await page.keyboard.type('Left the company')
  await keepPicture(page, 'admin-disable')
  await page.keyboard.press('Enter')
  await expect.poll(() => focusedField(page)).toBe('code')
  await page.keyboard.type(grace.authenticator.code())
  await page.keyboard.press('Enter')
  await page.getByText('The account is disabled.').waitFor()
  await isFocused(page, 'Enable…')
  await expect.poll(said).toContain('ada is disabled.')
  await latchkey.mailTo('ada@example.com', /disabled/)
  const event = rows(page).filter({ has: page.locator('strong', { hasText: 'Account disabled' }) })
  expect(await event.textContent()).toMatch(/Left the company.*grace/s)

  await enter(page, 'Back to the list', 'Shift+Tab')
  await heading(page, 'Users')
  await isFocused(page, 'ada')
  expect(await page.getByLabel('Search').inputValue()).toBe('ada@')
  await page.keyboard.press('Enter')
  await heading(page, 'ada')
  await press(page, 'Enable the account…')
  await press(page, 'Enable')
  await page.getByText('Nothing here keeps this user from signing in.').waitFor()
  await page.goBack()
  await isFocused(page, 'ada')
})

it('shows the answer to the newest search, also when that to an older one comes later', async () => {
  const { page } = graces
  await show(page, '#users')
  const isOlder = (request: Request) => (request.postData() ?? '').includes('"search":"ad"')
  let release = () => {}
  const held = new Promise<void>((resolve) => {
    release = resolve
  })
  await page.route('**/users/search', async (route) => {
    if (isOlder(route.request())) await held
    await route.continue()
  })
  const asked = page.waitForRequest(isOlder)
  const answered = page.waitForResponse((response) => isOlder(response.request()))
  await page.getByLabel('Search').fill('ad')
  await asked
  await page.getByLabel('Search').fill('barbara')
  await expect.poll(() => rows(page).count()).toBe(1)
  release()
  await (await answered).finished()
  await page.evaluate(() => new Promise((resolve) => setTimeout(resolve, 100)))
  expect(await rows(page).count()).toBe(1)
  await page.unroute('**/users/search')
})

it('keeps tables and the place in them on a phone', async () => {
  const { page } = graces
  await page.setViewportSize({ width: phone.width, height: 300 })
  await show(page, '#users')
  await isFocused(page, 'Users')
  await expect.poll(() => rows(page).count()).toBe(5)
  const count = await countRoles(page)
  expect(['table', 'row', 'columnheader', 'rowheader'].map(count)).toEqual([1, 6, 6, 5])
  const last = rows(page).last().getByRole('link')
  const name = String(await last.textContent())
  await last.focus()
  const height = await page.evaluate(() => scrollY)
  expect(height).toBeGreaterThan(0)
  await page.keyboard.press('Enter')
  await heading(page, name)
  await enter(page, 'Back to the list', 'Shift+Tab')
  await isFocused(page, name)
  // Less than half a row away.
  expect(Math.abs((await page.evaluate(() => scrollY)) - height)).toBeLessThan(20)
  await page.setViewportSize(desk)
  await show(page, '#users/00000000-0000-4000-8000-000000000000')
  await page.getByText('This does not exist any more.').waitFor()
})

it('locks an account down and deletes another, whose username is typed', async () => {
  const { page } = graces
  await show(page, `#users/${adaId}`)
  await page.getByRole('button', { name: 'Lock down…' }).click()
  await page.getByLabel('Reason').fill('Stolen laptop')
  let send = () => {}
  const isSent = new Promise<void>((resolve) => {
    send = resolve
  })
  await page.route('**/lock-down', async (route) => {
    await isSent
    await route.continue()
  })
  await press(page, 'Lock down')
  await page.locator('dialog [aria-busy=true]').waitFor()
  // Nothing calls a request back, so its dialog stays until the answer.
  await page.keyboard.press('Escape')
  await page.keyboard.press('Escape')
  expect(await page.getByRole('dialog').count()).toBe(1)
  send()
  await page.getByText('ada is locked down.').waitFor()
  await page.getByText('The user is signed in nowhere.').waitFor()
  // With the columns of a large screen, the user is shown beside the list, and the message in front of both.
  await page.setViewportSize({ width: 1280, height: 400 })
  const covering = () =>
    page.locator('.toast .notice').evaluate((notice) => {
      const { left, right, top, height } = notice.getBoundingClientRect()
      return [left + 20, right - 20].map(
        (x) => document.elementFromPoint(x, top + height / 2)?.closest('.notice') === notice,
      )
    })
  await expect.poll(covering).toEqual([true, true])
  await page.setViewportSize(desk)

  await show(page, `#users/${await idOf(latchkey, 'adrian')}`)
  await heading(page, 'adrian')
  await expect.poll(() => page.getByText('ada is locked down.').count()).toBe(0)
  await page.getByRole('button', { name: 'Delete…' }).click()
  const typed = page.getByLabel('To confirm, type the username: adrian')
  await typed.fill('ada')
  await press(page, 'Delete')
  await page.getByText('This is not the username of this account.').waitFor()
  await typed.fill('adrian')
  await press(page, 'Delete')
  await heading(page, 'Users')
  await page.getByText('adrian is deleted.').waitFor()
  await expect.poll(() => page.getByRole('link', { name: 'adrian' }).count()).toBe(0)
})

it('manages groups, invitations and who may use an application', async () => {
  const { page } = graces
  await show(page, '#groups')
  await isFocused(page, 'Groups')
  const said = await listen(page)
  await enter(page, 'New group…')
  await expect.poll(() => focusedField(page)).toBe('name')
  // A touch keyboard would begin a name with a capital, which no group has.
  expect(await page.getByLabel('Name of the group').getAttribute('autocapitalize')).toBe('none')
  await page.keyboard.type('Staff')
  await page.keyboard.press('Enter')
  await page.getByText('Begin with a lower-case letter').waitFor()
  await page.keyboard.press('Control+A')
  await page.keyboard.type('staff')
  await page.keyboard.press('Enter')
  await expect.poll(said).toContain('The group staff is there.')
  await isFocused(page, 'New group…')

  await show(page, `#users/${await idOf(latchkey, 'barbara')}`)
  await page.getByRole('button', { name: 'Add to a group…' }).click()
  await page.getByRole('dialog', { name: 'Add barbara to a group' }).waitFor()
  await press(page, 'Add')
  await expect.poll(() => focusedField(page)).toBe('group')
  await page.getByRole('dialog').getByLabel('Group', { exact: true }).selectOption('admins')
  await page.getByText('Its members are administrators').waitFor()
  await press(page, 'Add')
  await expect.poll(() => focusedField(page)).toBe('reason')
  await page.getByRole('dialog').getByLabel('Group', { exact: true }).selectOption('staff')
  await expect.poll(() => page.getByLabel('Reason').count()).toBe(0)
  await press(page, 'Add')
  await page.getByRole('button', { name: 'Remove from staff' }).waitFor()
  await go(page, 'Groups')
  await page.getByRole('link', { name: 'Members of staff: 1' }).click()
  await expect.poll(() => rows(page).count()).toBe(1)
  expect(await page.getByLabel('Group', { exact: true }).inputValue()).toBe('staff')
  await page.context().setOffline(true)
  await page.getByLabel('State', { exact: true }).selectOption('Disabled')
  await page.getByText('The service cannot be reached.').waitFor()
  expect(await rows(page).count()).toBe(1)
  await page.context().setOffline(false)
  await press(page, 'Try again')
  await page.getByText('No user is found.').waitFor()
  expect(await page.getByText('The service cannot be reached.').count()).toBe(0)
  await page.getByLabel('State', { exact: true }).selectOption('All')
  await page.getByRole('link', { name: 'barbara' }).click()
  await page.getByRole('button', { name: 'Change further details…' }).click()
  await page.getByLabel('Staff number').fill('42')
  await page.getByLabel('Website').fill('javascript:alert(1)')
  await press(page, 'Save')
  await page.getByText('Please enter an address that begins with https://').waitFor()
  await page.getByLabel('Website').fill('https://example.com/b')
  await press(page, 'Save')
  await page.getByText('The details of barbara are saved.').waitFor()
  await page.getByText('https://example.com/b', { exact: true }).waitFor()
  expect(await page.getByRole('link', { name: 'https://example.com/b' }).count()).toBe(0)

  await go(page, 'Invitations')
  await page.getByRole('button', { name: 'Invite a user…' }).click()
  await fillIn(page, { Email: 'new@example.com' })
  await page.getByLabel('staff').check()
  await keepPicture(page, 'admin-invite')
  const wantedPage = page.getByLabel('Page to go to afterwards')
  await wantedPage.fill('https://evil.example')
  await press(page, 'Send the invitation')
  await expect.poll(() => wantedPage.getAttribute('aria-invalid')).toBe('true')
  await wantedPage.fill('/wiki')
  await press(page, 'Send the invitation')
  const invitations = page.getByRole('row').filter({ hasText: 'new@example.com' })
  await invitations.filter({ hasText: 'Administrator' }).getByText('/wiki').waitFor()
  // A program invites the same address. Only who has made an invitation sends it again.
  const program = { ip: '', userAgent: '', actor: { serviceKey: 'shop', protectedGroups: [] } }
  const invited = { email: 'new@example.com', key: 'new@example.com' }
  await latchkey.app.rooms.invitations.invite(invited, program, { invitedBy: 'Ada of Acme' })
  await go(page, 'Groups')
  await go(page, 'Invitations')
  const ofProgram = invitations.filter({ hasText: 'Service key shop' })
  await ofProgram.getByText('Ada of Acme').waitFor()
  expect(await page.getByRole('button', { name: 'Send the invitation of new@example.com again' }).count()).toBe(1)
  await keepPicture(page, 'admin-invitations')
  for (const row of [ofProgram, invitations]) {
    await row.getByRole('button', { name: 'Withdraw the invitation of new@example.com' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Withdraw' }).click()
    await row.first().waitFor({ state: 'detached' })
  }
  await page.getByText('No invitation is open.').waitFor()

  // An address that has got enough mails for the day does not hold up an invitation of another one.
  await latchkey.sql.query(
    `insert into outgoing_mail (id, recipient_key, kind, created_at)
     select gen_random_uuid(), 'full@example.com', 'invitation', now() from generate_series(1, 5)`,
  )
  await page.getByRole('button', { name: 'Invite a user…' }).click()
  await fillIn(page, { Email: 'full@example.com' })
  await press(page, 'Send the invitation')
  await page.getByText('This address has got as many of these emails').waitFor()
  await fillIn(page, { Email: 'next@example.com' })
  await press(page, 'Send the invitation')
  await page.getByRole('button', { name: 'Withdraw the invitation of next@example.com' }).waitFor()

  await go(page, 'Applications')
  await page.getByRole('link', { name: 'Notes' }).click()
  await page.getByText('https://notes.example.com/callback').waitFor()
  await page.getByRole('button', { name: 'Change who may use it…' }).click()
  const whoMayUse = page.getByRole('group', { name: 'Who may use Notes?' })
  await whoMayUse.getByLabel('Only members of these groups').check()
  await page.getByRole('group', { name: 'Only members of these groups' }).getByLabel('staff').check()
  await page.getByLabel('Reason').fill('For the staff only')
  await keepPicture(page, 'admin-access')
  await press(page, 'Save')
  await page.getByText('It is saved who may use Notes.').waitFor()
  await page
    .getByRole('listitem')
    .filter({ hasText: /^staff$/ })
    .waitFor()
  const ofDevices = page.locator('.facts > div', { hasText: 'Devices without a browser may sign in' })
  expect(await ofDevices.count()).toBe(0)
  const native = { kind: 'native', home: 'tv.example:/', redirectAddresses: ['tv.example:/cb'] } as const
  await addApplication(latchkey, { name: 'Television', ...native, deviceFlow: true })
  await go(page, 'Applications')
  await page.getByRole('link', { name: 'Television' }).click()
  expect(await ofDevices.locator('dd').textContent()).toBe('Yes')
  if (keepsPictures)
    for (const language of languages.filter((each) => each !== 'en')) await keepPicturesIn(language, page, adaId)
})

it('filters, follows and saves events', async () => {
  const { page } = graces
  await show(page, '#events')
  await page.getByLabel('What happened').selectOption({ label: 'Failures and limits' })
  await expect.poll(() => rows(page).count()).toBe(1)
  await rows(page).getByTitle('wrong_password').getByText('Wrong password').waitFor()
  expect(await rows(page).locator('time').getAttribute('title')).toMatch(/ (UTC|GMT\S*|[A-Z]{3,4})$/)
  await page.getByLabel('User', { exact: true }).fill('barbara')
  await page.getByText('No event is found.').waitFor()
  await page.getByLabel('Network address').fill('192.')
  await page.getByText('Please check what you entered').waitFor()
  await page.getByLabel('Network address').fill('')
  await page.getByText('No event is found.').waitFor()
  await page.clock.install()
  await page.getByLabel('Follow').check()
  await latchkey.browser().post('/api/auth/login', { username: 'barbara', password: 'not the password' })
  await page.clock.runFor(5 * seconds)
  await page.getByText('New events: 1').waitFor()
  await page.clock.resume()

  const saving = page.waitForEvent('download')
  await press(page, 'Export as CSV')
  const saved = await text(await (await saving).createReadStream())
  expect(saved).toMatch(/^createdAt,kind,.*\r\n[^\r]*,sign_in_failed,.*,barbara,/)
})

it('leads to a proof that is older than eight hours, and back to the same screen', async () => {
  const { page, context } = graces
  await show(page, '#events?kind=mails')
  await heading(page, 'Events')
  await latchkey.advance(9 * hours)
  await page.reload()
  await page.waitForURL('**/step-up?factors=2**')
  await page.getByLabel('Code from the app, or a recovery code').fill(grace.authenticator.code())
  await press(page, 'Confirm')
  await page.waitForURL('**/api/auth/admin#events?kind=mails')
  await heading(page, 'Events')

  await context.clearCookies()
  await page.reload()
  await page.waitForURL('**/login?**')
})

it('lets the support help users, and offers nothing that they may not do', async () => {
  await sam.prove()
  const { page, context } = graces
  await context.addCookies(cookiesOf(sam))
  await show(page, `#users/${grace.id}`)
  await page.getByText('Only administrators can change the account of an administrator.').waitFor()
  expect(
    await page.getByRole('button', { name: /^(Sign out everywhere|Disable|Delete|Add to a group|Remove)/ }).count(),
  ).toBe(0)
  await page.getByText('Support', { exact: true }).waitFor()
  for (const [screen, offer] of Object.entries({ Groups: 'New group…', Invitations: 'Invite a user…' })) {
    await go(page, screen)
    expect(await page.getByRole('button', { name: offer }).count()).toBe(0)
  }
  // It was locked down above.
  await show(page, `#users/${adaId}`)
  await page.getByText('Only an administrator can give it back to its owner.').waitFor()
  expect(await page.getByRole('button', { name: /^Enable/ }).count()).toBe(0)
  await show(page, `#users/${sam.id}`)
  await page.getByText('This is your own account.').waitFor()

  await leaveGroup(latchkey, sam.id, 'helpdesk')
  await page.getByRole('navigation').getByRole('link', { name: 'Events' }).click()
  await heading(page, 'No longer an administrator')
  await page.reload()
  await heading(page, 'Page not found')
})

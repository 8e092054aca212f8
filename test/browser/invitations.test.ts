import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { openRoomsForCommand } from '../../src/commands/open-for-commands.js'
import { fillIn, keepPicture, linkIn, openChromium, press, visit } from '../support/chromium.js'
import { goodPassword, type Latchkey, startLatchkey } from '../support/latchkey.js'
import { isLongRun } from '../support/long-run.js'
import { startProviders, startService, type TestProviders } from '../support/providers/test-providers.js'
import { latchkey as run } from '../support/terminal.js'

const secret = 'c6M0xkq2Vw9nYb4RtL8sHd3PzJ7gFa5EuN1oKi0WvTqXyBmCrGhSlDjZfUeApIxO'
let providers: TestProviders
let latchkey: Latchkey
let browser: Browser
beforeAll(async () => {
  providers = await startProviders()
  ;[latchkey, browser] = await Promise.all([
    startService(providers, { REGISTRATION: 'invited', JWT_SECRET: secret }),
    openChromium(),
  ])
})
afterAll(async () => {
  await latchkey?.stop()
  await providers?.close()
})

const invite = (...args: string[]) =>
  run({ openRooms: (role) => openRoomsForCommand(latchkey.config, role) }, ['invite', ...args])

/** Invites from the command line, and returns the link of the mail. The operator's is another one. */
const invited = async (email: string, ...more: string[]) => {
  const { code, out, err } = await invite(email, ...more)
  expect([code, err]).toEqual([0, ''])
  latchkey.app.rooms.mails.nudge()
  const link = linkIn(await latchkey.mailTo(email))
  expect(out).not.toContain(link)
  return link
}

it('an operator invites, and the person registers with the address of the invitation', async () => {
  const { page, leave, faults } = await visit(browser, latchkey)
  await page.goto('/login')
  await page.getByRole('link', { name: 'Create an account' }).click()
  await page.getByText('You need an invitation to create an account here.').waitFor()
  await expect.poll(() => page.getByLabel('Username', { exact: true }).count()).toBe(0)
  await keepPicture(page, 'register-invited')

  const link = await invited('ada@example.com')
  await page.goto(link)
  const email = page.getByLabel('Email', { exact: true })
  await expect.poll(() => email.inputValue()).toBe('ada@example.com')
  expect(await email.isEditable()).toBe(false)
  expect(page.url()).toBe(`${latchkey.url}/invite`)
  // Opening it uses nothing up.
  await page.reload()
  await fillIn(page, { Username: 'ada', 'Choose a password': `${goodPassword} ` })
  await page.getByText('This password begins or ends with a space.').waitFor()
  await fillIn(page, { 'Choose a password': goodPassword })
  await press(page, 'Create account')
  // The link of the mail has proven the address.
  await page.waitForURL('**/dashboard')
  expect((await page.request.get('/api/auth/me')).status()).toBe(200)
  await page.goto(link)
  await page.getByText('You are signed in, and need no invitation.').waitFor()
  // The page knows who is signed in, and does not ask again.
  await page.route('**/api/auth/me', (route) => route.fulfill({ status: 503, json: {} }))
  await page.goto(await invited('cleo@example.com'))
  await page.getByText('This invitation is for the address cleo@example.com.').waitFor()
  await keepPicture(page, 'invite-signed-in')
  await page.unroute('**/api/auth/me')
  await press(page, 'Sign out and use the invitation')
  await page.getByText('The invitation is for this address.').waitFor()
  expect((await invite('--revoke', 'cleo@example.com')).code).toBe(0)
  // Signed out, with the link that was used.
  await page.goto('/health/live')
  await page.goto(link)
  await page.getByText('This invitation does not work.').waitFor()
  expect(faults).toEqual([])
  await leave()
})

it('who has an account signs in, comes back, joins the groups and lands on the page of the inviter', async () => {
  const { groups } = latchkey.app.rooms
  await groups.add('acme', { ip: 'command line', userAgent: 'root' })
  await latchkey.signedUp('dee')
  const wishes = ['--group', 'acme', '--invited-by', 'Ada of Acme', '--return-to', '/api/auth/account-page#names']
  const link = await invited('dee@example.com', ...wishes)
  const { page, leave, faults } = await visit(browser, latchkey)
  await page.goto(link)
  await page.getByText('Ada of Acme invites you. To join acme, sign in with the account').waitFor()
  await keepPicture(page, 'invite-sign-in')
  await page.getByRole('link', { name: 'Sign in' }).click()
  await fillIn(page, { 'Username or email': 'dee', Password: goodPassword })
  await press(page, 'Sign in')
  await page.getByText('Ada of Acme invites you. Join acme as dee?').waitFor()
  expect(new URL(page.url()).pathname).toBe('/invite')
  await keepPicture(page, 'invite-join')
  expect((await latchkey.app.rooms.users.findByLogin('dee'))?.groups).toEqual([])
  await press(page, 'Join')
  await page.waitForURL('**/api/auth/account-page#names')
  await page.getByText('acme', { exact: true }).waitFor()
  await page.getByText('Groups added: acme', { exact: true }).waitFor()
  // The tokens of this browser have the group already.
  expect((await page.request.get('/api/auth/verify?group=acme')).status()).toBe(204)
  await page.goto('/invite')
  await page.waitForURL('**/dashboard')

  // Somebody else is signed in: the page says for whom the link is.
  await latchkey.signedUp('fin')
  await page.goto(await invited('fin@example.com', ...wishes))
  await page.getByText('You are signed in as dee. This invitation is for the address fin@example.com.').waitFor()
  await press(page, 'Sign out and use the invitation')
  await page.getByText('sign in with the account that has the address fin@example.com').waitFor()
  expect((await invite('--revoke', 'fin@example.com')).code).toBe(0)
  expect(faults).toEqual([])
  await leave()
})

it('a new user lands on the page of the inviter', async () => {
  const wishes = ['--invited-by', 'Ada of Acme', '--return-to', '/api/auth/account-page#names']
  const link = await invited('gil@example.com', ...wishes)
  const { page, leave } = await visit(browser, latchkey)
  await page.goto(link)
  await page.getByText('Ada of Acme invites you. Choose a password').waitFor()
  await fillIn(page, { Username: 'gil', 'Choose a password': goodPassword })
  await press(page, 'Create account')
  await page.waitForURL('**/api/auth/account-page#names')
  await leave()
})

it('another person takes the invitation with a provider, which must know the invited address', async () => {
  providers.issuer.become({ sub: 'subject-eve', email: 'eve@example.com', name: 'Eve Example' })
  const link = await invited('bea@example.com', '--language', 'de')
  expect((await latchkey.mailTo('bea@example.com')).subject).toBe('Einladung zu Latchkey')
  const { page, leave } = await visit(browser, latchkey)
  const continueAt = async () => {
    await page.goto(link)
    await page.getByText('use an account with the address bea@example.com').waitFor()
    await page.getByRole('link', { name: 'Continue with Google' }).click()
  }
  if (isLongRun) {
    await continueAt()
    await page.getByText('a new one needs an invitation for the address that Google has of you').waitFor()
  }
  providers.issuer.become({ sub: 'subject-bea', email: 'bea@example.com', name: 'Bea Example' })
  await continueAt()
  await page.getByText('Hello, Bea Example', { exact: true }).waitFor()
  await leave()
})

it('where registration is closed, no page offers it', async () => {
  const closed = await startLatchkey({ settings: { REGISTRATION: 'closed', SUPPORT_URL: 'mailto:help@example.com' } })
  const { page, leave } = await visit(browser, closed)
  await page.goto('/login')
  await page.getByRole('button', { name: 'Sign in', exact: true }).waitFor()
  expect(await page.getByRole('link', { name: 'Create an account' }).count()).toBe(0)
  await page.goto('/register')
  await page.getByText('Registration is closed. Ask your administrator for an account.').waitFor()
  const help = page.getByRole('link', { name: 'help@example.com' })
  await expect.poll(() => help.getAttribute('href')).toBe('mailto:help@example.com')
  await expect.poll(() => page.title()).toBe('Registration is closed · Latchkey')
  expect(await page.locator('main form, .provider-buttons').count()).toBe(0)
  await leave()
  await closed.stop()
})

it('the command lists and withdraws invitations, and says what it did not do', async () => {
  expect(await invite('--list')).toMatchObject({ code: 0, out: 'There are no open invitations.\n' })
  expect(await invite('ada@example.com')).toMatchObject({ code: 1, err: expect.stringContaining('has an account') })
  expect(await invite('no address')).toMatchObject({ code: 1, err: expect.stringContaining('must be an address') })
  for (const wrong of [
    [],
    ['--language', 'xx', 'a@example.com'],
    ['--list', '--revoke', 'a@example.com'],
    ['--list', 'x'],
  ])
    expect(await invite(...wrong)).toMatchObject({ code: 2, out: '' })
  const made = await invite('Cy@example.com', '--json')
  expect(JSON.parse(made.out)).toEqual({
    email: 'Cy@example.com',
    groups: [],
    link: expect.stringMatching(new RegExp(`^${latchkey.url}/invite#token=[\\w-]{43}$`)),
    expiresAt: expect.any(String),
  })
  expect(JSON.parse((await invite('--list', '--json')).out)).toMatchObject({ email: 'Cy@example.com' })
  expect((await invite('--list')).out).toMatch(
    /^EMAIL +INVITED +EXPIRES +GROUPS +MADE BY .*\nCy@example\.com +2.* command line/,
  )
  expect(await invite('--revoke', 'cy@EXAMPLE.com')).toMatchObject({ code: 0 })
  expect(await invite('--revoke', 'cy@example.com')).toMatchObject({ code: 1, out: '' })
  const recorded = await latchkey.sql.query<{ kind: string; marked: boolean }>(
    `select kind, name_mark is not null as marked from events where kind in ('user_invited', 'invitation_revoked') order by id`,
  )
  expect(recorded.map(({ kind, marked }) => `${kind} ${marked}`)).toEqual([
    ...['user_invited true', 'user_invited true', 'invitation_revoked true'],
    ...['user_invited true', 'user_invited true', 'invitation_revoked true'],
    ...['user_invited true', 'user_invited true', 'user_invited true', 'invitation_revoked true'],
  ])
  // A command is listed with the others, and its address stays out of the log.
  expect(JSON.stringify(await latchkey.sql.query('select * from events'))).not.toMatch(/@example\.com/i)
})

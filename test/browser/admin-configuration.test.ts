import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { minutes } from '../../src/lib/durations.js'
import { looksRight as looksRightOn } from '../support/admin-looks.js'
import { signedUpInGroup } from '../support/administrators.js'
import { fillIn, openChromium, press, visit } from '../support/chromium.js'
import { type Latchkey, startLatchkey } from '../support/latchkey.js'

const wide = { width: 1280, height: 800 }

let latchkey: Latchkey
let browser: Browser
let grace: Awaited<ReturnType<typeof signedUpInGroup>>
let visitor: Awaited<ReturnType<typeof visit>>
let page: Page

beforeAll(async () => {
  const settings = { ADMIN_GROUP: 'admins', MAIL_SIGN_IN: 'on', TERMS_URL: 'https://example.com/terms' }
  ;[latchkey, browser] = await Promise.all([startLatchkey({ settings }), openChromium()])
  grace = await signedUpInGroup(latchkey, 'grace', 'admins')
  visitor = await visit(browser, latchkey, { viewport: wide })
  page = visitor.page
  const attributes = { url: latchkey.url, httpOnly: true, sameSite: 'Strict' as const }
  await visitor.context.addCookies([...grace.tab.jar].map(([name, value]) => ({ name, value, ...attributes })))
  await page.goto('/api/auth/admin#applications')
})
afterAll(async () => {
  await visitor?.context.close()
  await latchkey?.stop()
})

const heading = (name: string) => page.getByRole('heading', { level: 1, name }).waitFor()

const looksRight = (name: string) => looksRightOn(page, name)

it('adds an application in three steps, with its secret and the lines to paste', async () => {
  await page.getByText('There is no application yet.').waitFor()
  await looksRight('applications-empty')
  await page.getByRole('link', { name: 'Add an application…' }).click()
  await heading('What is it?')
  await fillIn(page, { Name: 'Grafana' })
  await page.getByLabel('Kind of program').selectOption('Grafana')
  await looksRight('add-1')
  await press(page, 'Next')
  await heading('Where is it?')
  await page.getByLabel('Start page').fill('ftp://grafana.example.com')
  await press(page, 'Next')
  await heading('Who may use it?')
  await page.getByLabel('Only members of these groups').check()
  await press(page, 'Add it')
  await page.getByText('Choose at least one group, or everyone.').waitFor()
  await page.getByLabel('admins').check()
  await latchkey.advance(6 * minutes)
  await press(page, 'Add it')
  // A proof of six minutes ago is too old for this.
  await page.getByRole('dialog').getByLabel('Code from the app').fill(grace.authenticator.code())
  await page.keyboard.press('Enter')
  await page.getByRole('dialog').waitFor({ state: 'detached' })
  await page.getByText('This address cannot be used: ftp://grafana.example.com').waitFor()
  await press(page, 'Back')
  await page.getByLabel('Start page').fill('grafana.example.com')
  await press(page, 'Next')
  await press(page, 'Add it')
  await page.getByText('The secret is shown only now.').waitFor()
  await page.getByText('[auth.generic_oauth]').first().waitFor()
  await page.getByRole('link', { name: 'Open Grafana' }).waitFor()
  await looksRight('add-done')
  await page.getByRole('link', { name: 'To its settings' }).click()
  await page.getByText('https://grafana.example.com/login/generic_oauth').waitFor()
  // Also after "Back", the choice of the last step counts.
  const [application] = await latchkey.app.rooms.applications.list()
  expect(application).toMatchObject({ groups: ['admins'] })
  await looksRight('application')
})

it('shows what somebody else has changed in the meantime, and leaves the decision', async () => {
  await page.getByRole('button', { name: 'Change…', exact: true }).click()
  const dialog = page.getByRole('dialog', { name: 'Change Grafana' })
  await dialog.getByLabel('Addresses after sign-out').fill('https://grafana.example.com/bye')
  await looksRight('change')
  const [application] = await latchkey.app.rooms.applications.list()
  const operator = { ip: 'command line', userAgent: 'test' }
  await latchkey.app.rooms.applicationChanges.change(
    application?.id ?? '',
    { home: 'https://other.example.com/' },
    operator,
  )
  await dialog.getByRole('button', { name: 'Save' }).click()
  await dialog.getByText('Start page: https://other.example.com/').waitFor()
  await dialog.getByRole('button', { name: 'Save' }).click()
  await page.getByText('Grafana is saved.').waitFor()
  await page.getByText('https://grafana.example.com/bye').waitFor()
})

const png = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
  'base64',
)

it('shows, replaces and removes the icon of an application, and says what is wrong with a file', async () => {
  const open = async () => {
    await page.getByRole('button', { name: 'Change…', exact: true }).click()
    return page.getByRole('dialog', { name: 'Change Grafana' })
  }
  const dialog = await open()
  const choose = (name: string, buffer: Buffer) =>
    dialog.getByLabel('Icon').first().setInputFiles({ name, mimeType: 'image/png', buffer })
  await choose('large.png', Buffer.concat([png, Buffer.alloc(40_000)]))
  await dialog.getByText('The picture has more than 32 KB.').waitFor()
  await choose('text.png', Buffer.from('<svg xmlns="http://www.w3.org/2000/svg"/>'))
  await dialog.getByText('The picture is no PNG.').waitFor()
  // One that only looks like a PNG is refused by the service.
  await choose('cut.png', png.subarray(0, 40))
  await dialog.getByRole('button', { name: 'Save' }).click()
  await dialog.getByText('This picture cannot be used.').waitFor()
  await choose('icon.png', png)
  await looksRight('icon')
  await dialog.getByRole('button', { name: 'Save' }).click()
  await page.getByText('Grafana is saved.').waitFor()
  const src = await page.getByRole('img', { name: 'Icon' }).getAttribute('src')
  expect(src).toMatch(/^\/api\/auth\/application-icons\/.+\?v=[\da-f]{16}$/)
  const isDrawn = (image: HTMLImageElement) => image.complete && image.naturalWidth === 1
  await expect.poll(() => page.locator('.shown-icon').evaluate(isDrawn)).toBe(true)
  await (await open()).getByRole('button', { name: 'Remove the icon' }).click()
  await page.getByText('The icon goes when you save.').waitFor()
  await dialog.getByRole('button', { name: 'Save' }).click()
  await expect.poll(() => page.getByRole('img', { name: 'Icon' }).count()).toBe(0)
})

it('adds and removes secrets, and shows a new one once', async () => {
  await page.getByRole('button', { name: 'Add a secret…' }).click()
  await page.getByRole('dialog').getByRole('button', { name: 'Add a secret' }).click()
  const shown = page.getByRole('dialog', { name: 'The secret is added.' })
  expect(await shown.locator('code').innerText()).toMatch(/^[\w-]{32,}$/)
  await shown.getByRole('button', { name: 'Done' }).click()
  await expect.poll(() => page.getByRole('button', { name: /^Remove the secret/ }).count()).toBe(2)
  await page
    .getByRole('button', { name: /^Remove the secret/ })
    .first()
    .click()
  await page.getByRole('dialog').getByRole('button', { name: 'Remove' }).click()
  // The only one cannot be removed.
  await expect.poll(() => page.getByRole('button', { name: /^Remove the secret/ }).count()).toBe(0)
})

it('says who has set a setting, and changes only what nobody else sets', async () => {
  await page.goto('/api/auth/admin#settings')
  await heading('Settings')
  await page.getByText('Set by MAIL_SIGN_IN in the environment, and changed there.').waitFor()
  expect(await page.getByRole('button', { name: /Change: Sign-in with a mailed code/ }).count()).toBe(0)
  await page.getByRole('button', { name: 'Change: Who can create an account' }).click()
  await page.getByRole('dialog').getByLabel('Who can create an account').selectOption('Only who is invited')
  await press(page, 'Save')
  await page.getByText('Who can create an account is saved.').waitFor()
  await page.getByText(/Set by grace/).waitFor()
  for (const name of ['Accounts', 'Sign-in', 'Looks, words and links'])
    await page.getByRole('heading', { level: 2, name }).waitFor()
  await page.getByText('https://example.com/terms').waitFor()
  await looksRight('settings')
  await page.getByRole('button', { name: 'Back to the default: Who can create an account' }).click()
  await page.getByRole('dialog').getByRole('button', { name: 'Back to the default' }).click()
  await expect.poll(() => page.getByText(/Set by grace/).count()).toBe(0)
})

it('shows what a change was, and changes it back', async () => {
  await page.goto('/api/auth/admin#events?kind=application_changed')
  await page.getByRole('button', { name: 'Application changed' }).last().click()
  await page.getByRole('link', { name: 'Show what was changed' }).click()
  const table = page.getByRole('table', { name: 'What was changed' })
  await table.getByText('https://other.example.com/').waitFor()
  await looksRight('changed')
  // The last change of the setting was that back to its default.
  await page.goto('/api/auth/admin#events?kind=setting_changed')
  await page.getByRole('button', { name: 'Setting changed' }).first().click()
  await page.getByRole('link', { name: 'Show what was changed' }).click()
  // As the screen of the settings calls it.
  await heading('Who can create an account')
  await table.getByText('Only who is invited').waitFor()
  await page.getByRole('button', { name: 'Change it back…' }).click()
  await page.getByLabel('Reason').fill('By mistake')
  await page.getByRole('dialog').getByRole('button', { name: 'Change it back' }).click()
  await page.getByText('Who can create an account is as it was before.').waitFor()
  await page.goto('/api/auth/admin#settings')
  await page.getByText('Only who is invited').waitFor()
})

it('deletes an application whose name is typed', async () => {
  await page.goto('/api/auth/admin#applications')
  await page.getByRole('link', { name: 'Grafana' }).click()
  await page.getByRole('button', { name: 'Delete…' }).click()
  const typed = page.getByLabel('To confirm, type its name: Grafana')
  await typed.fill('Wiki')
  await press(page, 'Delete')
  await page.getByText('This is another name. Nothing was deleted.').waitFor()
  await looksRight('delete')
  await typed.fill('Grafana')
  await press(page, 'Delete')
  await page.getByText('There is no application yet.').waitFor()
})

it('keeps what was typed of an application when the user goes back in the browser, or the session ends', async () => {
  const isFilledIn = async () => {
    await heading('What is it?')
    expect(await page.getByLabel('Name').inputValue()).toBe('Photos')
    await press(page, 'Next')
    await heading('Where is it?')
    await press(page, 'Next')
    await heading('Who may use it?')
    expect(await page.getByLabel('Only with two factors').isChecked()).toBe(true)
  }
  await page.getByRole('link', { name: 'Add an application…' }).click()
  await fillIn(page, { Name: 'Photos' })
  await press(page, 'Next')
  await heading('Where is it?')
  await page.getByLabel('Addresses for the answer').fill('https://photos.example.com/answer')
  await press(page, 'Next')
  await page.getByLabel('Only with two factors').check()
  await page.goBack()
  await heading('Applications')
  await page.goForward()
  await isFilledIn()
  const cookies = await visitor.context.cookies()
  await visitor.context.clearCookies()
  await press(page, 'Add it')
  await heading('Sign in')
  await visitor.context.addCookies(cookies)
  await page.goto('/api/auth/admin#applications/NEW')
  await isFilledIn()
  await press(page, 'Add it')
  await page.getByText('The secret is shown only now.').waitFor()
  const [application] = await latchkey.app.rooms.applications.list()
  expect(application).toMatchObject({ redirectAddresses: ['https://photos.example.com/answer'], factors: 2 })
  await page.goto('/api/auth/admin#applications')
  await page.getByRole('link', { name: 'Add an application…' }).click()
  await heading('What is it?')
  expect(await page.getByLabel('Name').inputValue()).toBe('')
})

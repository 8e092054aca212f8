import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { minutes } from '../../src/lib/durations.js'
import { looksRight as looksRightOn } from '../support/admin-looks.js'
import { signedUpInGroup } from '../support/administrators.js'
import { addApplication } from '../support/applications.js'
import { fillIn, openChromium, press, visit } from '../support/chromium.js'
import { type Latchkey, startLatchkey } from '../support/latchkey.js'
import { resourceChangesOf } from '../support/resources.js'
import { useApplication } from '../support/used-applications.js'

const operator = { ip: 'command line', userAgent: 'test' }

let latchkey: Latchkey
let browser: Browser
let grace: Awaited<ReturnType<typeof signedUpInGroup>>
let visitor: Awaited<ReturnType<typeof visit>>
let page: Page

beforeAll(async () => {
  const settings = { ADMIN_GROUP: 'admins', CLIENT_DOCUMENTS: 'programs.example' }
  ;[latchkey, browser] = await Promise.all([startLatchkey({ settings }), openChromium()])
  grace = await signedUpInGroup(latchkey, 'grace', 'admins')
  await latchkey.app.rooms.groups.add('staff', operator)
  visitor = await visit(browser, latchkey, { viewport: { width: 1280, height: 800 } })
  page = visitor.page
  const attributes = { url: latchkey.url, httpOnly: true, sameSite: 'Strict' as const }
  await visitor.context.addCookies([...grace.tab.jar].map(([name, value]) => ({ name, value, ...attributes })))
  await page.goto('/api/auth/admin#resources')
})
afterAll(async () => {
  await visitor?.context.close()
  await latchkey?.stop()
})

const heading = (name: string) => page.getByRole('heading', { level: 1, name }).waitFor()
const looksRight = (name: string) => looksRightOn(page, name)

it('adds a resource in one form, with the lines for its server', async () => {
  await page.getByText('There is no resource yet.').waitFor()
  await looksRight('resources-empty')
  await page.getByRole('link', { name: 'Add a resource…' }).click()
  await heading('Add a resource')
  await fillIn(page, { Address: 'ftp://mcp.example.com/mcp', Name: 'Wiki tools' })
  await page.getByLabel('What programs can ask for, one a line').fill('write=Change pages\nread=Read pages\nopenid')
  await page.getByLabel('Only members of these groups').check()
  await page.getByLabel('staff').check()
  await looksRight('resource-new')
  await latchkey.advance(6 * minutes)
  await press(page, 'Add it')
  // A proof of six minutes ago is too old for this.
  await page.getByRole('dialog').getByLabel('Code from the app').fill(grace.authenticator.code())
  await page.keyboard.press('Enter')
  await page.getByRole('dialog').waitFor({ state: 'detached' })
  await page.getByText('This address cannot be used: ftp://mcp.example.com/mcp').waitFor()
  await page.getByLabel('Address').fill('mcp.example.com/mcp')
  await press(page, 'Add it')
  await page.getByText('This scope cannot be used: openid').waitFor()
  await page.getByLabel('What programs can ask for, one a line').fill('write=Change pages\nread=Read pages')
  await press(page, 'Add it')
  await page.getByText('Wiki tools is there. Its server needs these lines.').waitFor()
  await page.getByText('resource: "https://mcp.example.com/mcp"').waitFor()
  await looksRight('resource-added')
  await page.getByRole('link', { name: 'To its settings' }).click()
  await page.getByText('Change pages').waitFor()
  await page.getByText('staff', { exact: true }).waitFor()
  await looksRight('resource')
})

it('changes it, and shows what somebody else has changed in the meantime', async () => {
  await page.getByRole('button', { name: 'Change…', exact: true }).click()
  const dialog = page.getByRole('dialog', { name: 'Change Wiki tools' })
  await dialog.getByLabel('Name').fill('Wiki')
  await looksRight('resource-change')
  const changes = resourceChangesOf(latchkey)
  const { id = '' } = (await latchkey.sql.query<{ id: string }>('select id from resources'))[0] ?? {}
  await changes.change(id, { algorithm: 'RS256' }, operator)
  await dialog.getByRole('button', { name: 'Save' }).click()
  await dialog.getByText('It is now: Signature: RS256.').waitFor()
  await dialog.getByLabel('Signs with RS256 instead of ES256').check()
  await dialog.getByRole('button', { name: 'Save' }).click()
  await page.getByText('Wiki tools is saved.').waitFor()
  await heading('Wiki')
  await page.getByRole('button', { name: 'Change who may use it…' }).click()
  await page.getByRole('dialog').getByLabel('Everyone').check()
  await page.getByText('All administrators get an email about it.').waitFor()
  await press(page, 'Save')
  await page.getByText('It is saved who may use Wiki.').waitFor()
})

it('shows what was changed, and changes it back', async () => {
  await page.goto('/api/auth/admin#events?kind=resource_changed')
  await page.getByRole('button', { name: 'Resource changed' }).first().click()
  await page.getByRole('link', { name: 'Show what was changed' }).click()
  await page.getByRole('table', { name: 'What was changed' }).getByText('everyone').waitFor()
  await page.getByRole('button', { name: 'Change it back…' }).click()
  await page.getByLabel('Reason').fill('By mistake')
  await page.getByLabel('Also end the sessions of all programs for it').check()
  await looksRight('resource-back')
  await page.getByRole('dialog').getByRole('button', { name: 'Change it back' }).click()
  await page.getByText('Wiki is as it was before.').waitFor()
})

it('is found with the search, and its list has it', async () => {
  await page.keyboard.press('/')
  await page.getByRole('combobox', { name: 'Search everywhere' }).fill('mcp.example')
  await page.getByRole('option', { name: 'Wiki' }).click()
  await heading('Wiki')
  await page.getByText('staff', { exact: true }).waitFor()
  await page.getByRole('link', { name: 'Back to the list' }).click()
  await page.getByRole('link', { name: 'Wiki', exact: true }).waitFor()
  await looksRight('resources')
})

it('says which file sets it, and changes nothing of it', async () => {
  await latchkey.sql.query("update resources set set_by_file = 'latchkey.yaml'")
  await page.goto('/api/auth/admin#resources')
  await page.getByRole('link', { name: 'Wiki', exact: true }).click()
  await page.getByText('latchkey.yaml sets this. It is changed there.').waitFor()
  expect(await page.getByRole('button', { name: /^(Change|Delete)/ }).count()).toBe(0)
  await looksRight('resource-of-file')
  await latchkey.sql.query('update resources set set_by_file = null')
})

it('deletes it when its name is typed', async () => {
  await page.reload()
  await page.getByRole('button', { name: 'Delete…' }).click()
  const typed = page.getByLabel('To confirm, type its name: Wiki')
  await typed.fill('Other')
  await press(page, 'Delete')
  await page.getByText('This is another name. Nothing was deleted.').waitFor()
  await typed.fill('Wiki')
  await press(page, 'Delete')
  await page.getByText('There is no resource yet.').waitFor()
})

it('lists programs that came with a document, and ends their access', async () => {
  const redirectAddresses = ['http://127.0.0.1/callback']
  const { id } = await addApplication(latchkey, {
    name: 'Helper',
    kind: 'native',
    home: 'app.helper:/',
    redirectAddresses,
  })
  const document = 'https://programs.example/helper.json'
  await latchkey.sql.query("update applications set kind = 'document', document = $2 where id = $1", [id, document])
  await useApplication(latchkey.sql, await latchkey.signedUp('reader'), id)
  await latchkey.sql.query(
    'update sessions set application_id = $1 where id in (select sid from application_sessions)',
    [id],
  )
  await page.goto('/api/auth/admin#applications')
  await page.getByText('Helper from programs.example').waitFor()
  await looksRight('programs')
  await page.getByRole('button', { name: 'End access: Helper' }).click()
  await page.getByLabel('Reason').fill('Nobody knows it')
  await page.getByRole('dialog').getByRole('button', { name: 'End access' }).click()
  await page.getByText('The access of Helper from programs.example has ended.').waitFor()
  await expect.poll(() => page.getByRole('button', { name: 'End access: Helper' }).count()).toBe(0)
  expect(await latchkey.sql.query('select 1 from application_sessions')).toEqual([])
})

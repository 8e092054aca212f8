import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { idOf, signedUpInGroup } from '../support/administrators.js'
import { addApplication } from '../support/applications.js'
import { faultsOf } from '../support/axe.js'
import { fillIn, focusedName, keepPicture, openChromium, press, visit, visitAs } from '../support/chromium.js'
import { type Latchkey, startLatchkey } from '../support/latchkey.js'
import { until } from '../support/until.js'
import { smallTargetsOn } from './visits-for-applications.js'

let latchkey: Latchkey
let browser: Browser

beforeAll(async () => {
  const settings = { TRUST_PROXY: '127.0.0.1', ADMIN_GROUP: 'admins' }
  ;[latchkey, browser] = await Promise.all([startLatchkey({ settings }), openChromium()])
  for (const name of ['wiki', 'photos']) {
    const proxyOrigin = `https://${name}.example.com`
    await addApplication(latchkey, { name, home: `${proxyOrigin}/`, redirectAddresses: [], proxyOrigin })
  }
  const ada = await latchkey.signedUp('ada')
  await until('the applications are known', async () => {
    const { body } = await ada.get('/api/auth/tokens')
    return (body.applications as object[]).length === 2
  })
})
afterAll(() => latchkey?.stop())

const isTooWide = (page: Page) => page.evaluate(() => document.body.scrollWidth > innerWidth)

const checkWith = async (token: string) => {
  const headers = {
    authorization: `Bearer ${token}`,
    'x-forwarded-method': 'GET',
    'x-forwarded-proto': 'https',
    'x-forwarded-host': 'wiki.example.com',
    'x-forwarded-uri': '/',
  }
  return (await latchkey.browser().send('GET', '/api/auth/forward', undefined, { headers })).status
}

it('a user makes a token, sees it once, and ends it', async () => {
  const phone = { viewport: { width: 390, height: 844 } }
  const { page, faults, leave } = await visitAs(browser, latchkey, 'ada', phone)
  await page.goto('/dashboard#tokens')
  const list = page.getByRole('list', { name: 'Personal tokens' })
  await list.getByText('You have no token.').waitFor()
  await press(page, 'Make a token')
  await fillIn(page, { Name: 'Phone' })
  await press(page, 'Make a token')
  await page.getByText('Choose at least one application.').waitFor()
  await page.getByLabel('wiki', { exact: true }).check()
  await keepPicture(page, 'personal-tokens-form')
  expect(await faultsOf(page, 'structure')).toEqual([])
  await press(page, 'Make a token')
  const shown = page.locator('code.secret')
  const token = (await shown.textContent()) ?? ''
  expect(token).toMatch(/^lk_/)
  await expect.poll(() => focusedName(page)).toBe(token)
  await keepPicture(page, 'personal-tokens-made')
  expect([await smallTargetsOn(page), await isTooWide(page)]).toEqual([[], false])
  expect(await checkWith(token)).toBe(200)
  await press(page, 'I have saved it')
  await list.getByText('Phone').waitFor()
  await expect.poll(() => page.content()).not.toContain(token)
  await keepPicture(page, 'personal-tokens')
  await press(page, 'End the token Phone')
  await press(page, 'Yes, end it')
  await page.getByText('The token Phone has ended.').waitFor()
  await until('it has ended', async () => (await checkWith(token)) === 401)
  expect(faults).toEqual([])
  await leave()
})

it('an administrator ends a token of a user', async () => {
  const bea = await latchkey.signedUp('bea')
  const { body } = await bea.get('/api/auth/tokens')
  const applications = (body.applications as { id: string }[]).map(({ id }) => id)
  await bea.act('/api/auth/tokens', { name: 'Script', applications })
  const root = await signedUpInGroup(latchkey, 'root1', 'admins')
  const { page, context, faults, leave } = await visit(browser, latchkey)
  const attributes = { url: latchkey.url, httpOnly: true, sameSite: 'Strict' as const }
  await context.addCookies([...root.tab.jar].map(([name, value]) => ({ name, value, ...attributes })))
  await page.goto(`/api/auth/admin#users/${await idOf(latchkey, 'bea')}`)
  const panel = page.locator('section.panel', { has: page.getByRole('heading', { name: 'Personal tokens' }) })
  await panel.getByText('photos, wiki').waitFor()
  await panel.getByRole('button', { name: 'End…' }).click()
  await fillIn(page, { Reason: 'lost' })
  await press(page, 'End the token')
  await page.getByText('The token Script has ended.').waitFor()
  await panel.getByText('No personal tokens').waitFor()
  await keepPicture(page, 'personal-tokens-admin')
  expect(faults).toEqual([])
  await leave()
})

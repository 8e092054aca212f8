import { readFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import type { AxeResults } from 'axe-core'
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { operatorClient } from '../../src/domain/sessions/client.js'
import { addApplication } from '../support/applications.js'
import { parametersFor } from '../support/authorization-requests.js'
import { fillIn, keepPicture, openChromium, press, visit } from '../support/chromium.js'
import { goodPassword, type Latchkey, startLatchkey } from '../support/latchkey.js'

let latchkey: Latchkey
let browser: Browser
const ids: Record<string, string> = {}
const siteOf = (name: string) => `https://${name}.example.com`
beforeAll(async () => {
  ;[latchkey, browser] = await Promise.all([startLatchkey(), openChromium()])
  await latchkey.app.nouns.groups.add('staff', operatorClient('root'))
  const given = {
    grafana: {},
    wiki: {},
    shop: { consent: 'ask' },
    vault: { access: 'groups', groups: ['staff'] },
  } as const
  for (const [name, more] of Object.entries(given)) {
    const place = { home: siteOf(name), redirectAddresses: [`${siteOf(name)}/callback`] }
    ids[name] = (await addApplication(latchkey, { name, ...place, ...more })).id
  }
  await latchkey.advance(1_001)
  await latchkey.signedUp('ada')
})
afterAll(() => latchkey?.stop())

const addressFor = (name: string, changed: Record<string, string> = {}) => {
  const parameters = parametersFor(ids[name] ?? '', { redirect_uri: `${siteOf(name)}/callback`, ...changed })
  return `${latchkey.url}/api/auth/authorize?${parameters}`
}

/** A browser that finds an application at each of its sites: a page with a link to the sign-in. */
const visitApplications = async (options = {}) => {
  const visitor = await visit(browser, latchkey, options)
  await visitor.context.route(/^https:\/\/\w+\.example\.com\//, (route) => {
    const { searchParams } = new URL(route.request().url())
    const link = searchParams.get('link') ?? ''
    return route.fulfill({ contentType: 'text/html', body: `<a href="${link.replaceAll('&', '&amp;')}">Sign in</a>` })
  })
  return visitor
}
const leaveFor = async (page: Page, name: string, changed: Record<string, string> = {}) => {
  await page.goto(`${siteOf(name)}/?link=${encodeURIComponent(addressFor(name, changed))}`)
  await page.getByRole('link', { name: 'Sign in' }).click()
}
const arrival = (page: Page, name: string) => page.waitForURL(`${siteOf(name)}/callback?**`)
const violationsOn = async (page: Page) => {
  await page.evaluate(await readFile(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8'))
  const { violations } = await page.evaluate<AxeResults>('axe.run()')
  return violations.map(({ id }) => id)
}
const signIn = async (page: Page) => {
  await fillIn(page, { 'Username or email': 'ada', Password: goodPassword })
  await press(page, 'Sign in')
}

it('signs in for one application, and for the next without a question', async () => {
  const { page, context, faults } = await visitApplications()
  await leaveFor(page, 'grafana', { login_hint: 'ada' })
  await page.getByText('Sign in to continue to grafana.').waitFor()
  expect(await page.getByLabel('Username or email').inputValue()).toBe('ada')
  expect(await violationsOn(page)).toEqual([])
  await signIn(page)
  await arrival(page, 'grafana')
  expect(new URL(page.url()).searchParams.get('code')).toMatch(/./)
  await leaveFor(page, 'wiki')
  await arrival(page, 'wiki')
  // Nothing of ours is left in the history.
  await page.goBack()
  expect(page.url()).toContain(`${siteOf('wiki')}/?link=`)
  // A name in a link is not believed.
  await page.goto(
    `/login?notice=sign_in&returnTo=${encodeURIComponent('/api/auth/authorize?request=made.up&name=Bank')}`,
  )
  await page.getByText('Sign in to continue.').waitFor()
  expect(faults).toEqual([])
  await context.close()
})

it('asks for consent, for a proof, and says that there is no access, in two tabs', async () => {
  const { page, context, faults } = await visitApplications()
  await leaveFor(page, 'shop')
  await signIn(page)
  await page.getByRole('heading', { name: 'Continue to shop?' }).waitFor()
  await keepPicture(page, 'openid-consent')
  expect(await violationsOn(page)).toEqual([])
  const other = await context.newPage()
  await leaveFor(other, 'vault')
  await other.getByRole('heading', { name: 'No access' }).waitFor()
  await keepPicture(other, 'openid-no-access')
  expect(await violationsOn(other)).toEqual([])
  await press(other, 'Back to vault')
  await arrival(other, 'vault')
  expect(other.url()).toContain('error=access_denied')
  await page.reload()
  await press(page, 'Continue')
  await arrival(page, 'shop')
  expect(page.url()).toContain('code=')
  await leaveFor(page, 'grafana', { prompt: 'login' })
  await page.getByRole('heading', { name: 'Confirm that it is you' }).waitFor()
  expect(await violationsOn(page)).toEqual([])
  const waiting = page.url()
  await fillIn(page, { Password: goodPassword })
  await press(page, 'Confirm')
  await arrival(page, 'grafana')
  expect(page.url()).toContain('code=')
  await page.goto(waiting)
  await page.getByRole('link', { name: 'Start again at grafana' }).waitFor()
  expect(await violationsOn(page)).toEqual([])
  await page.goto(addressFor('grafana', { redirect_uri: 'https://evil.example.com/' }))
  await page.getByText('not registered').waitFor()
  expect(await violationsOn(page)).toEqual([])
  expect(faults).toEqual([])
  await context.close()
})

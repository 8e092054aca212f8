import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { type Language, languages } from '#contract/languages.js'
import { minutes } from '../../src/lib/durations.js'
import { catalogue } from '../../web/words/catalogue.js'
import { idOf, signedUpInGroup } from '../support/administrators.js'
import { openChromium, visit, visitAs } from '../support/chromium.js'
import { type Latchkey, startLatchkey } from '../support/latchkey.js'
import { inLongRun } from '../support/long-run.js'

let latchkey: Latchkey
let browser: Browser
beforeAll(async () => {
  const settings = { BOUND_SESSIONS: 'on', ADMIN_GROUP: 'admins' }
  ;[latchkey, browser] = await Promise.all([startLatchkey({ settings }), openChromium()])
})
afterAll(() => latchkey?.stop())

/** To a key that this browser does not have. test/browser/long/bound-sessions.test.ts has a browser with keys. */
const bindSessionsOf = async (name: string) =>
  latchkey.sql.query(
    "update sessions set bound_key = decode('04', 'hex'), bound_at = now() where user_id = $1 returning id",
    [await idOf(latchkey, name)],
  )

it.each(inLongRun<readonly Language[]>(languages, ['en', 'fr']))(
  'a browser that has lost the key of its session ends on the sign-in page, which says why (%s)',
  async (language) => {
    const name = `loser-${language}`
    await latchkey.signedUp(name)
    const { context, page, leave } = await visitAs(browser, latchkey, name)
    const chosen = { name: 'latchkey_language', value: language, url: latchkey.url }
    await context.addCookies([chosen])
    await bindSessionsOf(name)
    await page.goto('/dashboard')
    const { dashboard, login } = catalogue[language]
    await page.getByText(dashboard.sessionBound).first().waitFor()
    await latchkey.advance(16 * minutes)
    await context.clearCookies({ name: 'access_token' })
    // The open page learns of it when it asks for something.
    await page.reload()
    await page.getByText(login.notices.device_lost).waitFor()
    expect(new URL(page.url()).pathname).toBe('/login')
    await page.goto('/login')
    await page.getByText(login.notices.device_lost).waitFor()
    await leave()
  },
)

it('the page of administrators names those of their own sessions that are not bound', async () => {
  const { tab } = await signedUpInGroup(latchkey, 'grace', 'admins')
  const { context, page } = await visit(browser, latchkey)
  await context.addCookies([...tab.jar].map(([name, value]) => ({ name, value, url: latchkey.url })))
  const { unbound, overview } = catalogue.en.admin
  await page.goto('/api/auth/admin')
  const panel = page.getByRole('region', { name: unbound.heading })
  await panel.getByText('This device').waitFor()
  expect(await panel.getByRole('listitem').count()).toBe(1)
  expect(await panel.getByRole('link', { name: unbound.link }).getAttribute('href')).toBe('/dashboard#sessions')
  await bindSessionsOf('grace')
  await page.reload()
  await page.getByRole('heading', { name: overview }).first().waitFor()
  await page.waitForLoadState('networkidle')
  expect(await panel.count()).toBe(0)
  await context.close()
})

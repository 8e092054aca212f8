import { afterAll, beforeAll, expect, it, onTestFinished } from 'vitest'
import { addAuthenticator } from '../support/authenticator.js'
import { browserNames, openBrowser } from '../support/browsers.js'
import { type Latchkey, startLatchkey } from '../support/latchkey.js'
import { isLongRun } from '../support/long-run.js'
import {
  signInWith,
  startProviders,
  startService,
  type TestProviders,
  usersOf,
} from '../support/providers/test-providers.js'

let providers: TestProviders
let direct: Latchkey

beforeAll(async () => {
  providers = await startProviders()
  direct = await startService(providers)
})

afterAll(async () => {
  await direct?.stop()
  await providers?.close()
})

// The service is at localhost and every provider at 127.0.0.1: two sites, as with real providers. What is tried here is
// what no request library can try, namely which cookies a browser keeps and sends after it was sent back.
it.each(browserNames)('in %s, a provider sends the browser back at once, to where it was going', async (name) => {
  const tab = await (await openBrowser(name)).tab()
  await tab.goTo(`${direct.url}/login?returnTo=${encodeURIComponent('/dashboard?from=notes')}`)
  await tab.press('Continue with Google')
  await tab.see('Hello, Ada Example')
  expect(tab.address()).toBe(`${direct.url}/dashboard?from=notes`)
  await tab.reload()
  await tab.see('Hello, Ada Example')
  await tab.close()
})

// In every run, test/browser/providers.test.ts does this in Chromium.
if (isLongRun)
  it('in firefox, a provider shows a page of its own, and a second one is linked and removed again', async () => {
    const devProviders = await startLatchkey({ settings: { NODE_ENV: 'development' } })
    onTestFinished(devProviders.stop)
    const tab = await (await openBrowser('firefox')).tab()
    await tab.goTo(`${devProviders.url}/login`)
    await tab.press('Continue with Google')
    await tab.see('Development provider')
    expect(new URL(tab.address()).hostname).toBe('127.0.0.1')
    await tab.press('Ben Example')
    await tab.see('Hello, Ben Example')
    expect(tab.address()).toBe(`${devProviders.url}/dashboard`)
    await tab.press('Connect GitHub')
    await tab.press('Zo\u00eb')
    await tab.see('GitHub is connected')
    const ben = async () => (await usersOf(devProviders)).find(({ email }) => email === 'ben@example.com')
    expect(await ben()).toMatchObject({ provider_a_id: 'dev-ben', provider_b_id: '1003' })
    await tab.press('Disconnect GitHub')
    await tab.press('Yes, disconnect')
    await tab.see('GitHub is disconnected')
    expect(await ben()).toMatchObject({ provider_a_id: 'dev-ben', provider_b_id: null })
    await tab.close()
  })

/** Runs in the page. */
const tick = async (name: string) => document.querySelector<HTMLInputElement>(`[name=${name}]`)?.click()

const noticesOfNewDevices = async () =>
  (await direct.sql.query("select 1 from outgoing_mail where kind = 'new-device'")).length

it('a trusted browser is asked for no code when a provider sends it back, and is not taken for a new device', async () => {
  const elsewhere = direct.browser()
  await signInWith(elsewhere, 'provider-a')
  const app = await addAuthenticator(elsewhere, direct)
  const tab = await (await openBrowser('chromium')).tab()
  await tab.goTo(`${direct.url}/login`)
  await tab.press('Continue with Google')
  await tab.see('Enter your code')
  await tab.fill('code', app.code())
  await tab.evaluate(tick, 'trustDevice')
  await tab.press('Continue')
  await tab.see('Hello, Ada Example')
  const notices = await noticesOfNewDevices()
  await tab.press('Sign out')
  await tab.see('You are signed out.')
  await tab.press('Continue with Google')
  await tab.see('Hello, Ada Example')
  expect([notices > 0, await noticesOfNewDevices()]).toEqual([true, notices])
  await tab.close()
})

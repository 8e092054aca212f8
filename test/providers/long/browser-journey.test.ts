import { afterAll, beforeAll, expect, it, onTestFinished } from 'vitest'
import { browserNames, openBrowser } from '../../support/browsers.js'
import { type Latchkey, startLatchkey } from '../../support/latchkey.js'
import { startProviders, startService, type TestProviders, usersOf } from '../../support/providers/test-providers.js'

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

import { afterAll, beforeAll, expect, it } from 'vitest'
import { addAuthenticator } from '../support/authenticator.js'
import { openBrowser } from '../support/browsers.js'
import type { Latchkey } from '../support/latchkey.js'
import { signInWith, startProviders, startService, type TestProviders } from '../support/providers/test-providers.js'

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

/** Runs in the page. */
const tick = async (name: string) => document.querySelector<HTMLInputElement>(`[name=${name}]`)?.click()

const noticesOfNewDevices = async () =>
  (await direct.sql.query("select 1 from outgoing_mail where kind = 'new-device'")).length

// The service is at localhost and every provider at 127.0.0.1: two sites, as with real providers. What is tried here is
// what no request library can try, namely which cookies a browser keeps and sends after it was sent back.
it('a trusted browser is asked for no code when a provider sends it back, and is not taken for a new device', async () => {
  const elsewhere = direct.browser()
  await signInWith(elsewhere, 'provider-a')
  const app = await addAuthenticator(elsewhere, direct)
  const tab = await (await openBrowser('chromium')).tab()
  await tab.goTo(`${direct.url}/login`)
  await tab.press('Continue with Google')
  await tab.see('Enter your code')
  await tab.evaluate(tick, 'trustDevice')
  await tab.fill('code', app.code())
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

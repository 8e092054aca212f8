import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { minutes } from '../../../src/lib/durations.js'
import { openBrowser, type Tab, type TestBrowser } from '../../support/browsers.js'
import { linkIn } from '../../support/chromium.js'
import { goodPassword, type Latchkey, startLatchkey } from '../../support/latchkey.js'

const newPassword = 'Quiet+Orchard+48+marble'

let latchkey: Latchkey
let browser: TestBrowser

beforeAll(async () => {
  ;[latchkey, browser] = await Promise.all([startLatchkey(), openBrowser('firefox')])
})
afterAll(() => latchkey?.stop())

const pathOf = (tab: Tab) => new URL(tab.address()).pathname

// test/providers/long/browser-journey.test.ts signs in with a provider there.
describe('in Firefox', () => {
  it('a user registers, proves the address, changes the password, signs out and in again', async () => {
    const tab = await browser.tab()
    const type = async (values: Record<string, string>) => {
      for (const [name, value] of Object.entries(values)) await tab.fill(name, value)
    }
    await tab.goTo(`${latchkey.url}/register`)
    await type({ username: 'fox', email: 'fox@example.com', password: goodPassword })
    await tab.press('Create account')
    await expect.poll(() => pathOf(tab)).toBe('/verify-email')
    await tab.goTo(linkIn(await latchkey.mailTo('fox@example.com')))
    await tab.press('Confirm my email')
    await tab.see('Hello, fox')
    await tab.see('This device')

    await latchkey.advance(16 * minutes)
    await tab.reload()
    await tab.see('Hello, fox')

    await tab.press('Change password')
    await type({ currentPassword: goodPassword, newPassword })
    await tab.see('Strength')
    await tab.press('Change password')
    await tab.see('Your password was changed.')
    await tab.press('Sign out')
    await tab.see('You are signed out.')
    await type({ username: 'fox@example.com', password: newPassword })
    await tab.press('Sign in')
    await tab.see('Hello, fox')
    await tab.close()
  })
})

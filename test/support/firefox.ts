import puppeteer, { type Browser } from 'puppeteer-core'
import type { Tab, TestBrowser } from './browsers.js'
import { control, stepTimeout } from './controls.js'
import { testProgram } from './servers/programs.js'

// Playwright needs a Firefox that was patched for it: with the one that distributions ship, it cannot even open a tab
// (it sends commands of WebDriver BiDi that this Firefox does not know). Puppeteer drives it as it is.

/** Firefox answers with an error when the document is replaced during a command: then the command is sent again. */
const retried = async (act: () => Promise<unknown>) => {
  const end = performance.now() + stepTimeout
  for (;;) {
    try {
      await act()
      return
    } catch (error) {
      const isReplaced = error instanceof Error && !/timeout|exceeded/i.test(error.message)
      if (!isReplaced || performance.now() > end) throw error
      await new Promise((resolve) => setTimeout(resolve, 100))
    }
  }
}

const openTab = async (browser: Browser): Promise<Tab> => {
  const context = await browser.createBrowserContext()
  const page = await context.newPage()
  page.setDefaultTimeout(stepTimeout)
  return {
    goTo: async (address) => void (await page.goto(address)),
    press: (text) => page.locator(`::-p-xpath(${control(text)})`).click(),
    fill: (name, value) => page.locator(`[name=${name}]`).fill(value),
    valueOf: (name) => page.$eval(`[name=${name}]`, (field) => (field as HTMLInputElement).value),
    forgetCookie: async (name) => {
      const found = (await context.cookies()).filter((cookie) => cookie.name === name)
      await context.deleteCookie(...found)
    },
    evaluate: async (act, argument) => await page.evaluate(act, argument),
    see: (text) => retried(() => page.waitForSelector(`::-p-xpath(//body//*[contains(., "${text}")])`)),
    reload: async () => void (await page.reload()),
    address: () => page.url(),
    close: () => context.close(),
  }
}

let shared: Promise<Browser> | undefined

/** One browser for all files of a test process. It ends with the process. */
export const openFirefox = async (): Promise<TestBrowser> => {
  shared ??= puppeteer.launch({
    browser: 'firefox',
    executablePath: testProgram('firefox'),
    headless: true,
    acceptInsecureCerts: true,
    timeout: 2 * stepTimeout,
    protocolTimeout: stepTimeout,
    // Its own services are not reachable in a test, and it would go on asking for them.
    extraPrefsFirefox: { 'intl.accept_languages': 'en-GB', 'network.captive-portal-service.enabled': false },
  })
  const browser = await shared
  return { tab: () => openTab(browser) }
}

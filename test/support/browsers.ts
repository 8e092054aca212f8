import { chromium } from 'playwright-core'
import puppeteer from 'puppeteer-core'
import { testProgram } from './servers/programs.js'

export const browserNames = ['chromium', 'firefox'] as const
export type BrowserName = (typeof browserNames)[number]

/** What a person does in a tab, said once for both browsers. */
export type Tab = {
  goTo(address: string): Promise<void>
  /** Presses the link or button that says this, or is called this. */
  press(text: string): Promise<void>
  /** Fills in the field of this name. */
  fill(name: string, value: string): Promise<void>
  valueOf(name: string): Promise<string>
  forgetCookie(name: string): Promise<void>
  /** Runs a function in the page. */
  evaluate<Result>(act: (argument: string) => Promise<Result>, argument: string): Promise<Result>
  /** Waits until the page says this. */
  see(text: string): Promise<void>
  reload(): Promise<void>
  address(): string
  close(): Promise<void>
}

export type RealBrowser = { tab(): Promise<Tab>; close(): Promise<void> }

const timeout = 30_000

const control = (text: string) => `//*[self::a or self::button][contains(., "${text}") or @aria-label = "${text}"]`

const launchChromium = async (): Promise<RealBrowser> => {
  const quiet = ['--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking']
  const browser = await chromium.launch({
    executablePath: testProgram('chromium'),
    args: ['--no-sandbox', '--disable-component-update', '--disable-sync', ...quiet],
  })
  const tab = async (): Promise<Tab> => {
    const context = await browser.newContext({ locale: 'en-GB', ignoreHTTPSErrors: true })
    context.setDefaultTimeout(timeout)
    const page = await context.newPage()
    return {
      goTo: async (address) => void (await page.goto(address)),
      press: (text) => page.locator(control(text)).first().click(),
      fill: (name, value) => page.locator(`[name=${name}]`).fill(value),
      valueOf: (name) => page.locator(`[name=${name}]`).inputValue(),
      forgetCookie: (name) => context.clearCookies({ name }),
      evaluate: (act, argument) => page.evaluate(act, argument),
      see: (text) => page.getByText(text).first().waitFor(),
      reload: async () => void (await page.reload()),
      address: () => page.url(),
      close: () => context.close(),
    }
  }
  return { tab, close: () => browser.close() }
}

/** Firefox answers with an error of its own when the document is replaced during a command: then the command comes again. */
const insist = async (act: () => Promise<unknown>) => {
  const end = performance.now() + timeout
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

const launchFirefox = async (): Promise<RealBrowser> => {
  const browser = await puppeteer.launch({
    browser: 'firefox',
    executablePath: testProgram('firefox'),
    headless: true,
    acceptInsecureCerts: true,
    extraPrefsFirefox: { 'intl.accept_languages': 'en-GB', 'network.captive-portal-service.enabled': false },
  })
  const tab = async (): Promise<Tab> => {
    const context = await browser.createBrowserContext()
    const page = await context.newPage()
    page.setDefaultTimeout(timeout)
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
      see: (text) => insist(() => page.waitForSelector(`::-p-xpath(//body//*[contains(., "${text}")])`)),
      reload: async () => void (await page.reload()),
      address: () => page.url(),
      close: () => context.close(),
    }
  }
  return { tab, close: () => browser.close() }
}

export const launch = (name: BrowserName) => (name === 'chromium' ? launchChromium() : launchFirefox())

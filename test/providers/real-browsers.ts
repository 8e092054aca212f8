import { chromium } from 'playwright-core'
import puppeteer from 'puppeteer-core'
import { testProgram } from '../services/programs.js'

export const browserNames = ['chromium', 'firefox'] as const
export type BrowserName = (typeof browserNames)[number]

/** What a person does in a tab, said once for both browsers. */
export type Tab = {
  goTo(address: string): Promise<void>
  /** Presses the link or button that says this, or is called this. */
  press(text: string): Promise<void>
  /** Waits until the page says this. */
  see(text: string): Promise<void>
  reload(): Promise<void>
  address(): string
  close(): Promise<void>
}

export type RealBrowser = { tab(): Promise<Tab>; close(): Promise<void> }

const patience = 30_000

const control = (text: string) => `//*[self::a or self::button][contains(., "${text}") or @aria-label = "${text}"]`

const launchChromium = async (): Promise<RealBrowser> => {
  const quiet = ['--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking']
  const browser = await chromium.launch({
    executablePath: testProgram('chromium'),
    args: ['--no-sandbox', '--disable-component-update', '--disable-sync', ...quiet],
  })
  const tab = async (): Promise<Tab> => {
    const context = await browser.newContext({ locale: 'en-GB' })
    context.setDefaultTimeout(patience)
    const page = await context.newPage()
    return {
      goTo: async (address) => void (await page.goto(address)),
      press: (text) => page.locator(control(text)).first().click(),
      see: (text) => page.getByText(text).first().waitFor(),
      reload: async () => void (await page.reload()),
      address: () => page.url(),
      close: () => context.close(),
    }
  }
  return { tab, close: () => browser.close() }
}

const launchFirefox = async (): Promise<RealBrowser> => {
  const browser = await puppeteer.launch({
    browser: 'firefox',
    executablePath: testProgram('firefox'),
    headless: true,
    extraPrefsFirefox: { 'intl.accept_languages': 'en-GB', 'network.captive-portal-service.enabled': false },
  })
  const tab = async (): Promise<Tab> => {
    const context = await browser.createBrowserContext()
    const page = await context.newPage()
    page.setDefaultTimeout(patience)
    return {
      goTo: async (address) => void (await page.goto(address)),
      press: (text) => page.locator(`::-p-xpath(${control(text)})`).click(),
      see: async (text) => void (await page.waitForSelector(`::-p-xpath(//body//*[contains(., "${text}")])`)),
      reload: async () => void (await page.reload()),
      address: () => page.url(),
      close: () => context.close(),
    }
  }
  return { tab, close: () => browser.close() }
}

export const launch = (name: BrowserName) => (name === 'chromium' ? launchChromium() : launchFirefox())

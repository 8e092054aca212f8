import type { BrowserContext } from 'playwright-core'
import { openChromium } from './chromium.js'
import { control } from './controls.js'
import { openFirefox } from './firefox.js'

export const browserNames = ['chromium', 'firefox'] as const
export type BrowserName = (typeof browserNames)[number]

/** The actions of a user in a tab, with the same names for both browsers. */
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
  /** Another tab with the same cookies. */
  another(): Promise<Tab>
  reload(): Promise<void>
  address(): string
  close(): Promise<void>
}

/** Each tab has cookies of its own, and closing it closes those that share them. */
export type TestBrowser = { tab(): Promise<Tab> }

const openChromiumTab = async (context: BrowserContext): Promise<Tab> => {
  const page = await context.newPage()
  return {
    goTo: async (address) => void (await page.goto(address)),
    press: (text) => page.locator(control(text)).first().click(),
    fill: (name, value) => page.locator(`[name=${name}]`).fill(value),
    valueOf: (name) => page.locator(`[name=${name}]`).inputValue(),
    forgetCookie: (name) => context.clearCookies({ name }),
    evaluate: (act, argument) => page.evaluate(act, argument),
    see: (text) => page.getByText(text).first().waitFor(),
    another: () => openChromiumTab(context),
    reload: async () => void (await page.reload()),
    address: () => page.url(),
    close: () => context.close(),
  }
}

export const openBrowser = async (name: BrowserName): Promise<TestBrowser> => {
  if (name === 'firefox') return openFirefox()
  const browser = await openChromium()
  const options = { locale: 'en-GB', ignoreHTTPSErrors: true }
  return { tab: async () => openChromiumTab(await browser.newContext(options)) }
}

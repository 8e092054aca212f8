import { existsSync } from 'node:fs'
import { createRequire } from 'node:module'
import { fileURLToPath } from 'node:url'

// Playwright needs a Firefox that was patched for it: with the one that distributions ship, it cannot even open a tab
// (it sends commands of WebDriver BiDi that this Firefox does not know). Puppeteer drives it as it is.

// Only the long tests use Puppeteer, and `npm run test:long` installs it in a folder of its own. The ordinary install has no types of
// it, so the part that the tests use is described here.

/** A tab of Firefox. */
type FirefoxPage = {
  goto(address: string): Promise<unknown>
  reload(): Promise<unknown>
  url(): string
  locator(selector: string): { click(): Promise<void>; fill(value: string): Promise<void> }
  waitForSelector(selector: string): Promise<unknown>
  $eval<Result>(selector: string, read: (element: Element) => Result): Promise<Result>
  evaluate<Result>(act: (argument: string) => Promise<Result>, argument: string): Promise<Result>
  setDefaultTimeout(milliseconds: number): void
  keyboard: { press(key: string): Promise<void> }
  cookies(): Promise<FirefoxCookie[]>
  setCookie(...cookies: { name: string; value: string; domain: string; path: string }[]): Promise<void>
  deleteCookie(...cookies: FirefoxCookie[]): Promise<void>
}

type FirefoxCookie = { name: string; value: string; domain: string }

/** Tabs with cookies of their own. */
export type FirefoxContext = {
  newPage(): Promise<FirefoxPage>
  cookies(): Promise<FirefoxCookie[]>
  deleteCookie(...cookies: FirefoxCookie[]): Promise<void>
  close(): Promise<void>
}

export type Firefox = {
  newPage(): Promise<FirefoxPage>
  createBrowserContext(): Promise<FirefoxContext>
  wsEndpoint(): string
  process(): import('node:child_process').ChildProcess | null
  disconnect(): Promise<void>
  close(): Promise<void>
}

type LaunchOptions = {
  browser: 'firefox' | 'chrome'
  executablePath: string
  userDataDir: string
  headless: boolean
  timeout: number
  extraPrefsFirefox?: Record<string, string | number | boolean>
  defaultViewport?: null
  args?: string[]
  env?: Record<string, string>
}

type ConnectOptions = {
  browserWSEndpoint: string
  protocol: 'webDriverBiDi'
  acceptInsecureCerts: boolean
  protocolTimeout: number
}

type Puppeteer = {
  launch(options: LaunchOptions): Promise<Firefox>
  connect(options: ConnectOptions): Promise<Firefox>
}

const folder = fileURLToPath(new URL('puppeteer/', import.meta.url))

export const isPuppeteerInstalled = () => existsSync(`${folder}node_modules/puppeteer-core`)

/** Loads Puppeteer, which takes a third of a second. */
export const loadPuppeteer = (): Puppeteer => createRequire(folder)('puppeteer-core')

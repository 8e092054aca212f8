import { spawn } from 'node:child_process'
import { mkdtemp } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
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

/** Vitest may end a test process before the browser is closed. A shell notices by its input, which ends with this process. */
const endWithThisProcess = (pid: number, folder: string) => {
  const script = `read -r _; kill ${pid}; sleep 2; rm -rf "$0"`
  const shell = spawn('/bin/sh', ['-c', script, folder], { detached: true, stdio: ['pipe', 'ignore', 'ignore'] })
  shell.unref()
  if ('unref' in shell.stdin && typeof shell.stdin.unref === 'function') shell.stdin.unref()
}

const launch = async () => {
  const profile = await mkdtemp(join(tmpdir(), 'latchkey-firefox-'))
  const browser = await puppeteer.launch({
    browser: 'firefox',
    executablePath: testProgram('firefox'),
    userDataDir: profile,
    headless: true,
    acceptInsecureCerts: true,
    timeout: 2 * stepTimeout,
    protocolTimeout: stepTimeout,
    // Its own services are not reachable in a test, and it would go on asking for them.
    extraPrefsFirefox: { 'intl.accept_languages': 'en-GB', 'network.captive-portal-service.enabled': false },
  })
  const pid = browser.process()?.pid
  if (pid !== undefined) endWithThisProcess(pid, profile)
  return browser
}

let shared: Promise<Browser> | undefined

/** One browser for all files of a test process. */
export const openFirefox = async (): Promise<TestBrowser> => {
  shared ??= launch()
  const browser = await shared
  return { tab: () => openTab(browser) }
}

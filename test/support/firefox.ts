import { once } from 'node:events'
import { connect } from 'node:net'
import { onTestFinished } from 'vitest'
import type { Tab, TestBrowser } from './browsers.js'
import { control, stepTimeout } from './controls.js'
import { type FirefoxContext, loadPuppeteer } from './puppeteer.js'

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

const openTab = async (context: FirefoxContext): Promise<Tab> => {
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
    another: () => openTab(context),
    reload: async () => void (await page.reload()),
    address: () => page.url(),
    close: () => context.close(),
  }
}

/** Waits until no other test process uses the browser. It is ours as long as the connection to the queue is open. */
const borrow = async () => {
  const { hostname, port } = new URL(process.env.TEST_FIREFOX_URL ?? '')
  const turn = connect(Number(port), hostname)
  // The queue may be gone before us at the end of the run.
  turn.on('error', () => turn.destroy())
  const [address] = await once(turn, 'data')
  const browser = await loadPuppeteer().connect({
    browserWSEndpoint: String(address),
    protocol: 'webDriverBiDi',
    acceptInsecureCerts: true,
    protocolTimeout: stepTimeout,
  })
  return { browser, giveBack: () => browser.disconnect().finally(() => turn.destroy()) }
}

let borrowed: ReturnType<typeof borrow> | undefined
let openTabs = 0

const tabIsClosed = async () => {
  openTabs -= 1
  if (openTabs > 0) return
  const { giveBack } = (await borrowed) ?? {}
  borrowed = undefined
  await giveBack?.()
}

/** The browser is given back when the last tab is closed. A test that fails may have left its tab open. */
export const openFirefox = (): TestBrowser => ({
  tab: async () => {
    openTabs += 1
    borrowed ??= borrow()
    const { browser } = await borrowed
    const tab = await openTab(await browser.createBrowserContext())
    let closing: Promise<void> | undefined
    const close = () => {
      closing ??= tab.close().finally(tabIsClosed)
      return closing
    }
    onTestFinished(close)
    return { ...tab, close }
  },
})

// node bench/interaction.mjs [--rounds 3] [--slower 4]
//
// How long the pages take to answer a finger (Interaction to Next Paint), in Chromium with a processor that is `--slower` times as slow, at
// 390 pixels: each page with its slowest interaction, and which that was. 200 ms is good, our goal is 100. Needs a build (npm run build).
import { availableParallelism, loadavg } from 'node:os'
import { parseArgs } from 'node:util'
import { chromium } from 'playwright-core'
import { median, printTable } from './load/rounds.mjs'
import { password, startLatchkey } from './subjects/latchkey.mjs'
import { testPart } from './subjects/stores.mjs'

/** @typedef {import('playwright-core').Page} Page */

const { values } = parseArgs({
  options: { rounds: { type: 'string', default: '3' }, slower: { type: 'string', default: '4' } },
})

/** In the page: notes the longest time between a touch or a key and the next picture. */
const noteInteractions = () => {
  const slowest = { milliseconds: 0, what: '' }
  Object.assign(window, { slowest })
  new PerformanceObserver((list) => {
    for (const entry of list.getEntries()) {
      const { interactionId, duration, name, target } = /** @type {PerformanceEventTiming} */ (entry)
      if (!interactionId || duration <= slowest.milliseconds) continue
      const element = /** @type {Element | null} */ (target)
      const label = element?.getAttribute('aria-label') ?? element?.getAttribute('name') ?? element?.textContent
      Object.assign(slowest, { milliseconds: duration, what: `${name}: ${label?.trim().slice(0, 30)}` })
    }
  }).observe(/** @type {PerformanceObserverInit} */ ({ type: 'event', buffered: true, durationThreshold: 16 }))
}

/** The slowest interaction since the page was loaded, once it has been drawn. */
const slowestOn = (/** @type {Page} */ page) =>
  page.evaluate(async () => {
    await new Promise((resolve) => setTimeout(resolve, 300))
    return /** @type {{ slowest: { milliseconds: number, what: string } }} */ (/** @type {unknown} */ (window)).slowest
  })

/** @type {Record<string, (page: Page) => Promise<void>>} */
const visits = {
  'sign-in': async (page) => {
    await page.goto('/')
    await page.locator('[name=username]').tap()
    await page.keyboard.type('person-0')
    await page.locator('[name=password]').tap()
    await page.keyboard.type(password)
    await page.getByRole('button', { name: 'Show password' }).tap()
  },
  registration: async (page) => {
    await page.goto('/register')
    await page.locator('[name=email]').tap()
    await page.keyboard.type('somebody@example.com')
    await page.locator('[name=password]').tap()
    await page.keyboard.type('copper-Lagoon')
  },
  account: async (page) => {
    await page.goto('/dashboard')
    await page.locator('.account:not(.frame)').waitFor()
    await page.getByRole('button', { name: 'Change password' }).tap()
    await page.locator('[name=currentPassword]').tap()
    await page.keyboard.type('violet')
    await page.locator('[name=newPassword]').tap()
    await page.keyboard.type('copper-Lagoon-47')
    await page.getByRole('button', { name: 'Cancel' }).tap()
    await page.getByRole('button', { name: 'Sign out everywhere' }).tap()
    await page.getByRole('button', { name: 'Cancel' }).tap()
  },
}

/** The cookies of a new session, as the browser keeps them. */
const cookiesFor = async (/** @type {string} */ url) =>
  (await latchkey.signIn('person-0')).split('; ').map((pair) => {
    const at = pair.indexOf('=')
    return { name: pair.slice(0, at), value: pair.slice(at + 1), url }
  })

const load = () => loadavg()[0]?.toFixed(1)
console.log(`${availableParallelism()} cores, ${values.slower} times as slow, load average ${load()}`)
const { testProgram } = /** @type {typeof import('../test/support/servers/programs.js')} */ (
  await testPart('programs.ts')
)
const latchkey = await startLatchkey(undefined)
const browser = await chromium.launch({ executablePath: testProgram('chromium'), args: ['--no-sandbox'] })
try {
  const baseURL = `http://localhost:${latchkey.port}`
  /** @type {Map<string, { milliseconds: number, what: string }[]>} */
  const seen = new Map(Object.keys(visits).map((name) => [name, []]))
  for (let round = 0; round < Number(values.rounds); round += 1) {
    const viewport = { width: 390, height: 844 }
    const context = await browser.newContext({ baseURL, viewport, hasTouch: true, isMobile: true, locale: 'en-GB' })
    for (const [name, visit] of Object.entries(visits)) {
      if (name === 'account') await context.addCookies(await cookiesFor(baseURL))
      const page = await context.newPage()
      const session = await context.newCDPSession(page)
      await session.send('Emulation.setCPUThrottlingRate', { rate: Number(values.slower) })
      await page.addInitScript(noteInteractions)
      await visit(page)
      seen.get(name)?.push(await slowestOn(page))
      await page.close()
    }
    await context.close()
  }
  printTable('The slowest interaction of each page, median of the rounds', [
    ['page', 'ms', 'at most', 'which'],
    ...[...seen].map(([name, rounds]) => {
      const times = rounds.map(({ milliseconds }) => milliseconds)
      const most = Math.max(...times)
      return [name, String(median(times)), String(most), rounds.find((each) => each.milliseconds === most)?.what ?? '']
    }),
  ])
} finally {
  await browser.close()
  await latchkey.stop()
}

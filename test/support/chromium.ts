import { once } from 'node:events'
import { connect } from 'node:net'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { type Browser, type BrowserContext, type BrowserContextOptions, chromium, type Page } from 'playwright-core'
import { onTestFailed, TestRunner } from 'vitest'
import { withTimeout } from '../../src/lib/timing.js'
import { stepTimeout } from './controls.js'
import { goodPassword, type Latchkey } from './latchkey.js'

/** Both buttons are there; no test that uses these goes to the providers behind them. */
export const namedProviders = {
  PROVIDER_A_CLIENT_ID: 'a',
  PROVIDER_A_CLIENT_SECRET: 'secret of a',
  PROVIDER_B_CLIENT_ID: 'b',
  PROVIDER_B_CLIENT_SECRET: 'secret of b',
}

/** Drawing takes a good part of a test's time, so windows are small and nothing moves, unless a test is about that. */
const smallWindow = { width: 640, height: 400 }
const cheapToDraw: BrowserContextOptions = { viewport: smallWindow, reducedMotion: 'reduce' }

/** Playwright sets no limit to these calls. A browser that hangs in one of them would otherwise look like a slow test. */
const bounded = (context: BrowserContext) => {
  const within = <Result>(what: string, work: Promise<Result>) =>
    withTimeout(work, stepTimeout, () => {
      throw new Error(`Chromium did not ${what} within ${stepTimeout} ms`)
    })
  context.setDefaultTimeout(stepTimeout)
  const [newPage, close] = [context.newPage.bind(context), context.close.bind(context)]
  return Object.assign(context, {
    newPage: () => within('open a tab', newPage()),
    close: () => within('close its tabs', close()),
  })
}

/** The browser that all test processes share. The connection ends with this process, and its contexts with it. */
const connectToChromium = async (): Promise<Browser> => {
  const { hostname, port } = new URL(process.env.TEST_CHROMIUM_URL ?? '')
  const [address] = await once(connect(Number(port), hostname), 'data')
  const browser = await chromium.connect(String(address), { timeout: stepTimeout })
  const open = browser.newContext.bind(browser)
  const newContext = async (options?: BrowserContextOptions) => bounded(await open({ ...cheapToDraw, ...options }))
  return Object.assign(browser, { newContext })
}

let connected: Promise<Browser> | undefined

/** One connection for all files of a test process. Contexts keep visitors apart. */
export const openChromium = () => {
  connected ??= connectToChromium()
  return connected
}

type Visitor = { context: BrowserContext; page: Page; faults: string[]; failedRequests: string[] }

const newVisitor = async (browser: Browser, options: BrowserContextOptions): Promise<Visitor> => {
  const context = await browser.newContext(options)
  const faults: string[] = []
  context.on('weberror', (fault) => faults.push(fault.error().message))
  context.on('console', (message) => {
    if (/Content.Security.Policy|Refused to/i.test(message.text())) faults.push(message.text())
  })
  const failedRequests: string[] = []
  context.on('requestfailed', (request) => failedRequests.push(`${request.url()} ${request.failure()?.errorText}`))
  context.on('response', (response) => {
    if (response.status() >= 400) failedRequests.push(`${response.url()} ${response.status()}`)
  })
  return { context, page: await context.newPage(), faults, failedRequests }
}

/** Prints what the person saw and what the service logged about it: a test that waits in vain says neither. */
const explainFailure = async ({ page, faults, failedRequests }: Visitor, { logLines }: Latchkey) => {
  const text = await page.innerText('body', { timeout: stepTimeout }).catch(String)
  const refused = logLines.filter((line) => /"level":"(error|warn)"|"status(Code)?":5\d\d/.test(line))
  console.error([page.url(), text, ...faults, ...failedRequests, ...refused.slice(-10)].join('\n'))
}

/** No page of ours, but of our site: for another site, also for `about:blank`, a browser starts another process. */
const restingPlace = '/health/live'

/**
 * Brings the browser back to its first state: nothing stored, one tab, no routes. What comes late for the page before does not arrive any
 * more.
 */
const putAside = async ({ context, page, faults, failedRequests }: Visitor) => {
  await Promise.all(context.pages().map(async (each) => each !== page && (await each.close())))
  await page.unrouteAll({ behavior: 'ignoreErrors' })
  await context.unrouteAll({ behavior: 'ignoreErrors' })
  await page.goto(restingPlace)
  await page.evaluate(() => [sessionStorage, localStorage].map((storage) => storage.clear()))
  await context.clearCookies()
  faults.length = 0
  failedRequests.length = 0
}

/** Visitors who have left, with a tab that the next one can use: a new one costs more than most of what a test does in it. */
let left: { visitor: Visitor; browser: Browser; baseURL: string; key: string }[] = []

const takeOver = async (browser: Browser, baseURL: string, key: string) => {
  const others = left.filter((each) => each.baseURL !== baseURL)
  left = left.filter((each) => each.baseURL === baseURL)
  await Promise.all(others.map(({ visitor }) => visitor.context.close()))
  const found = left.findIndex((each) => each.browser === browser && each.key === key)
  return found === -1 ? undefined : left.splice(found, 1)[0]?.visitor
}

/**
 * A visitor with cookies of their own, and whatever went wrong on their pages. At the end they `leave`, or close the context
 * if it is not as it was: with scripts, a clock, devices or media of its own.
 */
export const visit = async (
  browser: Browser,
  latchkey: Latchkey,
  { extraHTTPHeaders = {}, viewport = smallWindow, ...options }: BrowserContextOptions = {},
) => {
  const all = { baseURL: latchkey.url, locale: 'en-GB', ...options }
  const { baseURL } = all
  const key = JSON.stringify(all)
  const visitor = (await takeOver(browser, baseURL, key)) ?? (await newVisitor(browser, all))
  await visitor.context.setExtraHTTPHeaders(extraHTTPHeaders)
  await visitor.page.setViewportSize(viewport ?? smallWindow)
  if (TestRunner.getCurrentTest()) onTestFailed(() => explainFailure(visitor, latchkey))
  const leave = async () => {
    try {
      await putAside(visitor)
      left.push({ visitor, browser, baseURL, key })
    } catch {
      // It was on its way to another page.
      await visitor.context.close()
    }
  }
  return { ...visitor, leave }
}

/** A visitor who is signed in already, for a test that is not about the form. */
export const visitAs = async (
  browser: Browser,
  latchkey: Latchkey,
  username: string,
  options: BrowserContextOptions = {},
) => {
  const tab = latchkey.browser()
  const { status } = await tab.post('/api/auth/login', { username, password: goodPassword })
  if (status !== 200) throw new Error(`${username} could not sign in: ${status}`)
  const visitor = await visit(browser, latchkey, options)
  const attributes = { url: latchkey.url, httpOnly: true, sameSite: 'Strict' as const }
  await visitor.context.addCookies([...tab.jar].map(([name, value]) => ({ name, value, ...attributes })))
  return visitor
}

export const fillIn = async (page: Page, values: Record<string, string>) => {
  for (const [label, value] of Object.entries(values)) await page.getByLabel(label, { exact: true }).fill(value)
}

const pictures = fileURLToPath(new URL('../../test-output/screenshots/', import.meta.url))

/** With `PICTURES=1` in the environment. Pictures take their time. */
export const keepsPictures = process.env.PICTURES === '1'

/** Keeps a picture of the page, in test-output/screenshots. */
export const keepPicture = async (page: Page, name: string) => {
  if (keepsPictures) await page.screenshot({ path: join(pictures, `${name}.png`), fullPage: true })
}

/** The name of the field that has the focus. Ask with `expect.poll`: a page moves the focus after it has drawn. */
export const focusedField = (page: Page) => page.evaluate(() => document.activeElement?.getAttribute('name'))

/** The label or the text of what has the focus. Also for `expect.poll`. */
export const focusedName = (page: Page) =>
  page.evaluate(() => {
    const focused = document.activeElement
    const label = focused instanceof HTMLInputElement ? focused.labels?.[0] : undefined
    return focused?.getAttribute('aria-label') ?? (label ?? focused)?.textContent
  })

/** Presses Tab until the element has the focus, but not more than once around the page. */
export const tabTo = async (page: Page, name: string, key: 'Tab' | 'Shift+Tab' = 'Tab') => {
  for (let presses = 0; presses < 80; presses += 1) {
    await page.keyboard.press(key)
    if ((await focusedName(page)) === name) return
  }
  throw new Error(`The Tab key does not lead to "${name}"`)
}

/** How many nodes of a role a screen reader finds, as the browser tells it. */
export const countRoles = async (page: Page) => {
  const session = await page.context().newCDPSession(page)
  const { nodes } = await session.send('Accessibility.getFullAXTree')
  await session.detach()
  const roles = nodes.filter(({ ignored }) => !ignored).map(({ role }) => String(role?.value))
  return (name: string) => roles.filter((role) => role === name).length
}

/** The description of what has the focus, which a screen reader reads after its name. Also for `expect.poll`. */
export const focusedDescription = (page: Page) =>
  page.evaluate(() => {
    const ids = document.activeElement?.getAttribute('aria-describedby')?.split(' ') ?? []
    return ids.map((id) => document.getElementById(id)?.textContent).join(' ')
  })

/** The description of a field, which a screen reader reads after its name. */
export const descriptionOf = async (page: Page, label: string) => {
  const session = await page.context().newCDPSession(page)
  const { nodes } = await session.send('Accessibility.getFullAXTree')
  await session.detach()
  return nodes.find(({ name, role }) => role?.value === 'textbox' && name?.value === label)?.description?.value
}

/**
 * What a screen reader says by itself from now on: what changes in a live region that it knows, and every new alert. A region
 * that comes with its text stays silent, and so does everything behind a dialog.
 */
export const listen = async (page: Page) => {
  await page.evaluate(() => {
    const timeToBeKnown = 100
    const said: string[] = []
    Object.assign(globalThis, { said })
    const live = '[aria-live]:not([aria-live=off]), [role=alert], [role=status]'
    const regionsIn = (node: ParentNode) => [...node.querySelectorAll(live)]
    const knownFrom = new WeakMap(regionsIn(document).map((region) => [region, 0]))
    const isBehindDialog = (element: Element) => {
      const front = [...document.querySelectorAll('dialog:modal')].at(-1)
      return front !== undefined && !front.contains(element)
    }
    const hear = (node: Node) => {
      const element = node instanceof Element ? node : node.parentElement
      if (!element || isBehindDialog(element)) return
      const region = element.closest(live)
      const isKnown = region && performance.now() - (knownFrom.get(region) ?? Number.POSITIVE_INFINITY) > timeToBeKnown
      const heard = isKnown ? node : (element.closest('[role=alert]') ?? element.querySelector('[role=alert]'))
      if (heard?.textContent) said.push(heard.textContent)
    }
    const observer = new MutationObserver((changes) => {
      for (const { type, target, addedNodes } of changes)
        for (const node of type === 'characterData' ? [target] : addedNodes) hear(node)
      for (const region of regionsIn(document)) if (!knownFrom.has(region)) knownFrom.set(region, performance.now())
    })
    observer.observe(document.body, { childList: true, subtree: true, characterData: true })
  })
  return () => page.evaluate(() => (globalThis as unknown as { said: string[] }).said)
}

export const press = (page: Page, name: string) => page.getByRole('button', { name, exact: true }).click()

/** Fills in the registration form and arrives where the mail is waited for. */
export const register = async (page: Page, username: string, place = '/register') => {
  const email = `${username}@example.com`
  await page.goto(place)
  await fillIn(page, { Username: username, Email: email, 'Choose a password': goodPassword })
  await press(page, 'Create account')
  await page.waitForURL('**/verify-email**')
  return email
}

/** The same by a request: the page where the mail is waited for, for a test that is not about the form. */
export const registerByRequest = async (page: Page, username: string) => {
  const email = `${username}@example.com`
  await page.request.post('/api/auth/register', { data: { username, email, password: goodPassword } })
  await page.goto('/verify-email')
  return email
}

export const linkIn = (mail: { text: string }) => {
  const link = /^https?:\S+#token=\S+$/m.exec(mail.text)?.[0]
  if (!link) throw new Error('The mail has no link on a line of its own')
  return link
}

export const signIn = async (page: Page, username: string, password = goodPassword) => {
  await fillIn(page, { 'Username or email': username, Password: password })
  await press(page, 'Sign in')
}

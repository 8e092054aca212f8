import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { openChromium, signIn } from '../../support/chromium.js'
import { createBrowser } from '../../support/client.js'
import { goodPassword } from '../../support/latchkey.js'
import { freePort } from '../../support/servers/server.js'
import { until } from '../../support/until.js'

/** Both examples beside one service, as the guide starts them. */
const startExamples = async () => {
  const [latchkey, express, hono] = [await freePort(), await freePort(), await freePort()]
  const child = spawn(process.execPath, ['examples/start.mjs', 'express', 'hono-jsx'], {
    cwd: fileURLToPath(new URL('../../..', import.meta.url)),
    env: { PATH: process.env.PATH, LATCHKEY_PORT: String(latchkey), APP_PORTS: `${express},${hono}` },
  })
  let output = ''
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (text: Buffer) => (output += text.toString()))
  const isReady = () => ['Express', 'Hono'].every((name) => output.includes(`${name} is ready`))
  await until('both examples are ready', () => isReady() || child.exitCode !== null, 200_000)
  if (!isReady()) throw new Error(`The examples did not start: ${output}`)
  const stop = async () => {
    child.kill('SIGTERM')
    if (child.exitCode === null) await once(child, 'exit')
  }
  const [auth, notes, orders] = [latchkey, express, hono].map((port) => `http://localhost:${port}`)
  return { auth: auth ?? '', notes: `${notes}/notes`, orders: `${orders}/orders`, stop }
}

let examples: Awaited<ReturnType<typeof startExamples>>
beforeAll(async () => {
  examples = await startExamples()
})
afterAll(() => examples?.stop())

/** With the mailbox of a development service. */
const register = async (username: string) => {
  const browser = createBrowser(examples.auth)
  const email = `${username}@example.com`
  await browser.post('/api/auth/register', { username, email, password: goodPassword })
  const tokenIn = async () => /#token=([\w-]+)/.exec((await browser.get('/dev/mailbox.json')).text)?.[1]
  await expect.poll(tokenIn).toBeDefined()
  expect((await browser.post('/api/auth/verify-email', { token: await tokenIn() })).status).toBe(200)
}

it('sign a user in, go on after the access token has expired, and end with the session', async () => {
  await register('ada')
  const context = await (await openChromium()).newContext({ locale: 'en-GB' })
  const cookie = async (name: string) =>
    (await context.cookies(examples.auth)).find((each) => each.name === name)?.value
  const page = await context.newPage()

  // To the sign-in page of another host, and back to the same place.
  await page.goto(`${examples.notes}?by=day#today`)
  await page.waitForURL(`${examples.auth}/login**`)
  await signIn(page, 'ada')
  await page.getByRole('heading', { name: 'Notes of ada' }).waitFor()
  expect(page.url()).toBe(`${examples.notes}?by=day#today`)
  await page.getByLabel('Note').fill('Buy <milk>')
  await page.getByRole('button', { name: 'Add' }).click()
  await page.getByText('Buy <milk>').waitFor()

  // A browser drops the cookie when the token expires. The guard renews it while the page is rendered.
  const before = await cookie('access_token')
  await context.clearCookies({ name: 'access_token' })
  await page.reload()
  await page.getByText('Buy <milk>').waitFor()
  const renewed = await cookie('access_token')
  expect(renewed).toMatch(/^[\w-]+\.[\w-]+\.[\w-]+$/)
  expect(renewed).not.toBe(before)

  // A link on another site: the browser holds the cookies back, and the sign-in page brings the user here again.
  await page.goto(examples.orders.replace('localhost', '127.0.0.1').replace('/orders', '/'))
  const visited: string[] = []
  page.on('framenavigated', (frame) => visited.push(frame.url().replace(/\?.*/, '')))
  await page.evaluate((address) => location.assign(address), `${examples.notes}#today`)
  await page.getByText('Buy <milk>').waitFor()
  expect(visited).toEqual([`${examples.auth}/login`, `${examples.notes}#today`])

  // The other application needs no second sign-in.
  const tab = await context.newPage()
  await context.clearCookies({ name: 'access_token' })
  await tab.goto(new URL('/', examples.orders).href)
  await tab.getByText('Hello, ada').waitFor()
  await tab.goto(examples.orders)
  await tab.getByRole('heading', { name: 'Orders of ada' }).waitFor()
  const stolen = { cookie: `access_token=${await cookie('access_token')}` }
  const statusOf = async (address: string) => (await fetch(address, { headers: stolen, redirect: 'manual' })).status
  expect([await statusOf(examples.notes), await statusOf(examples.orders)]).toEqual([200, 200])

  // A sign-out in one tab counts in the other, and for a copy of the token too.
  await tab.getByRole('link', { name: 'Your account and sign-out' }).click()
  await tab.getByRole('button', { name: 'Sign out', exact: true }).click()
  await tab.waitForURL(`${examples.auth}/login**`)
  await page.reload()
  await page.waitForURL(`${examples.auth}/login?returnTo=${encodeURIComponent(examples.notes)}**`)
  for (const address of [examples.notes, examples.orders]) await expect.poll(() => statusOf(address)).toBe(401)
  await context.close()
})

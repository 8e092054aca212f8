import { rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { newServiceKey } from '../../../src/programs/service-keys.js'
import { openChromium, signIn } from '../../support/chromium.js'
import { buildExample, installExample, startExample } from '../../support/example-app.js'
import { type Latchkey, startLatchkey } from '../../support/latchkey.js'
import { freePort } from '../../support/servers/server.js'

let folder: string
let latchkey: Latchkey
let app: string
let stop: () => Promise<void>
beforeAll(async () => {
  folder = await installExample('next', ['@latchkey/client', '@latchkey/verify'])
  await buildExample(folder)

  const port = await freePort()
  const { key, line } = newServiceKey('next', { scopes: ['revocations:read'] })
  const keysFile = join(folder, 'service-keys')
  await writeFile(keysFile, `${line}\n`)
  app = `http://localhost:${port}`
  latchkey = await startLatchkey({
    settings: { ACCESS_TOKEN_ALGORITHM: 'ES256', SERVICE_KEYS_FILE: keysFile, ALLOWED_ORIGINS: app },
  })
  stop = await startExample({
    folder,
    url: app,
    program: ['node_modules/next/dist/bin/next', 'start', '-p', String(port), '-H', '127.0.0.1'],
    settings: { LATCHKEY_URL: latchkey.url, LATCHKEY_SERVICE_KEY: key },
  })
}, 900_000)
afterAll(async () => {
  await stop?.()
  await latchkey?.stop()
  if (folder) await rm(folder, { recursive: true, force: true })
})

it('the example for Next.js signs in and out, renews tokens, and shows the same user on the server and in the browser', async () => {
  await latchkey.signedUp('ada')
  const context = await (await openChromium()).newContext({ locale: 'en-GB' })
  const page = await context.newPage()
  const problems: string[] = []
  // A difference between what the server and the browser render is an error of React.
  page.on('pageerror', ({ message }) => problems.push(message))
  const heading = (name: string) => page.getByRole('heading', { name }).waitFor()
  const header = (text: string) => page.getByRole('banner').getByText(text).waitFor()

  await page.goto(app)
  await header('Not signed in')
  await page.getByRole('link', { name: 'Sign in' }).click()
  await page.waitForURL(`${latchkey.url}/login**`)
  await signIn(page, 'ada')
  await heading('Notes of ada')
  expect(page.url()).toBe(`${app}/notes`)
  await header('Signed in as ada')
  expect(await (await page.request.get(`${app}/notes`)).text()).toContain('<header>Signed in as')

  // A browser drops the cookie when the token expires. First a server action, then a page, then a route handler.
  const add = async (note: string) => {
    await page.getByLabel('Note').fill(note)
    await page.getByRole('button', { name: 'Add' }).click()
    await page.getByText(note).waitFor()
  }
  await context.clearCookies({ name: 'access_token' })
  await add('Milk')
  await context.clearCookies({ name: 'access_token' })
  await page.reload()
  await page.getByText('Milk').waitFor()
  await context.clearCookies({ name: 'access_token' })
  expect(await page.evaluate(() => fetch('/api/notes').then((answer) => answer.json()))).toEqual(['Milk'])

  // Every user with two factors would not be enough, and this one has one.
  await page.goto(`${app}/admin`)
  await page.waitForURL(`${latchkey.url}/step-up?group=1**`)

  // A second tab learns of the sign-out on the server, and shows the notes no more.
  const tab = await context.newPage()
  await tab.goto(`${app}/notes`)
  await tab.getByText('Signed in as ada').waitFor()
  await page.goto(`${app}/notes`)
  await context.clearCookies({ name: 'access_token' })
  await page.getByRole('button', { name: 'Sign out' }).click()
  await header('Not signed in')
  expect(page.url()).toBe(`${app}/`)
  await tab.waitForURL(`${latchkey.url}/login**`)
  const names = (await context.cookies()).map(({ name }) => name)
  expect(names.filter((name) => /_token$/.test(name))).toEqual([])
  await page.goto(`${app}/notes?by=day`)
  await page.waitForURL(`${latchkey.url}/login?returnTo=${encodeURIComponent(`${app}/notes?by=day`)}**`)
  expect(problems).toEqual([])
  await context.close()
})

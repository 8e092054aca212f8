import { once } from 'node:events'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { get } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, expect, it, onTestFinished } from 'vitest'
import { newServiceKey } from '../../../src/programs/service-keys.js'
import { openChromium, signIn } from '../../support/chromium.js'
import { buildExample, installExample, startExample } from '../../support/example-app.js'
import { type Latchkey, startLatchkey } from '../../support/latchkey.js'
import { freePort } from '../../support/servers/server.js'

/** What Node runs after a build. */
const programs = { sveltekit: 'build', nuxt: '.output/server/index.mjs', astro: 'dist/server/entry.mjs' }
const apps = new Map<string, string>()
const { key, line } = newServiceKey('examples', { scopes: ['revocations:read'] })
let latchkey: Latchkey
let keysFolder: string
beforeAll(async () => {
  for (const name of Object.keys(programs)) apps.set(name, `http://localhost:${await freePort()}`)
  keysFolder = await mkdtemp(join(tmpdir(), 'latchkey-keys-'))
  const keysFile = join(keysFolder, 'service-keys')
  await writeFile(keysFile, `${line}\n`)
  latchkey = await startLatchkey({
    settings: {
      ACCESS_TOKEN_ALGORITHM: 'ES256',
      SERVICE_KEYS_FILE: keysFile,
      ALLOWED_ORIGINS: [...apps.values()].join(','),
    },
  })
  await latchkey.signedUp('ada')
})
afterAll(async () => {
  await latchkey?.stop()
  if (keysFolder) await rm(keysFolder, { recursive: true, force: true })
})

const loginFor = (place: string) => `${latchkey.url}/login?returnTo=${encodeURIComponent(place)}`

/** A page load of a browser that has these cookies. `fetch` would say that it is none. */
const load = async (url: string, cookie = '') => {
  const [answer] = await once(get(url, { headers: { accept: 'text/html', cookie } }), 'response')
  answer.resume()
  return [answer.statusCode, answer.headers.location]
}

const strangersAreSentToSignIn = async (app: string) => {
  expect(await load(`${app}/profile?by=day`)).toEqual([302, loginFor(`${app}/profile?by=day`)])
  for (const path of ['/PROFILE', '//profile', '/%70rofile', '/unknown'])
    expect((await load(app + path))[0], path).toBe(302)
  const answer = await fetch(`${app}/api/profile`)
  expect([answer.status, await answer.json()]).toMatchObject([401, { code: 'not_authenticated' }])
}

const signedInAs = async (page: Page) => {
  await page.waitForURL(`${latchkey.url}/login**`)
  await signIn(page, 'ada')
  await page.getByRole('heading', { name: 'Profile of ada' }).waitFor()
}

const ofUsersIsInNoCache = async (app: string, page: Page) => {
  for (const path of ['/', '/profile', '/api/profile']) {
    const answer = await page.request.get(app + path)
    expect([answer.status(), answer.headers()['cache-control']], path).toEqual([200, 'private, no-store'])
  }
}

it.each(Object.entries(programs))('the example for %s signs in and out, and renews tokens', async (name, program) => {
  const app = apps.get(name) ?? ''
  const folder = await installExample(name, ['@latchkey/verify'])
  onTestFinished(() => rm(folder, { recursive: true, force: true }))
  await buildExample(folder)
  const settings = { LATCHKEY_URL: latchkey.url, LATCHKEY_SERVICE_KEY: key, ORIGIN: app }
  onTestFinished(await startExample({ folder, url: app, program: [program], settings }))
  await strangersAreSentToSignIn(app)

  const context = await (await openChromium()).newContext({ locale: 'en-GB' })
  onTestFinished(() => context.close())
  const page = await context.newPage()
  const problems: string[] = []
  page.on('pageerror', ({ message }) => problems.push(message))
  const heading = (text: string) => page.getByRole('heading', { name: text, exact: true }).waitFor()
  const expire = () => context.clearCookies({ name: 'access_token' })

  await page.goto(app)
  await heading('Hello')
  await page.getByRole('link', { name: 'Sign in' }).click()
  await signedInAs(page)
  expect(page.url()).toBe(`${app}/profile`)
  await ofUsersIsInNoCache(app, page)

  // A browser drops the cookie when the token expires. First a page, then a link of the framework, then the API.
  await expire()
  await page.reload()
  await heading('Profile of ada')
  await page.getByRole('link', { name: 'Start page' }).click()
  await heading('Hello ada')
  await expire()
  await page.getByRole('link', { name: 'Your profile' }).click()
  await heading('Profile of ada')
  await expire()
  const profile = page.evaluate(() => fetch('/api/profile').then((answer) => answer.json()))
  expect(await profile).toMatchObject({ username: 'ada' })

  const cookies = (await context.cookies(app)).map(({ name: each, value }) => `${each}=${value}`)
  const planted = [...cookies, 'access_token=planted'].join('; ')
  expect((await load(`${app}/profile`, cookies.join('; ')))[0]).toBe(200)
  expect((await load(`${app}/profile`, planted))[0]).toBe(302)
  const asked = { method: 'POST', headers: { cookie: cookies.join('; '), origin: 'http://localhost:1' } }
  expect((await fetch(`${app}/sign-out`, asked)).status).toBe(403)

  // The session ends while a page is open, and a link leads to the sign-in page.
  await page.goto(app)
  await heading('Hello ada')
  await context.clearCookies()
  await page.getByRole('link', { name: 'Your profile' }).click()
  await signedInAs(page)

  await expire()
  await page.getByRole('button', { name: 'Sign out' }).click()
  await heading('Hello')
  expect(page.url()).toBe(`${app}/`)
  expect((await context.cookies()).filter(({ name: each }) => /_token$/.test(each))).toEqual([])
  await page.goto(`${app}/profile`)
  await page.waitForURL(`${latchkey.url}/login**`)
  expect(problems).toEqual([])
})

import { readFile } from 'node:fs/promises'
import type { BrowserContext, Page } from 'playwright-core'
import { expect } from 'vitest'
import { testPostgres } from '../support/databases.js'
import { password } from '../support/site/site.js'

const fileOf = (path: string) => new URL(`../../${path}`, import.meta.url)
const wrapper = () => readFile(fileOf('deploy/forward-auth/renewing-fetch.js'), 'utf8')

/** Runs in a page: twelve requests, close to each other but not at the same moment, and every third of them a POST. */
const askTwelveTimes = () => {
  const { renewingFetch } = window as unknown as { renewingFetch: typeof fetch }
  const one = async (index: number) => {
    await new Promise((resolve) => setTimeout(resolve, index * 12))
    const options = index % 3 === 0 ? { method: 'POST', body: `note=${index}` } : {}
    return (await renewingFetch(`/notes?index=${index}`, options)).status
  }
  return Promise.all(Array.from({ length: 12 }, (_, index) => one(index)))
}

const theftsIn = async (databaseUrl: string) => {
  const database = testPostgres(databaseUrl)
  try {
    return (await database.query("select 1 from events where kind = 'refresh_theft'")).length
  } finally {
    await database.close()
  }
}

type Places = { context: BrowserContext; page: Page; here: string; username: string; databaseUrl: string }

/** The access token expires several times while two tabs of the application send many requests at once. */
export const renewFromTwoTabs = async ({ context, page, here, username, databaseUrl }: Places) => {
  await page.goto(`${here}/login?returnTo=/notes`)
  await page.getByLabel('Username or email').fill(username)
  await page.getByLabel('Password', { exact: true }).fill(password)
  await page.keyboard.press('Enter')
  await page.waitForURL(`${here}/notes`)
  const other = await context.newPage()
  await other.goto(`${here}/notes`)
  const content = `${await wrapper()}\nwindow.renewingFetch = renewingFetch`
  const tabs = [page, other]
  for (const tab of tabs) await tab.addScriptTag({ content, type: 'module' })
  let renewals = 0
  context.on('request', (request) => {
    if (request.url().endsWith('/api/auth/refresh')) renewals += 1
  })

  for (let round = 1; round <= 4; round += 1) {
    await context.clearCookies({ name: 'access_token' })
    const statuses = await Promise.all(tabs.map((tab) => tab.evaluate(askTwelveTimes)))
    expect(statuses.flat().filter((status) => status !== 200)).toEqual([])
    expect(renewals).toBe(round)
  }
  expect(await theftsIn(databaseUrl)).toBe(0)

  // A service in trouble is not the end of a session.
  await context.clearCookies({ name: 'access_token' })
  await context.route('**/api/auth/refresh', (route) => route.fulfill({ status: 503, body: '{}' }))
  expect(new Set(await page.evaluate(askTwelveTimes))).toEqual(new Set([503]))
  await context.unroute('**/api/auth/refresh')
  expect(new Set(await page.evaluate(askTwelveTimes))).toEqual(new Set([200]))

  // Without a session it says so, and does not try for ever.
  await context.clearCookies()
  expect(new Set(await page.evaluate(askTwelveTimes))).toEqual(new Set([401]))
}

export const expectGuideShowsWrapper = async () =>
  expect(await readFile(fileOf('docs/forward-auth.md'), 'utf8')).toContain(`\`\`\`js\n${await wrapper()}\`\`\``)

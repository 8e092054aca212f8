import { mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { openChromium } from '../../support/chromium.js'
import { runLatchkey } from '../../support/program.js'
import { freePort } from '../../support/servers/server.js'

const command = fileURLToPath(new URL('../../../examples/spa/start.mjs', import.meta.url))

describe('the example of a single-page application', () => {
  let folder: string
  let url: string
  let example: ReturnType<typeof runLatchkey>
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'latchkey-example-'))
    example = runLatchkey(folder, { PORT: String(await freePort()), TMPDIR: folder }, [], command)
    url = await example.ready()
  })
  afterAll(async () => {
    example.signal('SIGTERM')
    await example.exited
    const left = await readdir(folder)
    await rm(folder, { recursive: true, force: true })
    expect(left).toEqual([])
  })

  it('gives Latchkey nothing but its settings, and passes all its addresses on', async () => {
    expect(example.output.stdout + example.output.stderr).not.toContain('is not a setting')
    expect(await (await fetch(`${url}/dev/mailbox.json`)).json()).toBeDefined()
  })

  const greeted = (page: Page) => page.getByText('Hello, ada').waitFor()
  const add = async (page: Page, text: string) => {
    await page.getByLabel('Note').fill(text)
    await page.getByRole('button', { name: 'Add' }).click()
    await page.getByRole('listitem').filter({ hasText: text }).waitFor()
  }

  it('signs in and comes back, survives an expired access token, and notices a sign-out in another tab', async () => {
    const context = await (await openChromium()).newContext({ locale: 'en-GB' })
    const page = await context.newPage()
    await page.goto(`${url}/?list=1#notes`)
    await page.getByRole('link', { name: 'Sign in' }).click()
    await page.getByRole('link', { name: 'Continue with Google' }).click()
    await page.getByRole('button', { name: 'Ada Example' }).click()
    await greeted(page)
    expect(page.url()).toBe(`${url}/?list=1#notes`)
    await add(page, 'Milk')

    // A browser forgets the cookie when the token expires. This is a full page load, and then a form.
    await context.clearCookies({ name: 'access_token' })
    await page.reload()
    await greeted(page)
    await context.clearCookies({ name: 'access_token' })
    await add(page, 'Bread')
    expect(await page.getByRole('listitem').allTextContents()).toEqual(['Milk', 'Bread'])

    const other = await context.newPage()
    await other.goto(url)
    await greeted(other)
    await other.getByRole('button', { name: 'Sign out' }).click()
    for (const tab of [other, page]) await tab.getByRole('link', { name: 'Sign in' }).waitFor()
    await context.close()
  })
})

import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { addApplication } from '../support/applications.js'
import { parametersFor } from '../support/authorization-requests.js'
import { keepPicture, openChromium, press, visitAs } from '../support/chromium.js'
import { type DocumentServer, startDocumentServer } from '../support/document-server.js'
import { type Latchkey, startLatchkey } from '../support/latchkey.js'
import { addResource } from '../support/resources.js'
import { violationsOn } from './visits-for-applications.js'

// What a person sees who is asked whether a program may act for them.

const resource = 'https://mcp.example.com/mcp'
const callback = 'app.helper:/callback'

let latchkey: Latchkey
let browser: Browser
let folder: string
let documents: DocumentServer
let id: string
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'latchkey-agents-'))
  documents = await startDocumentServer(folder)
  const settings = { CLIENT_DOCUMENTS: documents.host, CLIENT_DOCUMENTS_ALLOW_PRIVATE: 'true', NODE_ENV: 'development' }
  ;[latchkey, browser] = await Promise.all([startLatchkey({ settings }), openChromium()])
  const redirectAddresses = ['http://127.0.0.1/callback', callback]
  id = (await addApplication(latchkey, { name: 'Helper', kind: 'native', home: 'app.helper:/', redirectAddresses })).id
  await addResource(latchkey)
  await latchkey.advance(1_001)
  await latchkey.signedUp('ada')
})
afterAll(async () => {
  await latchkey?.stop()
  await documents?.stop()
  await rm(folder, { recursive: true })
})

const addressOf = (changed: Record<string, string | null>, clientId = id) =>
  `/api/auth/authorize?${parametersFor(clientId, changed)}`

it('the page says which program it is, where it runs, what it may do there, how long, and how to say no', async () => {
  const { page, faults, leave } = await visitAs(browser, latchkey, 'ada')
  await page.goto(addressOf({ resource, scope: 'read write', redirect_uri: 'http://127.0.0.1:4711/callback' }))
  await page.getByRole('heading', { name: 'Let Helper use Wiki tools?' }).waitFor()
  const text = await page.locator('main').innerText()
  for (const said of [
    'a program on this computer',
    'Wiki tools (https://mcp.example.com/mcp)',
    'Any program on this computer can say that it is Helper',
    'Read pages',
    'Change pages',
    'how and when you signed in',
    'for at most 365 days',
  ])
    expect(text).toContain(said)
  await keepPicture(page, 'openid-program')
  expect(await violationsOn(page)).toEqual([])
  const left = page.waitForRequest(/^http:\/\/127\.0\.0\.1:4711\/callback\?error=access_denied/)
  await press(page, 'Do not allow')
  await left
  expect(faults.filter((fault) => !fault.includes('4711'))).toEqual([])
  await leave()
})

const redirects = ['http://127.0.0.1/callback', 'https://agent.example/callback']

// Of a program that answers on this computer not even the host is certain: any other can use its document.
it.each([
  [
    'dark',
    'https://agent.example/callback',
    'agent.example',
    'Kommt von',
    (host: string) => `Sicher ist nur, dass es von ${host} kommt.`,
  ],
  [
    'light',
    'http://127.0.0.1:4711/callback',
    'ein Programm auf diesem Computer',
    'Nach eigener Angabe von',
    (host: string) => `Jedes Programm auf diesem Computer kann sich als Agent (${host}) ausgeben.`,
  ],
] as const)(
  'the page of a program that nobody registered says how much of it is certain, on a telephone, %s',
  async (colorScheme, redirect, destination, origin, warning) => {
    const look = { locale: 'de-DE', colorScheme, viewport: { width: 390, height: 844 } }
    const { page, leave } = await visitAs(browser, latchkey, 'ada', look)
    const clientId = documents.serve('/agent.json', { client_name: 'Agent', redirect_uris: redirects })
    await page.goto(addressOf({ resource, scope: 'read', redirect_uri: redirect }, clientId))
    const { host } = documents
    await page.getByRole('heading', { name: `Darf Agent (${host}) auf Wiki tools zugreifen?` }).waitFor()
    const facts = await page.locator('dl div').evaluateAll((rows) =>
      rows.map((row) => [
        ...[...row.children].map(({ textContent }) => textContent),
        // Without its style sheet, labels and values look alike.
        new Set([...row.children].map((part) => getComputedStyle(part).color)).size,
      ]),
    )
    expect(facts).toEqual([
      [origin, host, 2],
      ['Möchte benutzen', 'Wiki tools (https://mcp.example.com/mcp)', 2],
      ['Ihre Antwort geht an', destination, 2],
    ])
    const text = await page.locator('main').innerText()
    const unchecked = 'Niemand hat dieses Programm hier geprüft, und seinen Namen hat es selbst gewählt.'
    for (const said of [unchecked, warning(host), 'Read pages', 'höchstens 365 Tage']) expect(text).toContain(said)
    expect(await violationsOn(page)).toEqual([])
    expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(390)
    await keepPicture(page, `openid-document-${colorScheme}`)
    const left = page.waitForRequest((request) => request.url().startsWith(`${redirect}?error=access_denied`))
    await press(page, 'Nicht erlauben')
    await left
    await leave()
  },
)

it('the page that is left behind says that it can be closed', async () => {
  const { page, leave } = await visitAs(browser, latchkey, 'ada')
  await page.goto(addressOf({ scope: 'openid profile offline_access', redirect_uri: callback }))
  await page.getByText('It stays signed in on this device').waitFor()
  await press(page, 'Continue')
  await page.getByRole('heading', { name: 'You can close this window' }).waitFor()
  await keepPicture(page, 'openid-left')
  await leave()
})

import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { addApplication } from '../support/applications.js'
import { parametersFor } from '../support/authorization-requests.js'
import { keepPicture, openChromium, press, visitAs } from '../support/chromium.js'
import { type Latchkey, startLatchkey } from '../support/latchkey.js'
import { addResource } from '../support/resources.js'
import { violationsOn } from './visits-for-applications.js'

// What a person sees who is asked whether a program may act for them.

const resource = 'https://mcp.example.com/mcp'
const callback = 'app.helper:/callback'

let latchkey: Latchkey
let browser: Browser
let id: string
beforeAll(async () => {
  ;[latchkey, browser] = await Promise.all([startLatchkey({ settings: { NODE_ENV: 'development' } }), openChromium()])
  const redirectAddresses = ['http://127.0.0.1/callback', callback]
  id = (await addApplication(latchkey, { name: 'Helper', kind: 'native', home: 'app.helper:/', redirectAddresses })).id
  await addResource(latchkey)
  await latchkey.advance(1_001)
  await latchkey.signedUp('ada')
})
afterAll(() => latchkey?.stop())

const addressOf = (changed: Record<string, string | null>) => `/api/auth/authorize?${parametersFor(id, changed)}`

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

it('the page that is left behind says that it can be closed', async () => {
  const { page, leave } = await visitAs(browser, latchkey, 'ada')
  await page.goto(addressOf({ scope: 'openid profile offline_access', redirect_uri: callback }))
  await page.getByText('It stays signed in on this device').waitFor()
  await press(page, 'Continue')
  await page.getByRole('heading', { name: 'You can close this window' }).waitFor()
  await keepPicture(page, 'openid-left')
  await leave()
})

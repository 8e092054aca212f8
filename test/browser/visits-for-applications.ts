import type { Browser, Page, Route } from 'playwright-core'
import { expect } from 'vitest'
import { operatorClient } from '../../src/http/request-origin.js'
import { addApplication } from '../support/applications.js'
import { parametersFor } from '../support/authorization-requests.js'
import { faultsOf } from '../support/axe.js'
import { openChromium, visit } from '../support/chromium.js'
import { type Latchkey, startLatchkey } from '../support/latchkey.js'

const applications = {
  grafana: {},
  wiki: {},
  shop: { consent: 'ask' },
  vault: { access: 'groups', groups: ['staff'] },
  safe: { factors: 2 },
} as const
type Name = keyof typeof applications

export const siteOf = (name: Name) => `https://${name}.example.com`
const sites = /^https:\/\/\w+\.example\.com\//

/** The service with five applications and a user, ada; and Chromium. */
export const startWithApplications = async () => {
  // In development there are providers on this machine.
  const settings = { NODE_ENV: 'development', PROVIDER_A_NAME: 'Google', PROVIDER_B_NAME: 'GitHub' }
  const [latchkey, browser] = await Promise.all([startLatchkey({ settings }), openChromium()])
  await latchkey.app.rooms.groups.add('staff', operatorClient('root'))
  const ids: Partial<Record<Name, string>> = {}
  for (const [name, more] of Object.entries(applications) as [Name, object][]) {
    const place = { home: siteOf(name), redirectAddresses: [`${siteOf(name)}/callback`] }
    ids[name] = (await addApplication(latchkey, { name, ...place, ...more })).id
  }
  await latchkey.advance(1_001)
  await latchkey.signedUp('ada')
  return { latchkey, browser, ids, addressFor: addressesOf(latchkey, ids) }
}

const addressesOf =
  (latchkey: Latchkey, ids: Partial<Record<Name, string>>) =>
  (name: Name, changed: Record<string, string> = {}) => {
    const parameters = parametersFor(ids[name] ?? '', { redirect_uri: `${siteOf(name)}/callback`, ...changed })
    return `${latchkey.url}/api/auth/authorize?${parameters}`
  }

type Visitor = Awaited<ReturnType<typeof visit>>

/** Where each tab was sent that was sent to an application. */
const arrivals = new WeakMap<Page, string>()
const noteArrival = (route: Route) => {
  arrivals.set(route.request().frame().page(), route.request().url())
  // The tab stays where it is: for another site, a browser would start another process.
  return route.fulfill({ status: 204 })
}

/** For this visitor an application answers at each of its sites. */
export const withApplications = async (visitor: Visitor) => {
  arrivals.delete(visitor.page)
  await visitor.context.route(sites, noteArrival)
  return visitor
}
export const visitApplications = async (browser: Browser, latchkey: Latchkey) =>
  withApplications(await visit(browser, latchkey))

/** The address that the application was given, once the tab has got there. */
export const arrival = async (page: Page, name: Name, answer = '') => {
  await expect.poll(() => arrivals.get(page)).toContain(`${siteOf(name)}/callback?${answer}`)
  const address = arrivals.get(page) ?? ''
  arrivals.delete(page)
  return address
}
export const arrivalWithCode = (page: Page, name: Name) => arrival(page, name, 'code=')

export const saysWhere = (page: Page, name: Name) => page.getByText(`After this you continue to ${name}.`).waitFor()

/** What a finger does not hit: WCAG 2.2 asks for 44 pixels of everything that is pressed and stands in no sentence. */
export const smallTargetsOn = (page: Page) =>
  page.evaluate(() =>
    [...document.querySelectorAll<HTMLElement>('.card :is(a, button), .card-footer a, .notice a')]
      .filter((target) => target.offsetHeight > 0 && target.offsetHeight < 44)
      .map((target) => `${target.textContent || target.getAttribute('aria-label')}: ${target.offsetHeight}`),
  )
/** Also what axe finds. For a screen that is a variant of another one, the targets are enough. */
export const violationsOn = async (page: Page) => [...(await faultsOf(page)), ...(await smallTargetsOn(page))]

import { afterAll, beforeAll, expect, it } from 'vitest'
import { addApplication } from '../support/applications.js'
import { keepPicture, openChromium, signIn } from '../support/chromium.js'
import { type Latchkey, startLatchkey } from '../support/latchkey.js'
import { freePort } from '../support/servers/server.js'
import { startHosts } from '../support/site/hosts.js'
import { secretOf } from '../support/site/instance.js'
import { addPeople, password } from '../support/site/site.js'
import { until } from '../support/until.js'
import { violationsOn } from './visits-for-applications.js'

/** The service at `auth.site.test`, and applications behind a proxy on two other root domains. */
const startSite = async () => {
  const port = await freePort()
  const [auth, wiki, notes, lost] = ['auth.site', 'wiki.other', 'notes.third', 'lost.third'].map(
    (name) => `https://${name}.test:${port}`,
  )
  const latchkey = await startLatchkey({
    settings: {
      NODE_ENV: 'production',
      PUBLIC_URL: auth ?? '',
      JWT_SECRET: secretOf('a'),
      SMTP_URL: 'smtp://127.0.0.1:9',
      MAIL_FROM: 'no-reply@example.com',
    },
  })
  await addPeople(latchkey.config.databaseUrl ?? '', ['ada'])
  for (const [name, origin = ''] of [
    ['Wiki', wiki],
    ['Notes', notes],
    ['Lost', lost],
  ])
    await addApplication(latchkey, { name, proxyOrigin: origin, home: `${origin}/`, redirectAddresses: [] })
  const body = `<!doctype html><title>Application</title><p>Here is {user}</p>
<a href="${notes}/list">Notes</a> <a href="/.latchkey/sign-out">Leave</a>`
  const hosts = await startHosts(port, latchkey.config.port, {
    wiki: { isProtected: true, body },
    notes: { isProtected: true, body },
    lost: { isProtected: true, losesCookies: true, body },
  })
  const stop = async () => {
    hosts.close()
    await latchkey.stop()
  }
  return { latchkey, auth, wiki, notes, lost, stop }
}

let site: Awaited<ReturnType<typeof startSite>>
beforeAll(async () => {
  site = await startSite()
})
afterAll(() => site?.stop())

const isKnown = async ({ app }: Latchkey, origin = '') => app.rooms.protectedApplications.find(origin) !== undefined

it('signs in once for hosts of two other root domains, without a cookie of ours there, and out of both', async () => {
  const { latchkey, auth, wiki, notes, lost } = site
  await until('the applications are known', () => isKnown(latchkey, lost))
  const browser = await openChromium()
  const context = await browser.newContext({ ignoreHTTPSErrors: true, locale: 'en-GB' })
  const page = await context.newPage()
  await page.goto(`${wiki}/page?a=1#part`)
  await page.getByText('to continue to Wiki').waitFor()
  await signIn(page, 'ada', password)
  await page.getByText('Here is ada').waitFor()
  expect(page.url()).toBe(`${wiki}/page?a=1#part`)
  // From another site the Strict cookies are not sent at first, and nobody is asked.
  await page.getByRole('link', { name: 'Notes' }).click()
  await page.waitForURL(`${notes}/list`)
  await page.getByText('Here is ada').waitFor()
  const elsewhere = (await context.cookies()).filter(({ domain }) => !domain.endsWith('site.test'))
  expect(elsewhere.map(({ name, domain }) => `${name} ${domain}`).sort()).toEqual([
    '__Host-latchkey notes.third.test',
    '__Host-latchkey wiki.other.test',
  ])
  // Nothing of the way is left in the history.
  await page.goBack()
  await page.waitForURL(`${wiki}/page?a=1#part`)

  // A proxy that loses cookies leads nobody around for ever.
  const tab = await context.newPage()
  await tab.goto(`${lost}/`)
  await tab.getByRole('heading', { name: 'The sign-in for this application was not finished' }).waitFor()
  expect(await tab.locator('script').count()).toBe(0)
  await keepPicture(tab, 'host-again')
  expect(await violationsOn(tab)).toEqual([])
  await tab.getByRole('link', { name: 'Begin again' }).click()
  await tab.getByRole('heading', { name: 'The sign-in does not reach this application' }).waitFor()
  expect(await tab.getByRole('link').count()).toBe(0)
  await keepPicture(tab, 'host-stopped')

  await page.getByRole('link', { name: 'Leave' }).click()
  await page.waitForURL(`${auth}/login?notice=signed_out`)
  await page.getByRole('button', { name: 'Sign in', exact: true }).waitFor()
  await page.goto(`${notes}/list`)
  await page.waitForURL(`${auth}/login?returnTo=**`)
  await context.close()
})

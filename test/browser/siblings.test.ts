import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { openChromium, signIn } from '../support/chromium.js'
import { startLatchkey } from '../support/latchkey.js'
import { freePort } from '../support/servers/server.js'
import { startHosts } from '../support/site/hosts.js'
import { secretOf } from '../support/site/instance.js'
import { addPeople, password } from '../support/site/site.js'

const planted = [
  'access_token=planted; Domain=site.test; Path=/; Secure',
  'refresh_token=planted; Domain=site.test; Path=/; Secure',
  'csrf_secret=planted; Domain=site.test; Path=/; Secure',
  '__Host-csrf_secret=planted; Domain=site.test; Path=/; Secure',
  '__Host-attempt_aaaaaaaaaaaa=planted; Domain=site.test; Path=/; Secure',
  '__Host-pending_link=planted; Domain=site.test; Path=/; Secure',
]

/** The page of an application on another host, without a build: it shows who is signed in, and signs in and out. */
const application = (auth: string) => `<!doctype html><title>Application</title><p id="who">…</p>
<a>Sign in</a><button>Leave</button>
<script type="module">
import { createClient } from '${auth}/api/auth/client.js'
const client = createClient({ baseUrl: '${auth}' })
const show = async () => {
  const answer = await client.me()
  who.textContent = answer.refused ? 'Signed out: ' + answer.refused : 'Hello, ' + answer.value.user.username
}
document.querySelector('a').href = client.signInUrl()
document.querySelector('button').onclick = () => client.logout()
client.onChange(show)
await show()
</script>`

/** The service on `auth.site.test`, and beside it `other`, which plants cookies, and `app`, an application. */
const startSite = async (settings: (port: number) => Record<string, string> = () => ({})) => {
  const port = await freePort()
  const auth = `https://auth.site.test:${port}`
  const latchkey = await startLatchkey({
    settings: {
      NODE_ENV: 'production',
      PUBLIC_URL: auth,
      JWT_SECRET: secretOf('a'),
      SMTP_URL: 'smtp://127.0.0.1:9',
      MAIL_FROM: 'no-reply@example.com',
      ...settings(port),
    },
  })
  await addPeople(latchkey.config.databaseUrl ?? '', ['ada'])
  const hosts = await startHosts(port, latchkey.config.port, {
    other: { headers: { 'set-cookie': planted }, body: 'planted' },
    app: { body: application(auth) },
  })
  const stop = async () => {
    hosts.close()
    await latchkey.stop()
  }
  return { auth, other: `https://other.site.test:${port}`, app: `https://app.site.test:${port}`, stop }
}

/** Runs in a page of the service. */
const signInByRequest = async (password: string) => {
  const headers = { 'content-type': 'application/json' }
  const body = JSON.stringify({ username: 'ada', password })
  return (await fetch('/api/auth/login', { method: 'POST', headers, body })).status
}

const openPage = async () => {
  const browser = await openChromium()
  const context = await browser.newContext({ ignoreHTTPSErrors: true, locale: 'en-GB' })
  const cookies = async () => (await context.cookies()).map(({ name, domain, value }) => ({ name, domain, value }))
  return { context, cookies, page: await context.newPage() }
}

describe('a sibling host that plants cookies for the whole domain', () => {
  let site: Awaited<ReturnType<typeof startSite>>
  beforeAll(async () => {
    site = await startSite()
  })
  afterAll(() => site?.stop())

  it('plants none of our own names, and locks no user out', async () => {
    const { context, cookies, page } = await openPage()
    const { auth: ours, other } = site
    await page.goto(`${ours}/health/live`)
    expect(await page.evaluate(signInByRequest, password)).toBe(200)

    await page.goto(`${other}/`)
    const names = (await cookies()).filter(({ value }) => value === 'planted').map(({ name }) => name)
    expect(names.sort()).toEqual(['access_token', 'csrf_secret', 'refresh_token'])

    // Both tokens come twice now and count as none. The sign-in page clears them.
    await page.goto(`${ours}/dashboard`)
    await page.getByRole('button', { name: 'Sign in', exact: true }).waitFor()
    expect((await cookies()).filter(({ name }) => /^(access|refresh)_token$/.test(name))).toEqual([])
    await signIn(page, 'ada', password)
    await page.getByText(/^Hello, /).waitFor()

    // And where the cookies were planted while the form was open, signing in replaces them.
    await page.getByRole('button', { name: 'Sign out', exact: true }).click()
    await page.getByRole('button', { name: 'Sign in', exact: true }).waitFor()
    const tab = await context.newPage()
    await tab.goto(`${other}/`)
    await signIn(page, 'ada', password)
    await page.getByText(/^Hello, /).waitFor()
    await page.goto(`${ours}/dashboard`)
    await page.getByText(/^Hello, /).waitFor()
    await context.close()
  })
})

describe('an application on a sibling host', () => {
  let site: Awaited<ReturnType<typeof startSite>>
  beforeAll(async () => {
    site = await startSite((port) => ({
      COOKIE_DOMAIN: 'site.test',
      ALLOWED_ORIGINS: `https://app.site.test:${port}`,
    }))
  })
  afterAll(() => site?.stop())

  it('shares the session of the domain, asks the service by itself, signs out, and is the only other host to return to', async () => {
    const { context, cookies, page } = await openPage()
    await page.goto(`${site.app}/?from=sign-in#end`)
    await page.getByText('Signed out: not_authenticated').waitFor()
    await page.getByRole('link', { name: 'Sign in' }).click()
    await signIn(page, 'ada', password)
    await page.getByText('Hello, ada').waitFor()
    expect(page.url()).toBe(`${site.app}/?from=sign-in#end`)
    const domains = (await cookies()).map(({ name, domain }) => `${name} ${domain}`).sort()
    expect(domains.filter((each) => /^(access|refresh)_token/.test(each))).toEqual([
      'access_token .site.test',
      'refresh_token .site.test',
    ])
    expect(domains.filter((each) => each.startsWith('__Host-') && !each.endsWith(' auth.site.test'))).toEqual([])
    await page.getByRole('button', { name: 'Leave' }).click()
    await page.getByText('Signed out: not_authenticated').waitFor()

    // Nothing tells this tab what happens on another host: it asks when it is looked at again.
    const tab = await context.newPage()
    // Nor is the service a way to a site that is not allowed.
    await tab.goto(`${site.auth}/login?returnTo=${encodeURIComponent(`${site.other}/`)}`)
    await signIn(tab, 'ada', password)
    await tab.waitForURL(`${site.auth}/dashboard`)
    await tab.getByText(/^Hello, /).waitFor()
    await page.evaluate(() => {
      const { now } = Date
      Date.now = () => now() + 60_000
      document.dispatchEvent(new Event('visibilitychange'))
    })
    await page.getByText('Hello, ada').waitFor()
    await page.getByRole('button', { name: 'Leave' }).click()
    await page.getByText('Signed out: not_authenticated').waitFor()
    expect((await cookies()).filter(({ name }) => /^(access|refresh)_token$/.test(name))).toEqual([])
    await context.close()
  })
})

import { readFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import type { UserManager } from 'oidc-client-ts'
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { operatorClient } from '../../../src/http/request-origin.js'
import { addApplication } from '../../support/applications.js'
import { openChromium, signIn } from '../../support/chromium.js'
import { startLatchkey } from '../../support/latchkey.js'
import { freePort } from '../../support/servers/server.js'
import { startHosts } from '../../support/site/hosts.js'
import { addPeople, password } from '../../support/site/site.js'

const library = createRequire(import.meta.url)
  .resolve('oidc-client-ts')
  .replace(/dist\/.*/, 'dist/browser/oidc-client-ts.min.js')

/** A page without a server of its own: it signs in by the library, and says who is there. */
const application = async (authority: string, client_id: string) => `<!doctype html><title>Notes</title>
<p id="who">…</p><button onclick="leave('signinRedirect')">Sign in</button>
<button onclick="leave('signinRedirect', { prompt: 'none' })">Sign in without a question</button>
<button onclick="leave('signoutRedirect')">Leave</button>
<script>${await readFile(library, 'utf8')}</script>
<script>
const manager = globalThis.manager = new oidc.UserManager({
  authority: '${authority}',
  client_id: '${client_id}',
  redirect_uri: location.origin + '/callback',
  post_logout_redirect_uri: location.origin + '/',
  scope: 'openid profile email groups',
  loadUserInfo: true,
  automaticSilentRenew: false,
  revokeTokensOnSignout: true,
  silentRequestTimeoutInSeconds: 1,
})
const leave = (where, how) => {
  who.textContent = '…'
  manager[where](how)
}
const arrived = location.pathname === '/callback' ? manager.signinCallback() : manager.getUser()
arrived.then(
  (user) => { who.textContent = user ? 'Hello, ' + user.profile.preferred_username : 'Signed out' },
  (error) => { who.textContent = 'Refused: ' + error.message + (error.error ?? '') },
)
</script>`

/** The application and the service are two sites for a browser: no cookie of the one is sent from a page of the other. */
const startSites = async () => {
  const [tls, port] = [await freePort(), await freePort()]
  const [app, auth] = [`https://app.alpha.test:${tls}`, `https://auth.beta.test:${tls}`]
  const latchkey = await startLatchkey({
    settings: { PUBLIC_URL: auth, PORT: String(port), DEVELOPMENT_ON_NETWORK: 'true' },
  })
  await addPeople(latchkey.config.databaseUrl ?? '', ['ada'])
  const { groups, groupChanges, users } = latchkey.app.rooms
  const client = operatorClient('root')
  await groups.add('staff', client)
  await groupChanges.change({ userId: (await users.findByLogin('ada'))?.id ?? '', client }, { add: ['staff'] })
  const place = { redirectAddresses: [`${app}/callback`], logoutAddresses: [`${app}/`], home: app }
  const { id } = await addApplication(latchkey, { ...place, kind: 'browser' })
  await latchkey.advance(1_001)
  const hosts = await startHosts(tls, port, { app: { body: await application(`${auth}/api/auth`, id) } })
  const stop = async () => {
    hosts.close()
    await latchkey.stop()
  }
  return { app, auth, latchkey, stop }
}

let sites: Awaited<ReturnType<typeof startSites>>
beforeAll(async () => {
  sites = await startSites()
})
afterAll(() => sites?.stop())

const says = (page: Page, text: string | RegExp) => page.locator('#who').getByText(text).waitFor()
const press = (page: Page, name: string) => page.getByRole('button', { name, exact: true }).click()

type Global = { manager: UserManager }
const userOf = (page: Page) =>
  page.evaluate(async () => {
    const user = await (globalThis as unknown as Global).manager.getUser()
    return { access: user?.access_token, refresh: user?.refresh_token, profile: user?.profile }
  })

/** In a hidden frame, if there is no refresh token. */
const renew = (page: Page) =>
  page.evaluate(() =>
    (globalThis as unknown as Global).manager.signinSilent().then(
      () => 'renewed',
      (error: Error) => error.message,
    ),
  )

it('signs in on another site, asks who the user is, renews its tokens, and signs out', async () => {
  const { app, auth } = sites
  const context = await (await openChromium()).newContext({ ignoreHTTPSErrors: true, locale: 'en-GB' })
  const page = await context.newPage()
  await page.goto(app)
  await says(page, 'Signed out')
  await press(page, 'Sign in')
  await signIn(page, 'ada', password)
  await says(page, 'Hello, ada')
  const first = await userOf(page)
  // The groups are those of UserInfo, which a page of another site may ask with its token.
  expect(first.profile).toMatchObject({ email: 'ada@example.com', groups: ['staff'] })

  expect(await renew(page)).toBe('renewed')
  const second = await userOf(page)
  expect(second.profile?.sub).toBe(first.profile?.sub)
  for (const token of ['access', 'refresh'] as const) expect(second[token]).not.toBe(first[token])

  // A frame of another site has no cookie, and no page of ours can be framed: what is left is a navigation, without a question.
  const forget = ({ manager }: Global) =>
    manager.getUser().then((user) => user && manager.storeUser(Object.assign(user, { refresh_token: undefined })))
  await page.evaluate(`(${forget})(globalThis)`)
  expect(await renew(page)).toBe('IFrame timed out without a response')
  await press(page, 'Sign in without a question')
  await says(page, 'Hello, ada')
  const third = await userOf(page)
  expect(third.access).not.toBe(second.access)

  await press(page, 'Leave')
  await page.waitForURL(`${app}/`)
  await says(page, 'Signed out')
  // A page of another site can read why it is refused.
  const refusal = await page.evaluate(
    async ([address = '', token = '']) => {
      const answer = await fetch(address, { headers: { authorization: `Bearer ${token}` } })
      return { status: answer.status, error: (await answer.json()).error as string }
    },
    [`${auth}/api/auth/userinfo`, third.access ?? ''],
  )
  expect(refusal).toEqual({ status: 401, error: 'invalid_token' })
  await press(page, 'Sign in without a question')
  await says(page, /login_required/)
  await context.close()
})

import { afterAll, beforeAll, expect, it } from 'vitest'
import { minutes } from '../../src/lib/durations.js'
import { addAuthenticator } from '../support/authenticator.js'
import type { Browser } from '../support/client.js'
import { goodPassword, type Latchkey, startLatchkey } from '../support/latchkey.js'
import { signInWith, startProviders, type TestProviders } from '../support/providers/test-providers.js'

const newPassword = 'copper-Willow-83-anchor'
const lastPassword = 'amber-Meadow-27-kettle'

let providers: TestProviders
let latchkey: Latchkey
beforeAll(async () => {
  providers = await startProviders()
  const settings = { ...providers.settings, LOGIN_LIMIT: '5/15m', ACCESS_TOKEN_ALGORITHM: 'ES256' }
  latchkey = await startLatchkey({ stores: 'own', settings })
})
afterAll(async () => {
  await latchkey?.stop()
  await providers?.close()
})

const tokenIn = ({ text }: { text: string }) => /#token=([\w-]+)/.exec(text)?.[1]

// Every other journey runs on a server that the tests start.
it('a user goes through the whole service on the PostgreSQL that it brings along', async () => {
  const email = 'ada@example.com'
  const tab = await latchkey.registered('ada')
  expect((await tab.get('/api/auth/me')).body.user).toMatchObject({ username: 'ada' })
  expect((await tab.get('/.well-known/jwks.json')).body.keys).toHaveLength(1)
  expect((await tab.get('/api/content')).body.content).toContainEqual(expect.objectContaining({ slug: 'welcome' }))

  // Two providers: a proven address leads to the same account, an unknown one to a new account.
  providers.issuer.become({ email })
  const linked = latchkey.browser()
  expect((await signInWith(linked, 'provider-a')).location).toBe('/dashboard')
  expect((await linked.get('/api/auth/account')).body.user).toMatchObject({
    username: 'ada',
    providers: ['provider_a'],
  })
  expect((await linked.remove('/api/auth/providers/provider-a')).status).toBe(204)
  expect((await linked.act('/api/auth/logout')).status).toBe(204)
  providers.github.become({ login: 'bea' }, [{ email: 'bea@example.com', primary: true, verified: true }])
  const other = latchkey.browser()
  expect((await signInWith(other, 'provider-b')).location).toBe('/dashboard')
  const { user } = (await other.get('/api/auth/account')).body
  expect(user).toMatchObject({ providers: ['provider_b'], hasPassword: false })

  // The access token expires, twenty requests renew it at once, and a stolen copy of the old token ends the session.
  const stolen = tab.copy()
  await latchkey.advance(16 * minutes)
  expect((await tab.get('/api/auth/me')).status).toBe(401)
  const renewed = await Promise.all(Array.from({ length: 20 }, () => tab.copy().post('/api/auth/refresh')))
  expect(new Set(renewed.map(({ status }) => status))).toEqual(new Set([200]))
  expect((await tab.post('/api/auth/refresh')).status).toBe(200)
  expect((await tab.post('/api/auth/refresh')).status).toBe(200)
  await latchkey.advance(1 * minutes)
  expect((await stolen.post('/api/auth/refresh')).status).toBe(401)
  expect((await tab.post('/api/auth/refresh')).status).toBe(401)

  // Two browsers, one of which is signed out from the other, and a change of the password.
  const phone = latchkey.browser()
  for (const browser of [tab, phone])
    expect((await browser.post('/login', { username: 'ADA', password: goodPassword })).status).toBe(200)
  const { sessions } = (await tab.get('/api/auth/sessions')).body as { sessions: { id: string; current: boolean }[] }
  expect(sessions).toHaveLength(2)
  const theirs = sessions.find(({ current }) => !current)
  expect((await tab.remove(`/api/auth/sessions/${theirs?.id}`)).status).toBe(204)
  expect((await phone.post('/api/auth/refresh')).status).toBe(401)
  const change = { currentPassword: goodPassword, newPassword }
  expect((await tab.act('/api/auth/change-password', change)).status).toBe(204)
  expect((await tab.post('/api/auth/refresh')).status).toBe(200)

  // A forgotten password: of five at once one sets the new one, and every session ends.
  expect((await phone.post('/reset-password', { email })).status).toBe(202)
  const token = tokenIn(await latchkey.mailTo(email, /reset-password#/))
  const confirm = () => latchkey.browser().post('/api/auth/reset-password/confirm', { token, password: lastPassword })
  const confirmed = await Promise.all(Array.from({ length: 5 }, confirm))
  expect(confirmed.map(({ status }) => status).sort()).toEqual([204, ...Array(4).fill(400)])
  expect((await tab.post('/api/auth/refresh')).status).toBe(401)

  // Five wrong passwords are tried and no more, with counters in this process.
  const guess = (password: string, address: string) =>
    latchkey.browser().post('/login', { username: email, password }, { address })
  const guesses = await Promise.all(Array.from({ length: 12 }, (_, index) => guess(`wrong ${index}`, '192.0.2.9')))
  expect(guesses.filter(({ status }) => status === 401)).toHaveLength(5)
  expect((await guess(lastPassword, '192.0.2.9')).status).toBe(429)
  expect((await guess(lastPassword, '192.0.2.10')).status).toBe(200)

  const last = latchkey.browser()
  await last.post('/login', { username: 'ada', password: lastPassword }, { address: '192.0.2.11' })
  const { events } = (await last.get('/api/auth/events')).body as { events: { kind: string }[] }
  const kinds = new Set(events.map(({ kind }) => kind))
  for (const kind of [
    'registered',
    'provider_linked',
    'provider_unlinked',
    'refresh_theft',
    'password_changed',
    'password_reset',
  ])
    expect(kinds).toContain(kind)

  const app = await addAuthenticator(last, latchkey)
  const address = '192.0.2.12'
  const login = (tab: Browser) => tab.post('/login', { username: 'ada', password: lastPassword }, { address })
  const second = latchkey.browser()
  expect((await login(second)).status).toBe(202)
  expect((await second.post('/api/auth/second-factor', { code: '000000' })).status).toBe(401)
  expect((await second.post('/api/auth/second-factor', { code: app.code(), trustDevice: true })).status).toBe(200)
  expect((await login(second.copy())).status).toBe(200)
  const lost = latchkey.browser()
  await login(lost)
  expect((await lost.post('/api/auth/second-factor', { code: app.recoveryCodes[0] })).status).toBe(200)
  expect((await last.act('/api/auth/logout-all')).status).toBe(204)
  expect((await last.post('/api/auth/refresh')).status).toBe(401)
})

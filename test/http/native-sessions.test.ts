import { decodeJwt } from 'jose'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { addAuthenticator } from '../support/authenticator.js'
import { postForm } from '../support/authorizations.js'
import type { Browser } from '../support/client.js'
import { goodPassword, type Latchkey, startLatchkey } from '../support/latchkey.js'
import { type OpenidApplication, openidApplication } from '../support/openid-application.js'

// Programs on the user's own devices: what `offline_access` gives them, and where they may be sent back to.

const addresses = {
  kind: 'native',
  home: 'app.notes:/',
  redirectAddresses: ['app.notes:/callback', 'http://localhost/callback', 'http://127.0.0.1/callback'],
  logoutAddresses: [],
} as const
const offline = { scope: 'openid profile offline_access' }

let latchkey: Latchkey
let phone: OpenidApplication
beforeAll(async () => {
  latchkey = await startLatchkey()
  phone = await openidApplication(latchkey, { name: 'Phone', ...addresses })
})
afterAll(() => latchkey.stop())

const signIn = async (tab: Browser, changed: Record<string, string> = offline) =>
  phone.redeem(await phone.answer(tab, await phone.ask(tab, changed), 'continue'))

const refreshed = async (refreshToken = '') => {
  const form = { grant_type: 'refresh_token', refresh_token: refreshToken, client_id: phone.application.id }
  return (await postForm(latchkey.url, '/api/auth/token', form)).body
}
type Listed = { id: string; application: string | null; current: boolean }
const sessionsOf = async (tab: Browser) => (await tab.get('/api/auth/sessions')).body.sessions as Listed[]
const own = async (tab: Browser) => (await sessionsOf(tab)).filter(({ application }) => application === 'Phone')

describe('a native program with offline_access', () => {
  it('says on the consent page that it stays signed in, and gets a session of its own', async () => {
    const tab = await latchkey.signedUp('ada')
    const asked = await phone.ask(tab, offline)
    expect(asked.state).toMatchObject({
      next: 'consent',
      scopes: ['openid', 'profile'],
      ownSession: { destination: { kind: 'program', host: 'app.notes:' }, days: 365 },
    })
    expect(await own(tab)).toEqual([])
    const tokens = await phone.redeem(await phone.answer(tab, asked, 'continue'))
    const [session] = await own(tab)
    expect([tokens.claims.sid, session?.current]).toEqual([session?.id, false])
    expect(tokens.scope).toBe('openid profile offline_access')
    const { text } = await latchkey.mailTo('ada@example.com', /A program has signed in/)
    expect(text).toMatch(/^The program “Phone” is now signed in with your account ada/m)
  })

  it('outlives the sign-out in the browser, and is ended with one click in another one', async () => {
    const tab = await latchkey.signedUp('bea')
    const tokens = await signIn(tab)
    const hanging = await signIn(tab, { scope: 'openid' })
    expect((await tab.act('/api/auth/logout')).status).toBe(204)
    expect(await refreshed(hanging.refresh_token)).toMatchObject({ error: 'invalid_grant' })
    const again = await refreshed(tokens.refresh_token)
    expect(again).toMatchObject({ access_token: expect.any(String) })
    expect((await phone.userInfo({ ...tokens, access_token: again.access_token ?? '' })).sub).toBe(tokens.claims.sub)
    const other = latchkey.browser()
    await other.post('/login', { username: 'bea', password: goodPassword })
    const [session] = await own(other)
    expect((await other.remove(`/api/auth/sessions/${session?.id}`)).status).toBe(204)
    expect(await refreshed(again.refresh_token)).toMatchObject({ error: 'invalid_grant' })
  })

  it('is ended by a change of the password, and by its own sign-out', async () => {
    const tab = await latchkey.signedUp('cleo')
    const first = await signIn(tab)
    await phone.revoke(first.refresh_token ?? '')
    expect(await own(tab)).toEqual([])
    const second = await signIn(tab)
    expect(await own(tab)).toHaveLength(1)
    const body = { currentPassword: goodPassword, newPassword: 'amber-Lantern-17-harbor' }
    expect((await tab.act('/api/auth/change-password', body)).status).toBeLessThan(300)
    expect(await own(tab)).toEqual([])
    expect(await refreshed(second.refresh_token)).toMatchObject({ error: 'invalid_grant' })
  })

  it('gets one session for a code, also of twenty uses at once, and a second use ends it', async () => {
    const tab = await latchkey.signedUp('dora')
    const asked = await phone.answer(tab, await phone.ask(tab, offline), 'continue')
    const answers = await Promise.allSettled(Array.from({ length: 20 }, () => phone.redeem(asked)))
    expect(answers.filter(({ status }) => status === 'fulfilled')).toHaveLength(1)
    expect(await own(tab)).toHaveLength(1)
    latchkey.clock.advance(15_000)
    await expect(phone.redeem(asked)).rejects.toThrow()
    expect(await own(tab)).toEqual([])
  })

  it('needs the second factor of an account that has one, though the browser is trusted', async () => {
    const tab = await latchkey.signedUp('eve')
    const app = await addAuthenticator(tab, latchkey)
    const trusted = latchkey.browser()
    await trusted.post('/login', { username: 'eve', password: goodPassword })
    await trusted.post('/api/auth/second-factor', { code: app.code(), trustDevice: true })
    await trusted.act('/api/auth/logout')
    await trusted.post('/login', { username: 'eve', password: goodPassword })
    expect((await phone.ask(trusted, { scope: 'openid' })).state.next).toBe('consent')
    expect((await phone.ask(trusted, offline)).state.next).toBe('prove')
  })

  it('is not there for applications of other kinds, whose scope is ignored', async () => {
    const web = await openidApplication(latchkey, { name: 'Site' })
    const tab = await latchkey.signedUp('finn')
    const tokens = await web.signIn(tab, offline)
    expect(tokens.scope).toBe('openid profile')
    const [browser] = await sessionsOf(tab)
    expect(decodeJwt(tokens.id_token).sid).toBe(browser?.id)
  })
})

describe('where a native program may be sent back to', () => {
  const nextOf = async (redirectUri: string) => {
    const tab = latchkey.browser()
    const { parameters } = await phone.client.request({ redirect_uri: redirectUri })
    const answer = await tab.post('/api/auth/authorization', { parameters: parameters.toString() })
    return answer.status === 200 ? (answer.body as { next: string }).next : (answer.body as { code: string }).code
  }

  it.each([
    ['http://localhost:53682/callback', 'sign_in'],
    ['http://127.0.0.1:1/callback', 'sign_in'],
    ['http://[::1]:8080/callback', 'redirect_not_registered'],
    ['http://localhost:8080/other', 'redirect_not_registered'],
    ['http://localhost.example.com:8080/callback', 'redirect_not_registered'],
    ['https://localhost/callback', 'redirect_not_registered'],
  ])('%s: %s', async (address, outcome) => {
    expect(await nextOf(address)).toBe(outcome)
  })

  it('compares a claimed link byte for byte', async () => {
    const claimed = await openidApplication(latchkey, {
      name: 'Links',
      ...addresses,
      redirectAddresses: ['https://links.example.com/app'],
    })
    const tab = await latchkey.signedUp('gil')
    expect((await claimed.ask(tab, offline)).state).toMatchObject({
      next: 'consent',
      ownSession: { destination: { kind: 'site', host: 'links.example.com' } },
    })
    await expect(claimed.ask(tab, { redirect_uri: 'https://links.example.com/app/' })).rejects.toThrow(/400/)
    await expect(claimed.ask(tab, { redirect_uri: 'https://links.example.com:8443/app' })).rejects.toThrow(/400/)
  })
})

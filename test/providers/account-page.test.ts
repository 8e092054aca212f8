import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { addAuthenticator } from '../support/authenticator.js'
import { goodPassword } from '../support/latchkey.js'
import { openidApplication } from '../support/openid-application.js'
import { answerOf, comeBack, sessionCookiesOf, signInWith, usersOf } from '../support/providers/test-providers.js'
import { overtaken } from '../support/waits-for-lock.js'
import { createProviderSetup, onlyAddress, type ProviderSetup } from './provider-setup.js'

const failedA = '/login?error=provider_a_auth_failed'

describe('the account page', () => {
  let setup: ProviderSetup

  beforeAll(async () => {
    setup = await createProviderSetup()
  })
  afterAll(() => setup.close())
  beforeEach(() => setup.nextTurn())

  describe('from the account page', () => {
    it('adds a provider whatever its address, tells the owner, and then signs in with it', async () => {
      const ada = await setup.signedUp('ada')
      setup.providers.github.become({ login: 'at-work' }, onlyAddress(setup.addressOf('work')))
      const callback = await setup.beginLink(ada, 'provider-b')
      expect(await setup.finishLink(ada, callback)).toBe('linked')
      expect((await ada.get('/api/auth/account')).body.user).toMatchObject({ providers: ['provider_b'] })
      await setup.service.mailTo(setup.addressOf('ada'), /GitHub/)
      expect(setup.service.mails().filter(({ to }) => to === setup.addressOf('work'))).toEqual([])
      const browser = setup.service.browser()
      await signInWith(browser, 'provider-b')
      expect(await setup.idOf(browser)).toBe(await setup.idOf(ada))
    })

    it('comes back without Strict cookies, as from another site', async () => {
      const ada = await setup.signedUp('ada')
      const callback = await setup.beginLink(ada, 'provider-a')
      const away = ada.copy()
      for (const name of ['access_token', 'refresh_token', 'csrf_secret']) away.jar.delete(name)
      const back = await comeBack(away, callback)
      expect(back.location).toBe('/dashboard?linking=provider_a')
      expect(sessionCookiesOf(back)).toEqual([])
      expect(back.setCookies.find((line) => line.startsWith('pending_link='))).toMatch(
        /^pending_link=[\w-]+; Max-Age=600; Path=\/; HttpOnly; SameSite=Strict$/,
      )
      expect(await usersOf(setup.service)).toMatchObject([{ provider_a_id: null }])
      ada.jar.set('pending_link', away.jar.get('pending_link') ?? '')
      const finished = await ada.act('/api/auth/providers/provider-a/link/finish', {})
      expect(finished.status).toBe(204)
      expect(finished.setCookies.join()).toContain('pending_link=; Max-Age=0')
      expect(await usersOf(setup.service)).toMatchObject([{ provider_a_id: 'subject-1' }])
    })

    it('comes back to the page that it began on', async () => {
      const ada = await setup.signedUp('ada')
      const begin = (returnTo: string) => ada.act('/api/auth/providers/provider-a/link', { returnTo })
      const { body } = await begin('/api/auth/account-page')
      const back = await comeBack(ada, await answerOf(String(body.location)))
      expect(back.location).toBe('/api/auth/account-page?linking=provider_a')
      expect((await begin('//evil.example')).status).toBe(400)
    })

    it('links nothing in a browser where an attacker planted their own attempt', async () => {
      const mallory = await setup.signedUp('mallory')
      const callback = await setup.beginLink(mallory, 'provider-a')
      const ada = await setup.signedUp('ada')
      setup.atIssuer({ email: setup.addressOf('elsewhere') })
      for (const [name, value] of mallory.jar) if (name.startsWith('attempt_')) ada.jar.set(name, value)
      expect(await setup.finishLink(ada, callback)).toBe('link_of_another_session')
      expect((await usersOf(setup.service)).every(({ provider_a_id }) => provider_a_id === null)).toBe(true)
      // Nor does what was planted help the attacker who planted it: the proof is in the other browser.
      expect((await mallory.act('/api/auth/providers/provider-a/link/finish', {})).body.code).toBe('nothing_to_link')
    })

    it('links once when the page says so fifty times at once, and never again', async () => {
      const ada = await setup.signedUp('ada')
      await comeBack(ada, await setup.beginLink(ada, 'provider-a'))
      const again = ada.copy()
      const [path, headers] = ['/api/auth/providers/provider-a/link/finish', { 'x-csrf-token': await ada.csrfToken() }]
      const tabs = Array.from({ length: 50 }, () => ada.copy())
      const answers = await Promise.all(tabs.map((tab) => tab.post(path, {}, { headers })))
      expect(answers.filter(({ status }) => status === 204)).toHaveLength(1)
      expect(answers.filter(({ body }) => body.code === 'link_used_before')).toHaveLength(49)
      await ada.remove('/api/auth/providers/provider-a')
      expect((await again.act(path, {})).body.code).toBe('link_used_before')
      expect(await usersOf(setup.service)).toMatchObject([{ provider_a_id: null }])
    })

    it('takes no altered proof, none of the other provider, and none without session and CSRF token', async () => {
      const ada = await setup.signedUp('ada')
      await comeBack(ada, await setup.beginLink(ada, 'provider-a'))
      const path = '/api/auth/providers/provider-a/link/finish'
      expect((await ada.post(path, {})).status).toBe(403)
      expect((await ada.act('/api/auth/providers/provider-b/link/finish', {})).body.code).toBe('nothing_to_link')
      const stranger = setup.service.browser()
      stranger.jar.set('pending_link', ada.jar.get('pending_link') ?? '')
      expect((await stranger.act(path, {})).status).toBe(401)
      ada.jar.set('pending_link', `${ada.jar.get('pending_link')?.slice(0, -2)}AA`)
      expect((await ada.act(path, {})).body.code).toBe('nothing_to_link')
      expect(await usersOf(setup.service)).toMatchObject([{ provider_a_id: null }])
    })

    it('needs an access token and a CSRF token, and a provider that exists', async () => {
      const ada = await setup.signedUp('ada')
      const path = '/api/auth/providers/provider-a/link'
      expect((await setup.service.browser().act(path, {})).status).toBe(401)
      expect((await ada.post(path, {})).status).toBe(403)
      const crossSite = { headers: { 'sec-fetch-site': 'cross-site' } }
      expect((await ada.post(path, {}, { csrf: true, ...crossSite })).status).toBe(403)
      expect((await ada.act('/api/auth/providers/provider-c/link', {})).status).toBe(400)
      expect((await ada.get(path)).status).toBe(405)
    })

    it('refuses once the session that began it has ended', async () => {
      const ada = await setup.signedUp('ada')
      const callback = await setup.beginLink(ada, 'provider-a')
      await ada.copy().act('/api/auth/logout')
      expect((await comeBack(ada, callback)).location).toBe('/dashboard?linking=provider_a')
      expect((await ada.act('/api/auth/providers/provider-a/link/finish', {})).status).toBe(401)
      expect(await usersOf(setup.service)).toMatchObject([{ provider_a_id: null }])
      expect((await ada.act('/api/auth/providers/provider-a/link', {})).status).toBe(401)
    })

    it('refuses in a browser that did not begin it', async () => {
      const mallory = await setup.signedUp('mallory')
      const callback = await setup.beginLink(mallory, 'provider-a')
      const ada = await setup.signedUp('ada')
      expect((await comeBack(ada, callback)).location).toBe(failedA)
      expect((await usersOf(setup.service)).every(({ provider_a_id }) => provider_a_id === null)).toBe(true)
    })

    it('refuses an identity that belongs to another account', async () => {
      await signInWith(setup.service.browser(), 'provider-a')
      const bob = await setup.signedUp('bob')
      expect(await setup.finishLink(bob, await setup.beginLink(bob, 'provider-a'))).toBe('link_identity_taken')
      expect(await usersOf(setup.service)).toMatchObject([{ provider_a_id: 'subject-1' }, { provider_a_id: null }])
    })

    it('refuses an identity whose address has an account of its own', async () => {
      await setup.signedUp('ada')
      const mallory = await setup.signedUp('mallory')
      expect(await setup.finishLink(mallory, await setup.beginLink(mallory, 'provider-a'))).toBe('link_email_taken')
    })

    it('refuses a second identity of one provider, before the way and after it', async () => {
      const ada = await setup.signedUp('ada')
      const early = await setup.beginLink(ada, 'provider-a')
      expect(await setup.finishLink(ada, await setup.beginLink(ada, 'provider-a'))).toBe('linked')
      expect((await ada.act('/api/auth/providers/provider-a/link', {})).status).toBe(409)
      expect(await setup.finishLink(ada, early)).toBe('linked')
      await ada.remove('/api/auth/providers/provider-a')
      const late = await setup.beginLink(ada, 'provider-a')
      setup.atIssuer({ sub: 'subject-2', email: setup.addressOf('other') })
      const other = await setup.beginLink(ada, 'provider-a')
      expect(await setup.finishLink(ada, other)).toBe('linked')
      setup.atIssuer()
      expect(await setup.finishLink(ada, late)).toBe('link_other_identity')
    })

    it('ends on the dashboard when the person declines', async () => {
      const ada = await setup.signedUp('ada')
      setup.providers.github.behave({ callback: (p) => [p.delete('code'), p.set('error', 'access_denied')] })
      expect((await comeBack(ada, await setup.beginLink(ada, 'provider-b'))).location).toBe(
        '/dashboard?error=provider_b_auth_failed&reason=cancelled',
      )
    })

    it('goes on once when the answer comes twenty times at once', async () => {
      const ada = await setup.signedUp('ada')
      const callback = await setup.beginLink(ada, 'provider-a')
      const answers = await Promise.all(Array.from({ length: 20 }, () => comeBack(ada.copy(), callback)))
      expect(answers.filter(({ location }) => location === '/dashboard?linking=provider_a')).toHaveLength(1)
    })

    it('records linking and unlinking', async () => {
      const ada = await setup.signedUp('ada')
      await setup.finishLink(ada, await setup.beginLink(ada, 'provider-a'))
      await ada.remove('/api/auth/providers/provider-a')
      const events = await setup.service.sql.query(
        `select kind, reason from events where kind like 'provider%' and user_id is not null order by kind`,
      )
      expect(events).toEqual([
        { kind: 'provider_linked', reason: 'provider_a' },
        { kind: 'provider_unlinked', reason: 'provider_a' },
      ])
    })
  })

  describe('unlinking', () => {
    it('removes a provider, after which it signs no user in to that account', async () => {
      const ada = await setup.signedUp('ada')
      setup.atIssuer({ email: setup.addressOf('elsewhere') })
      await setup.finishLink(ada, await setup.beginLink(ada, 'provider-a'))
      expect((await ada.remove('/api/auth/providers/provider-a')).status).toBe(204)
      expect((await ada.remove('/api/auth/providers/provider-a')).status).toBe(404)
      const browser = setup.service.browser()
      await signInWith(browser, 'provider-a')
      expect(await setup.idOf(browser)).not.toBe(await setup.idOf(ada))
    })

    it('lasts: the same address links it again only from the account page', async () => {
      const ada = await setup.signedUp('ada')
      await setup.finishLink(ada, await setup.beginLink(ada, 'provider-a'))
      expect((await ada.remove('/api/auth/providers/provider-a')).status).toBe(204)
      const refused = await signInWith(setup.service.browser(), 'provider-a')
      expect([refused.location, sessionCookiesOf(refused)]).toEqual(['/login?error=provider_a_auth_failed', []])
      await setup.finishLink(ada, await setup.beginLink(ada, 'provider-a'))
      const browser = setup.service.browser()
      await signInWith(browser, 'provider-a')
      expect(await setup.idOf(browser)).toBe(await setup.idOf(ada))
    })

    it('ends the other sessions that began with it, and no others', async () => {
      const ada = await setup.signedUp('ada')
      await setup.finishLink(ada, await setup.beginLink(ada, 'provider-a'))
      const [byProvider, byPassword] = [setup.service.browser(), setup.service.browser()]
      await signInWith(byProvider, 'provider-a')
      await byPassword.post('/login', { username: setup.nameOf('ada'), password: goodPassword })
      expect((await ada.remove('/api/auth/providers/provider-a')).status).toBe(204)
      const asked = await Promise.all([ada, byPassword, byProvider].map((tab) => tab.post('/api/auth/refresh')))
      expect(asked.map(({ status }) => status)).toEqual([200, 200, 401])
      expect((await byProvider.get('/api/auth/me')).status).toBe(401)
    })

    it.each([false, true])('wins against a sign-in that is under way (two steps: %s)', async (hasTwoSteps) => {
      const ada = await setup.signedUp('ada')
      await setup.finishLink(ada, await setup.beginLink(ada, 'provider-a'))
      if (hasTwoSteps) await addAuthenticator(ada, setup.service)
      const signIn = () => signInWith(setup.service.browser(), 'provider-a')
      const answer = await overtaken(setup.service, setup.nameOf('ada'), signIn, (sql, id) =>
        sql.query("delete from identities where user_id = $1 and provider = 'provider_a'", [id]),
      )
      expect([answer.location, sessionCookiesOf(answer)]).toEqual(['/login?error=callback_failed', []])
      expect(await setup.service.sql.query('select 1 from sign_in_challenges')).toEqual([])
    })

    it('refuses to remove the last way in', async () => {
      const browser = setup.service.browser()
      await signInWith(browser, 'provider-a')
      const refused = await browser.remove('/api/auth/providers/provider-a')
      expect(refused.status).toBe(409)
      expect(refused.body).toMatchObject({ error: 'Last way in' })
      await signInWith(setup.service.browser(), 'provider-b')
      expect((await browser.remove('/api/auth/providers/provider-a')).status).toBe(204)
      // Its own session began with it: it stays, and has to prove it anew.
      expect((await browser.post('/api/auth/refresh')).status).toBe(200)
      expect((await browser.remove('/api/auth/providers/provider-b')).body.methods).toEqual(['mail'])
      expect((await browser.get('/api/auth/verify?fresh=10m')).status).toBe(403)
      const notes = await openidApplication(setup.service)
      expect((await notes.ask(browser, { max_age: '3600' })).state.next).toBe('prove')
      expect((await notes.signIn(browser)).claims).not.toHaveProperty('auth_time')
    })

    it('leaves one of two when both are removed at once', async () => {
      const browser = setup.service.browser()
      await signInWith(browser, 'provider-a')
      await signInWith(setup.service.browser(), 'provider-b')
      const answers = await Promise.all(
        (['provider-a', 'provider-b'] as const).map((provider) => browser.remove(`/api/auth/providers/${provider}`)),
      )
      const [removed, refused] = answers.map(({ status }) => status).sort()
      // 403 if provider A went first and the session, which began with it, has to prove it anew.
      expect([removed, [403, 409].includes(refused ?? 0)]).toEqual([204, true])
      const { user } = (await browser.get('/api/auth/account')).body as { user: { providers: string[] } }
      expect(user.providers).toHaveLength(1)
    })

    it('needs an access token and a CSRF token', async () => {
      const ada = await setup.signedUp('ada')
      expect((await setup.service.browser().remove('/api/auth/providers/provider-a')).status).toBe(401)
      expect((await ada.send('DELETE', '/api/auth/providers/provider-a')).status).toBe(403)
    })
  })
})

import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import type { Browser } from '../harness/browser.js'
import { goodPassword, type Latchkey, storeKinds } from '../harness/latchkey.js'
import {
  answerOf,
  comeBack,
  forgetEverybody,
  goToProvider,
  type Side,
  sessionCookiesOf,
  signInWith,
  startProviders,
  startService,
  type TestProviders,
  usersOf,
} from './visitor.js'

const failedA = '/login?error=provider_a_auth_failed'

describe.each(storeKinds)('linking, with the %s stores', (stores) => {
  let providers: TestProviders
  let service: Latchkey

  beforeAll(async () => {
    providers = await startProviders()
    service = await startService(providers, stores)
  })

  afterAll(async () => {
    await service.stop()
    await providers.close()
  })

  // Each test has people and addresses of its own: mails to an address are bounded, and none may answer for another.
  let turn = 0
  const nameOf = (name: string) => `${name}${turn}`
  const addressOf = (name: string) => `${name}${turn}@example.com`
  const signedUp = (name: string) => service.signedUp(nameOf(name))
  const onlyAddress = (email: string, verified = true) => [{ email, primary: true, verified }]
  const atIssuer = (change: Parameters<TestProviders['issuer']['become']>[0] = {}) =>
    providers.issuer.become({ email: addressOf('ada'), ...change })

  beforeEach(async () => {
    turn += 1
    providers.behaveWell()
    atIssuer()
    providers.github.become({ login: nameOf('ada') }, onlyAddress(addressOf('ada')))
    await forgetEverybody(service)
  })

  const idOf = async (browser: Browser) => {
    const { user } = (await browser.get('/api/auth/me')).body as { user?: { id: string } }
    return user?.id
  }
  const mailsTo = (address: string) => service.mails().filter(({ to }) => to === address)

  /** Begins on the account page and goes to the provider: the callback path. */
  const beginLink = async (browser: Browser, side: Side) => {
    const begun = await browser.act(`/api/auth/providers/${side}/link`, {})
    expect(begun.status).toBe(200)
    return answerOf(String(begun.body.location))
  }

  describe('by an address that is proven on both sides', () => {
    it('signs the same person in to the account with a password, and tells them by mail', async () => {
      const ada = await signedUp('ada')
      const browser = service.browser()
      expect((await signInWith(browser, 'provider-a')).location).toBe('/dashboard')
      expect(await idOf(browser)).toBe(await idOf(ada))
      expect(await usersOf(service)).toMatchObject([{ provider: null, provider_a_id: 'subject-1' }])
      await service.mailTo(addressOf('ada'), /Google/)
    })

    it('signs the same person in through both providers, whichever came first', async () => {
      const [first, second] = [service.browser(), service.browser()]
      await signInWith(first, 'provider-b')
      await signInWith(second, 'provider-a')
      expect(await idOf(first)).toBe(await idOf(second))
      const expected = { provider: 'provider_b', provider_a_id: 'subject-1', provider_b_id: '583231' }
      expect(await usersOf(service)).toMatchObject([expected])
    })

    it('takes addresses that differ in case for one', async () => {
      const ada = await signedUp('ada')
      atIssuer({ email: addressOf('ada').toUpperCase() })
      const browser = service.browser()
      await signInWith(browser, 'provider-a')
      expect(await idOf(browser)).toBe(await idOf(ada))
    })

    it('takes the same id at two providers for two people', async () => {
      atIssuer({ sub: '583231' })
      providers.github.become({ login: 'eve' }, onlyAddress(addressOf('eve')))
      await signInWith(service.browser(), 'provider-a')
      await signInWith(service.browser(), 'provider-b')
      expect((await usersOf(service)).map(({ email }) => email)).toEqual([addressOf('ada'), addressOf('eve')])
    })

    it('refuses an address that was given to somebody else at the provider', async () => {
      await signInWith(service.browser(), 'provider-a')
      atIssuer({ sub: 'subject-2' })
      const answer = await signInWith(service.browser(), 'provider-a')
      expect(answer.location).toBe(failedA)
      expect(sessionCookiesOf(answer)).toEqual([])
      expect(await usersOf(service)).toHaveLength(1)
    })

    it('refuses a disabled user, by identity and by address', async () => {
      await signInWith(service.browser(), 'provider-a')
      await service.sql.query('update users set disabled_at = now()')
      for (const side of ['provider-a', 'provider-b'] as const) {
        const answer = await signInWith(service.browser(), side)
        expect(answer.location).toBe(`/login?error=${side.replace('-', '_')}_auth_failed`)
        expect(sessionCookiesOf(answer)).toEqual([])
      }
      expect(await usersOf(service)).toMatchObject([{ provider_b_id: null }])
    })
  })

  describe('an account that somebody tries to take before its owner comes', () => {
    const planned = () => ({ username: nameOf('mallory'), email: addressOf('ada'), password: goodPassword })

    it('classic merge: a registration with the victim\u2019s address is not the account the victim gets', async () => {
      const attacker = service.browser()
      await attacker.post('/api/auth/register', planned())
      await signInWith(service.browser(), 'provider-a')
      const login = await service.browser().post('/login', { username: addressOf('ada'), password: goodPassword })
      expect(login.status).toBe(401)
      expect(await usersOf(service)).toMatchObject([{ username: nameOf('ada'), provider: 'provider_a' }])
    })

    it('unexpired session: the attacker has none to keep, and the mail\u2019s link is worth nothing afterwards', async () => {
      const attacker = service.browser()
      await attacker.post('/api/auth/register', planned())
      const token = /#token=([\w-]+)/.exec((await service.mailTo(addressOf('ada'), /#token=/)).text)?.[1]
      await signInWith(service.browser(), 'provider-a')
      const finished = await attacker.post('/api/auth/verify-email', { token })
      expect(finished.status).toBeGreaterThanOrEqual(400)
      expect((await attacker.get('/api/auth/me')).status).toBe(401)
      expect(await usersOf(service)).toMatchObject([{ username: nameOf('ada') }])
    })

    it('trojan identity: nothing can be linked to an account that does not exist yet', async () => {
      const attacker = service.browser()
      await attacker.post('/api/auth/register', planned())
      expect((await attacker.act('/api/auth/providers/provider-b/link', {})).status).toBe(401)
    })

    it('unexpired address change: an address at the provider never moves the account', async () => {
      atIssuer({ sub: 'attacker', email: addressOf('mallory') })
      await signInWith(service.browser(), 'provider-a')
      atIssuer({ sub: 'attacker' })
      await signInWith(service.browser(), 'provider-a')
      const victim = service.browser()
      await signInWith(victim, 'provider-b')
      const users = await usersOf(service)
      expect(users.map(({ email }) => email)).toEqual([addressOf('mallory'), addressOf('ada')])
      expect(await idOf(victim)).toBe(users[1]?.id)
    })

    it('provider that verifies nothing: an unverified address makes and links nothing', async () => {
      await signedUp('ada')
      atIssuer({ sub: 'attacker', email_verified: false })
      expect((await signInWith(service.browser(), 'provider-a')).location).toBe(`${failedA}&reason=no_email`)
      providers.github.become({ id: 666 }, onlyAddress(addressOf('ada'), false))
      expect((await signInWith(service.browser(), 'provider-b')).location).toContain('reason=no_email')
      expect(await usersOf(service)).toMatchObject([{ provider_a_id: null, provider_b_id: null }])
    })
  })

  describe('from the account page', () => {
    it('adds a provider whatever its address, tells the owner, and then signs in with it', async () => {
      const ada = await signedUp('ada')
      providers.github.become({ login: 'at-work' }, onlyAddress(addressOf('work')))
      const linked = await comeBack(ada, await beginLink(ada, 'provider-b'))
      expect(linked.location).toBe('/dashboard?linked=provider_b')
      expect(sessionCookiesOf(linked)).toEqual([])
      expect((await ada.get('/api/auth/account')).body.user).toMatchObject({ providers: ['provider_b'] })
      await service.mailTo(addressOf('ada'), /GitHub/)
      expect(mailsTo(addressOf('work'))).toEqual([])
      const browser = service.browser()
      await signInWith(browser, 'provider-b')
      expect(await idOf(browser)).toBe(await idOf(ada))
    })

    it('comes back without Strict cookies, as from another site', async () => {
      const ada = await signedUp('ada')
      const callback = await beginLink(ada, 'provider-a')
      for (const name of ['access_token', 'refresh_token', 'csrf_secret']) ada.jar.delete(name)
      expect((await comeBack(ada, callback)).location).toBe('/dashboard?linked=provider_a')
    })

    it('needs an access token and a CSRF token, and a provider that exists', async () => {
      const ada = await signedUp('ada')
      const path = '/api/auth/providers/provider-a/link'
      expect((await service.browser().act(path, {})).status).toBe(401)
      expect((await ada.post(path, {})).status).toBe(403)
      const crossSite = { headers: { 'sec-fetch-site': 'cross-site' } }
      expect((await ada.post(path, {}, { csrf: true, ...crossSite })).status).toBe(403)
      expect((await ada.act('/api/auth/providers/provider-c/link', {})).status).toBe(400)
      expect((await ada.get(path)).status).toBe(405)
    })

    it('refuses once the session that began it has ended', async () => {
      const ada = await signedUp('ada')
      const callback = await beginLink(ada, 'provider-a')
      await ada.copy().act('/api/auth/logout')
      expect((await comeBack(ada, callback)).location).toBe('/dashboard?error=provider_a_auth_failed&reason=signed_out')
      expect(await usersOf(service)).toMatchObject([{ provider_a_id: null }])
      expect((await ada.act('/api/auth/providers/provider-a/link', {})).status).toBe(401)
    })

    it('refuses in a browser that did not begin it', async () => {
      const mallory = await signedUp('mallory')
      const callback = await beginLink(mallory, 'provider-a')
      const ada = await signedUp('ada')
      expect((await comeBack(ada, callback)).location).toBe(failedA)
      expect((await usersOf(service)).every(({ provider_a_id }) => provider_a_id === null)).toBe(true)
    })

    it('refuses an identity that belongs to another account', async () => {
      await signInWith(service.browser(), 'provider-a')
      const bob = await signedUp('bob')
      expect((await comeBack(bob, await beginLink(bob, 'provider-a'))).location).toBe(
        '/dashboard?error=provider_a_auth_failed&reason=identity_taken',
      )
      expect(await usersOf(service)).toMatchObject([{ provider_a_id: 'subject-1' }, { provider_a_id: null }])
    })

    it('refuses an identity whose address has an account of its own', async () => {
      await signedUp('ada')
      const mallory = await signedUp('mallory')
      expect((await comeBack(mallory, await beginLink(mallory, 'provider-a'))).location).toBe(
        '/dashboard?error=provider_a_auth_failed&reason=email_taken',
      )
    })

    it('refuses a second identity of one provider, before the way and after it', async () => {
      const ada = await signedUp('ada')
      const early = await beginLink(ada, 'provider-a')
      expect((await comeBack(ada, await beginLink(ada, 'provider-a'))).location).toBe('/dashboard?linked=provider_a')
      expect((await ada.act('/api/auth/providers/provider-a/link', {})).status).toBe(409)
      expect((await comeBack(ada, early)).location).toBe('/dashboard?linked=provider_a')
      await ada.remove('/api/auth/providers/provider-a')
      const late = await beginLink(ada, 'provider-a')
      atIssuer({ sub: 'subject-2', email: addressOf('other') })
      const other = await beginLink(ada, 'provider-a')
      expect((await comeBack(ada, other)).location).toBe('/dashboard?linked=provider_a')
      atIssuer()
      expect((await comeBack(ada, late)).location).toBe('/dashboard?error=provider_a_auth_failed&reason=other_identity')
    })

    it('ends on the dashboard when the person declines', async () => {
      const ada = await signedUp('ada')
      providers.github.behave({ callback: (p) => [p.delete('code'), p.set('error', 'access_denied')] })
      expect((await comeBack(ada, await beginLink(ada, 'provider-b'))).location).toBe(
        '/dashboard?error=provider_b_auth_failed',
      )
    })

    it('links once when the answer comes twenty times at once', async () => {
      const ada = await signedUp('ada')
      const callback = await beginLink(ada, 'provider-a')
      const answers = await Promise.all(Array.from({ length: 20 }, () => comeBack(ada.copy(), callback)))
      expect(answers.filter(({ location }) => location === '/dashboard?linked=provider_a')).toHaveLength(1)
    })

    it('records linking and unlinking', async () => {
      const ada = await signedUp('ada')
      await comeBack(ada, await beginLink(ada, 'provider-a'))
      await ada.remove('/api/auth/providers/provider-a')
      const events = await service.sql.query(
        `select kind, reason from events where kind like 'provider%' order by kind`,
      )
      expect(events).toEqual([
        { kind: 'provider_linked', reason: 'provider_a' },
        { kind: 'provider_unlinked', reason: 'provider_a' },
      ])
    })
  })

  describe('unlinking', () => {
    it('removes a provider, after which it signs in nobody to that account', async () => {
      const ada = await signedUp('ada')
      atIssuer({ email: addressOf('elsewhere') })
      await comeBack(ada, await beginLink(ada, 'provider-a'))
      expect((await ada.remove('/api/auth/providers/provider-a')).status).toBe(204)
      expect((await ada.remove('/api/auth/providers/provider-a')).status).toBe(404)
      const browser = service.browser()
      await signInWith(browser, 'provider-a')
      expect(await idOf(browser)).not.toBe(await idOf(ada))
    })

    it('refuses to remove the last way in', async () => {
      const browser = service.browser()
      await signInWith(browser, 'provider-a')
      const refused = await browser.remove('/api/auth/providers/provider-a')
      expect(refused.status).toBe(409)
      expect(refused.body).toMatchObject({ error: 'Last way in' })
      await signInWith(service.browser(), 'provider-b')
      expect((await browser.remove('/api/auth/providers/provider-a')).status).toBe(204)
    })

    it('leaves one of two when both are removed at once', async () => {
      const browser = service.browser()
      await signInWith(browser, 'provider-a')
      await signInWith(service.browser(), 'provider-b')
      const answers = await Promise.all(
        (['provider-a', 'provider-b'] as const).map((side) => browser.remove(`/api/auth/providers/${side}`)),
      )
      expect(answers.map(({ status }) => status).sort()).toEqual([204, 409])
    })

    it('needs an access token and a CSRF token', async () => {
      const ada = await signedUp('ada')
      expect((await service.browser().remove('/api/auth/providers/provider-a')).status).toBe(401)
      expect((await ada.send('DELETE', '/api/auth/providers/provider-a')).status).toBe(403)
    })
  })
})

describe('where registration is closed', () => {
  it('strangers are refused, and those who have an account sign in', async () => {
    const providers = await startProviders()
    const service = await startService(providers, 'postgres', { REGISTRATION: 'closed' })
    try {
      const browser = service.browser()
      expect((await comeBack(browser, await goToProvider(browser, 'provider-a'))).location).toBe(failedA)
      expect(await usersOf(service)).toEqual([])
      await service.sql.query(
        `insert into users (id, email, email_key, username, username_key, created_at)
         values ($1, 'ada@example.com', 'ada@example.com', 'ada', 'ada', now())`,
        [crypto.randomUUID()],
      )
      expect((await signInWith(browser, 'provider-a')).location).toBe('/dashboard')
    } finally {
      await service.stop()
      await providers.close()
    }
  })
})

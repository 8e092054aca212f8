import { afterAll, beforeAll, beforeEach, describe, expect, it, onTestFinished } from 'vitest'
import { operatorClient } from '../../src/http/request-origin.js'
import { addAuthenticator } from '../support/authenticator.js'
import { createEmailChanges } from '../support/email-changes.js'
import { goodPassword } from '../support/latchkey.js'
import { sessionCookiesOf, signInWith, usersOf } from '../support/providers/test-providers.js'
import { overtaken } from '../support/waits-for-lock.js'
import { createProviderSetup, onlyAddress, type ProviderSetup } from './provider-setup.js'

const failedA = '/login?error=provider_a_auth_failed'

describe('linking by address', () => {
  let setup: ProviderSetup

  beforeAll(async () => {
    setup = await createProviderSetup()
  })
  afterAll(() => setup.close())
  beforeEach(() => setup.nextTurn())

  describe('by an address that is proven on both sides', () => {
    it('signs the same person in to the account with a password, and tells them by mail', async () => {
      const ada = await setup.signedUp('ada')
      const browser = setup.service.browser()
      expect((await signInWith(browser, 'provider-a')).location).toBe('/dashboard')
      expect(await setup.idOf(browser)).toBe(await setup.idOf(ada))
      expect(await usersOf(setup.service)).toMatchObject([{ provider: null, provider_a_id: 'subject-1' }])
      await setup.service.mailTo(setup.addressOf('ada'), /Google/)
    })

    it('is refused while the address may be that of a thief, because the account was locked down and is enabled', async () => {
      const thief = await setup.signedUp('mia')
      await createEmailChanges(setup.service).change(thief, setup.addressOf('ada'))
      const userId = (await setup.idOf(thief)) ?? ''
      const { operatorChanges } = setup.service.app.rooms
      const actor = { userId, client: operatorClient('root') }
      for (const change of [operatorChanges.lockDown, operatorChanges.enable]) await change(actor)
      const refused = await signInWith(setup.service.browser(), 'provider-a')
      expect([refused.location, sessionCookiesOf(refused)]).toEqual([failedA, []])
      expect(await usersOf(setup.service)).toMatchObject([{ provider_a_id: null }])
    })

    it('signs the same person in through both providers, whichever came first', async () => {
      const [first, second] = [setup.service.browser(), setup.service.browser()]
      await signInWith(first, 'provider-b')
      await signInWith(second, 'provider-a')
      expect(await setup.idOf(first)).toBe(await setup.idOf(second))
      const expected = { provider: 'provider_b', provider_a_id: 'subject-1', provider_b_id: '583231' }
      expect(await usersOf(setup.service)).toMatchObject([expected])
    })

    it('the mail undoes it; and an undone email takes everything that was linked in these days, also what is unlinked again', async () => {
      const [email, stolen] = [setup.addressOf('ada'), setup.addressOf('thief')]
      const changes = createEmailChanges(setup.service)
      const thief = await setup.signedUp('ada')
      await signInWith(setup.service.browser(), 'provider-a')
      const firstLink = await changes.undoToken(email, /Google/)
      expect((await changes.undoFactor(firstLink)).status).toBe(204)
      expect(await usersOf(setup.service)).toMatchObject([{ provider_a_id: null }])
      expect((await thief.get('/api/auth/me')).status).toBe(401)
      const again = await signInWith(setup.service.browser(), 'provider-a')
      expect([again.location, sessionCookiesOf(again)]).toEqual([failedA, []])
      expect(await usersOf(setup.service)).toMatchObject([{ provider_a_id: null }])

      // The owner can still want it.
      const owner = setup.service.browser()
      const password = 'amber-Meadow-27-kettle'
      const token = await changes.resetToken(email)
      expect((await owner.post('/api/auth/reset-password/confirm', { token, password })).status).toBe(204)
      expect((await owner.post('/login', { username: email, password })).status).toBe(200)
      expect(await setup.finishLink(owner, await setup.beginLink(owner, 'provider-a'))).toBe('linked')
      const browser = setup.service.browser()
      expect((await signInWith(browser, 'provider-a')).location).toBe('/dashboard')
      expect((await owner.get('/api/auth/export')).body.undoneIdentities).toEqual([])

      await changes.change(browser, stolen)
      // No user is created with the address that is reserved.
      setup.providers.github.become({ id: 666 }, onlyAddress(email))
      expect((await signInWith(setup.service.browser(), 'provider-b')).location).toContain('/login?error=provider_b')
      setup.providers.github.become({ id: 777 }, onlyAddress(stolen))
      await signInWith(setup.service.browser(), 'provider-b')
      expect(await usersOf(setup.service)).toMatchObject([{ email: stolen, provider_b_id: '777' }])
      // Also what was disconnected in the meantime.
      expect((await browser.remove('/api/auth/providers/provider-b')).status).toBe(204)
      expect((await changes.undoEmail(await changes.undoToken(email, /was changed/))).status).toBe(204)
      // Also what was linked before the change.
      const expected = { email, provider_a_id: null, provider_b_id: null }
      expect(await usersOf(setup.service)).toMatchObject([expected])
      setup.providers.github.become({ id: 777 }, onlyAddress(email))
      expect((await signInWith(setup.service.browser(), 'provider-b')).location).toContain('/login?error=provider_b')
      expect(await usersOf(setup.service)).toMatchObject([expected])
      // The memory goes with the user.
      await setup.service.sql.query('delete from users')
      expect(await setup.service.sql.query('select 1 from undone_identities')).toEqual([])
    })

    it('asks an account with two-step sign-in for a code, and links the provider together with the session', async () => {
      const app = await addAuthenticator(await setup.signedUp('ada'), setup.service)
      const browser = setup.service.browser()
      const answer = await signInWith(browser, 'provider-a', '?returnTo=/reports')
      expect([answer.location, sessionCookiesOf(answer)]).toEqual(['/second-factor?returnTo=%2Freports', []])
      expect(await usersOf(setup.service)).toMatchObject([{ provider_a_id: null }])
      expect((await browser.post('/api/auth/second-factor', { code: '000' })).status).toBe(401)
      expect(await usersOf(setup.service)).toMatchObject([{ provider_a_id: null }])
      expect((await browser.post('/api/auth/second-factor', { code: app.code() })).status).toBe(200)
      expect(await usersOf(setup.service)).toMatchObject([{ provider_a_id: 'subject-1' }])
      expect((await browser.get('/api/auth/verify?factors=2')).status).toBe(204)
      await setup.service.mailTo(setup.addressOf('ada'), /Google/)
      expect((await signInWith(setup.service.browser(), 'provider-a')).location).toMatch(/^\/second-factor/)
    })

    it('asks for it also when it is switched on at this moment', async () => {
      await setup.signedUp('ada')
      const [ada] = await usersOf(setup.service)
      const browser = setup.service.browser()
      const signIn = () => signInWith(browser, 'provider-a')
      const answer = await overtaken(setup.service, String(ada?.username), signIn, (sql, id) =>
        sql.query("insert into totp_secrets (user_id, secret, last_step, created_at) values ($1, '', 0, now())", [id]),
      )
      expect([answer.location, sessionCookiesOf(answer)]).toEqual(['/second-factor?returnTo=%2Fdashboard', []])
      expect(await usersOf(setup.service)).toMatchObject([{ provider_a_id: null }])
    })

    it('takes addresses that differ in case for one', async () => {
      const ada = await setup.signedUp('ada')
      setup.atIssuer({ email: setup.addressOf('ada').toUpperCase() })
      const browser = setup.service.browser()
      await signInWith(browser, 'provider-a')
      expect(await setup.idOf(browser)).toBe(await setup.idOf(ada))
    })

    it('takes the same id at two providers for two people', async () => {
      setup.atIssuer({ sub: '583231' })
      setup.providers.github.become({ login: 'eve' }, onlyAddress(setup.addressOf('eve')))
      await signInWith(setup.service.browser(), 'provider-a')
      await signInWith(setup.service.browser(), 'provider-b')
      expect((await usersOf(setup.service)).map(({ email }) => email)).toEqual([
        setup.addressOf('ada'),
        setup.addressOf('eve'),
      ])
    })

    it('refuses an address that was given to another person at the provider', async () => {
      await signInWith(setup.service.browser(), 'provider-a')
      setup.atIssuer({ sub: 'subject-2' })
      const answer = await signInWith(setup.service.browser(), 'provider-a')
      expect(answer.location).toBe(failedA)
      expect(sessionCookiesOf(answer)).toEqual([])
      expect(await usersOf(setup.service)).toHaveLength(1)
    })

    it('refuses a disabled user, by identity and by address', async () => {
      await signInWith(setup.service.browser(), 'provider-a')
      await setup.service.sql.query('update users set disabled_at = now()')
      for (const provider of ['provider-a', 'provider-b'] as const) {
        const answer = await signInWith(setup.service.browser(), provider)
        expect(answer.location).toBe(`/login?error=${provider.replace('-', '_')}_auth_failed`)
        expect(sessionCookiesOf(answer)).toEqual([])
      }
      expect(await usersOf(setup.service)).toMatchObject([{ provider_b_id: null }])
    })
  })

  describe('an account that an attacker tries to take before its owner comes', () => {
    const planned = () => ({ username: setup.nameOf('mallory'), email: setup.addressOf('ada'), password: goodPassword })

    it('classic merge: a registration with the victim\u2019s address is not the account the victim gets', async () => {
      const attacker = setup.service.browser()
      await attacker.post('/api/auth/register', planned())
      await signInWith(setup.service.browser(), 'provider-a')
      const later = setup.service.browser()
      const login = await later.post('/login', { username: setup.addressOf('ada'), password: goodPassword })
      // The same answer as before the victim came, so that it does not tell whether the address has an account by now.
      expect([login.status, login.body.error]).toEqual([401, 'Invalid credentials'])
      expect((await later.get('/api/auth/me')).status).toBe(401)
      expect(await usersOf(setup.service)).toMatchObject([{ username: setup.nameOf('ada'), provider: 'provider_a' }])
    })

    it('unexpired session: the attacker has none to keep, and the mail\u2019s link is worth nothing afterwards', async () => {
      const attacker = setup.service.browser()
      await attacker.post('/api/auth/register', planned())
      const token = /#token=([\w-]+)/.exec((await setup.service.mailTo(setup.addressOf('ada'), /#token=/)).text)?.[1]
      await signInWith(setup.service.browser(), 'provider-a')
      const finished = await attacker.post('/api/auth/verify-email', { token })
      expect(finished.status).toBeGreaterThanOrEqual(400)
      expect((await attacker.get('/api/auth/me')).status).toBe(401)
      expect(await usersOf(setup.service)).toMatchObject([{ username: setup.nameOf('ada') }])
    })

    it('trojan identity: nothing can be linked to an account that does not exist yet', async () => {
      const attacker = setup.service.browser()
      await attacker.post('/api/auth/register', planned())
      expect((await attacker.act('/api/auth/providers/provider-b/link', {})).status).toBe(401)
    })

    it('unexpired address change: an address at the provider never moves the account', async () => {
      setup.atIssuer({ sub: 'attacker', email: setup.addressOf('mallory') })
      await signInWith(setup.service.browser(), 'provider-a')
      setup.atIssuer({ sub: 'attacker' })
      await signInWith(setup.service.browser(), 'provider-a')
      const victim = setup.service.browser()
      await signInWith(victim, 'provider-b')
      const users = await usersOf(setup.service)
      expect(users.map(({ email }) => email)).toEqual([setup.addressOf('mallory'), setup.addressOf('ada')])
      expect(await setup.idOf(victim)).toBe(users[1]?.id)
    })

    it('provider that verifies nothing: an unverified address makes and links nothing', async () => {
      await setup.signedUp('ada')
      setup.atIssuer({ sub: 'attacker', email_verified: false })
      expect((await signInWith(setup.service.browser(), 'provider-a')).location).toBe(`${failedA}&reason=no_email`)
      setup.providers.github.become({ id: 666 }, onlyAddress(setup.addressOf('ada'), false))
      expect((await signInWith(setup.service.browser(), 'provider-b')).location).toContain('reason=no_email')
      expect(await usersOf(setup.service)).toMatchObject([{ provider_a_id: null, provider_b_id: null }])
    })
  })
})

describe('where registration is closed', () => {
  it('strangers are refused, and those who have an account sign in', async () => {
    const setup = await createProviderSetup({ REGISTRATION: 'closed' })
    onTestFinished(() => setup.close())
    await setup.nextTurn()
    const email = setup.addressOf('ada')
    expect((await signInWith(setup.service.browser(), 'provider-a')).location).toBe(
      `${failedA}&reason=registration_closed`,
    )
    expect(await usersOf(setup.service)).toEqual([])
    await setup.service.sql.query(
      `insert into users (id, email, email_key, username, username_key, created_at)
       values ($1, $2, $2, 'ada', 'ada', now())`,
      [crypto.randomUUID(), email],
    )
    expect((await signInWith(setup.service.browser(), 'provider-a')).location).toBe('/dashboard')
  })
})

import { afterAll, beforeAll, beforeEach, describe, expect, it, onTestFinished } from 'vitest'
import { goodPassword } from '../support/latchkey.js'
import { sessionCookiesOf, signInWith, usersOf } from '../support/providers/test-providers.js'
import { createStage, onlyAddress, type Stage } from './numbered-users.js'

const failedA = '/login?error=provider_a_auth_failed'

describe('linking by address', () => {
  let stage: Stage

  beforeAll(async () => {
    stage = await createStage()
  })
  afterAll(() => stage.close())
  beforeEach(() => stage.nextTurn())

  describe('by an address that is proven on both sides', () => {
    it('signs the same person in to the account with a password, and tells them by mail', async () => {
      const ada = await stage.signedUp('ada')
      const browser = stage.service.browser()
      expect((await signInWith(browser, 'provider-a')).location).toBe('/dashboard')
      expect(await stage.idOf(browser)).toBe(await stage.idOf(ada))
      expect(await usersOf(stage.service)).toMatchObject([{ provider: null, provider_a_id: 'subject-1' }])
      await stage.service.mailTo(stage.addressOf('ada'), /Google/)
    })

    it('signs the same person in through both providers, whichever came first', async () => {
      const [first, second] = [stage.service.browser(), stage.service.browser()]
      await signInWith(first, 'provider-b')
      await signInWith(second, 'provider-a')
      expect(await stage.idOf(first)).toBe(await stage.idOf(second))
      const expected = { provider: 'provider_b', provider_a_id: 'subject-1', provider_b_id: '583231' }
      expect(await usersOf(stage.service)).toMatchObject([expected])
    })

    it('takes addresses that differ in case for one', async () => {
      const ada = await stage.signedUp('ada')
      stage.atIssuer({ email: stage.addressOf('ada').toUpperCase() })
      const browser = stage.service.browser()
      await signInWith(browser, 'provider-a')
      expect(await stage.idOf(browser)).toBe(await stage.idOf(ada))
    })

    it('takes the same id at two providers for two people', async () => {
      stage.atIssuer({ sub: '583231' })
      stage.providers.github.become({ login: 'eve' }, onlyAddress(stage.addressOf('eve')))
      await signInWith(stage.service.browser(), 'provider-a')
      await signInWith(stage.service.browser(), 'provider-b')
      expect((await usersOf(stage.service)).map(({ email }) => email)).toEqual([
        stage.addressOf('ada'),
        stage.addressOf('eve'),
      ])
    })

    it('refuses an address that was given to somebody else at the provider', async () => {
      await signInWith(stage.service.browser(), 'provider-a')
      stage.atIssuer({ sub: 'subject-2' })
      const answer = await signInWith(stage.service.browser(), 'provider-a')
      expect(answer.location).toBe(failedA)
      expect(sessionCookiesOf(answer)).toEqual([])
      expect(await usersOf(stage.service)).toHaveLength(1)
    })

    it('refuses a disabled user, by identity and by address', async () => {
      await signInWith(stage.service.browser(), 'provider-a')
      await stage.service.sql.query('update users set disabled_at = now()')
      for (const side of ['provider-a', 'provider-b'] as const) {
        const answer = await signInWith(stage.service.browser(), side)
        expect(answer.location).toBe(`/login?error=${side.replace('-', '_')}_auth_failed`)
        expect(sessionCookiesOf(answer)).toEqual([])
      }
      expect(await usersOf(stage.service)).toMatchObject([{ provider_b_id: null }])
    })
  })

  describe('an account that somebody tries to take before its owner comes', () => {
    const planned = () => ({ username: stage.nameOf('mallory'), email: stage.addressOf('ada'), password: goodPassword })

    it('classic merge: a registration with the victim\u2019s address is not the account the victim gets', async () => {
      const attacker = stage.service.browser()
      await attacker.post('/api/auth/register', planned())
      await signInWith(stage.service.browser(), 'provider-a')
      const later = stage.service.browser()
      const login = await later.post('/login', { username: stage.addressOf('ada'), password: goodPassword })
      // The same answer as before the victim came, so that it does not tell whether the address has an account by now.
      expect([login.status, login.body.error]).toEqual([403, 'Email not confirmed'])
      expect((await later.get('/api/auth/me')).status).toBe(401)
      expect(await usersOf(stage.service)).toMatchObject([{ username: stage.nameOf('ada'), provider: 'provider_a' }])
    })

    it('unexpired session: the attacker has none to keep, and the mail\u2019s link is worth nothing afterwards', async () => {
      const attacker = stage.service.browser()
      await attacker.post('/api/auth/register', planned())
      const token = /#token=([\w-]+)/.exec((await stage.service.mailTo(stage.addressOf('ada'), /#token=/)).text)?.[1]
      await signInWith(stage.service.browser(), 'provider-a')
      const finished = await attacker.post('/api/auth/verify-email', { token })
      expect(finished.status).toBeGreaterThanOrEqual(400)
      expect((await attacker.get('/api/auth/me')).status).toBe(401)
      expect(await usersOf(stage.service)).toMatchObject([{ username: stage.nameOf('ada') }])
    })

    it('trojan identity: nothing can be linked to an account that does not exist yet', async () => {
      const attacker = stage.service.browser()
      await attacker.post('/api/auth/register', planned())
      expect((await attacker.act('/api/auth/providers/provider-b/link', {})).status).toBe(401)
    })

    it('unexpired address change: an address at the provider never moves the account', async () => {
      stage.atIssuer({ sub: 'attacker', email: stage.addressOf('mallory') })
      await signInWith(stage.service.browser(), 'provider-a')
      stage.atIssuer({ sub: 'attacker' })
      await signInWith(stage.service.browser(), 'provider-a')
      const victim = stage.service.browser()
      await signInWith(victim, 'provider-b')
      const users = await usersOf(stage.service)
      expect(users.map(({ email }) => email)).toEqual([stage.addressOf('mallory'), stage.addressOf('ada')])
      expect(await stage.idOf(victim)).toBe(users[1]?.id)
    })

    it('provider that verifies nothing: an unverified address makes and links nothing', async () => {
      await stage.signedUp('ada')
      stage.atIssuer({ sub: 'attacker', email_verified: false })
      expect((await signInWith(stage.service.browser(), 'provider-a')).location).toBe(`${failedA}&reason=no_email`)
      stage.providers.github.become({ id: 666 }, onlyAddress(stage.addressOf('ada'), false))
      expect((await signInWith(stage.service.browser(), 'provider-b')).location).toContain('reason=no_email')
      expect(await usersOf(stage.service)).toMatchObject([{ provider_a_id: null, provider_b_id: null }])
    })
  })
})

describe('where registration is closed', () => {
  it('strangers are refused, and those who have an account sign in', async () => {
    const stage = await createStage({ REGISTRATION: 'closed' })
    onTestFinished(() => stage.close())
    await stage.nextTurn()
    const email = stage.addressOf('ada')
    expect((await signInWith(stage.service.browser(), 'provider-a')).location).toBe(
      `${failedA}&reason=registration_closed`,
    )
    expect(await usersOf(stage.service)).toEqual([])
    await stage.service.sql.query(
      `insert into users (id, email, email_key, username, username_key, created_at)
       values ($1, $2, $2, 'ada', 'ada', now())`,
      [crypto.randomUUID(), email],
    )
    expect((await signInWith(stage.service.browser(), 'provider-a')).location).toBe('/dashboard')
  })
})

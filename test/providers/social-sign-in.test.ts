import { describe, expect, it } from 'vitest'
import { minutes } from '../../src/lib/durations.js'
import { openidApplication } from '../support/openid-application.js'
import {
  comeBack,
  goToProvider,
  type ProviderName,
  sessionCookiesOf,
  signInWith,
  usersOf,
} from '../support/providers/test-providers.js'
import { expectNoUserAndNoSession, failedSignInPath, providerNames, useProviders } from './shared-service.js'

const shared = useProviders()

describe.each(providerNames)('signing in with %s', (provider) => {
  it('ends on the dashboard, signed in as who the provider says', async () => {
    const browser = shared.service.browser()
    const answer = await signInWith(browser, provider)
    expect(answer.status).toBe(303)
    expect(answer.location).toBe('/dashboard')
    expect(answer.headers.get('cache-control')).toBe('no-store')
    expect((await browser.get('/api/auth/account')).body.user).toMatchObject({
      email: 'ada@example.com',
      username: 'ada',
      name: 'Ada Example',
      provider: provider.replace('-', '_'),
      providers: [provider.replace('-', '_')],
    })
  })

  it('sets both cookies as a login does, and clears the attempt', async () => {
    const answer = await signInWith(shared.service.browser(), provider)
    const [access = '', refresh = ''] = sessionCookiesOf(answer)
    for (const cookie of [access, refresh]) expect(cookie).toMatch(/; Path=\/; HttpOnly; SameSite=Strict$/)
    expect(access).toMatch(/; Max-Age=900;/)
    expect(refresh).toMatch(/; Max-Age=2592000;/)
    expect(answer.setCookies.filter((cookie) => cookie.startsWith('attempt_'))).toEqual([
      expect.stringContaining('=; Max-Age=0; Path=/;'),
    ])
  })

  it('keeps a record with the address and the user agent of the callback', async () => {
    const browser = shared.service.browser()
    const callback = await goToProvider(browser, provider)
    await browser.get(callback, { address: '203.0.113.9', headers: { 'user-agent': 'A browser' } })
    const records = await shared.service.sql.query('select ip, user_agent, expires_at, created_at from sessions')
    expect(records).toMatchObject([{ ip: '203.0.113.9', user_agent: 'A browser' }])
    const [{ expires_at, created_at } = {}] = records as { expires_at?: Date; created_at?: Date }[]
    expect((expires_at?.getTime() ?? 0) - (created_at?.getTime() ?? 0)).toBe(30 * 24 * 60 * minutes)
  })

  it('finds the same user the next time, by the id at the provider and not by email or name', async () => {
    await signInWith(shared.service.browser(), provider)
    shared.providers.issuer.become({ email: 'countess@example.com', name: 'Ada Renamed' })
    shared.providers.github.become({ login: 'renamed' }, [
      { email: 'countess@example.com', primary: true, verified: true },
    ])
    expect((await signInWith(shared.service.browser(), provider)).location).toBe('/dashboard')
    expect(await usersOf(shared.service)).toMatchObject([{ email: 'ada@example.com', username: 'ada' }])
  })

  it('goes where the visitor was going, if that is a path of ours', async () => {
    const wanted = `?returnTo=${encodeURIComponent('/notes/7?tab=2')}`
    expect((await signInWith(shared.service.browser(), provider, wanted)).location).toBe('/notes/7?tab=2')
    for (const evil of ['//evil.example', '/\\evil.example', '/%09/evil.example', 'https:evil.example', 'javascript:x'])
      expect(
        (await signInWith(shared.service.browser(), provider, `?returnTo=${encodeURIComponent(evil)}`)).location,
      ).toBe('/dashboard')
  })

  it('keeps the attempt in a sealed, short-lived, Lax cookie that scripts cannot read', async () => {
    const answer = await shared.service.browser().get(`/api/auth/${provider}`)
    expect(answer.status).toBe(303)
    expect(answer.headers.get('cache-control')).toBe('no-store')
    expect(answer.setCookies).toEqual([
      expect.stringMatching(/^attempt_[\w-]{12}=[\w-]+; Max-Age=600; Path=\/; HttpOnly; SameSite=Lax$/),
    ])
    const state = new URL(answer.headers.get('location') ?? '').searchParams.get('state') ?? ''
    expect(state).toMatch(/^[\w-]{43}$/)
    expect(answer.setCookies.join()).not.toContain(state)
  })

  it('runs two attempts in two tabs at once', async () => {
    const browser = shared.service.browser()
    const first = await goToProvider(browser, provider)
    const second = await goToProvider(browser, provider, '?returnTo=/second')
    expect((await comeBack(browser, first)).location).toBe('/dashboard')
    expect((await comeBack(browser, second)).location).toBe('/second')
  })

  it('holds a bounded number of attempts, and forgets the oldest', async () => {
    const browser = shared.service.browser()
    const callbacks = []
    for (let tab = 0; tab < 12; tab += 1)
      callbacks.push(await goToProvider(browser, provider, `?returnTo=/${'x'.repeat(100)}`))
    const cookies = [...browser.jar].filter(([name]) => name.startsWith('attempt_'))
    expect(cookies.length).toBeGreaterThan(1)
    expect(cookies.length).toBeLessThanOrEqual(5)
    expect(cookies.flat().join('').length).toBeLessThan(2500)
    expect((await comeBack(browser, callbacks[0] ?? '')).location).toBe(failedSignInPath(provider))
    expect((await comeBack(browser, callbacks.at(-1) ?? '')).location).toMatch(/^\/x+$/)
  })

  it('records what happened', async () => {
    await signInWith(shared.service.browser(), provider)
    await signInWith(shared.service.browser(), provider)
    const reason = provider.replace('-', '_')
    const events = await shared.service.sql.query(
      "select kind, reason from events where user_id is not null and kind not like 'mail_%' order by kind",
    )
    expect(events).toEqual([
      { kind: 'registered', reason },
      { kind: 'signed_in', reason },
      { kind: 'signed_in', reason },
    ])
  })
})

const secondsAgo = (seconds: number) => Math.floor(Date.now() / 1000) - seconds

describe('how fresh a session is that a provider began', () => {
  it.each<[string, unknown, number]>([
    ['asked for a password just now', () => secondsAgo(0), 200],
    ['asked for one eight minutes ago', () => secondsAgo(8 * 60), 200],
    ['asked for one eleven minutes ago', () => secondsAgo(11 * 60), 403],
    ['has a clock that is 20 seconds ahead', () => secondsAgo(-20), 200],
    ['names a time that has not come', () => secondsAgo(-3600), 403],
    ['names the year 1970', () => 0, 403],
    ['says nothing', () => undefined, 403],
  ])('goes by the auth_time of a provider that %s', async (_, authTime, status) => {
    shared.providers.issuer.behave({ idToken: (claims) => ({ ...claims, auth_time: (authTime as () => unknown)() }) })
    const browser = shared.service.browser()
    const before = Date.now()
    expect((await signInWith(browser, 'provider-a')).location).toBe('/dashboard')
    expect((await browser.get('/api/auth/export')).status).toBe(status)
    const provenAt = Number((await browser.get('/api/auth/verify')).headers.get('x-auth-time')) * 1000
    expect(provenAt).toBeLessThanOrEqual(Date.now())
    expect(provenAt > before - 10 * minutes).toBe(status === 200)
  })

  it('is not fresh by a provider that does not know when: a mailed code makes it so', async () => {
    const browser = shared.service.browser()
    await signInWith(browser, 'provider-b')
    expect((await browser.get('/api/auth/verify?fresh=10m')).status).toBe(403)
    const refused = await browser.get('/api/auth/export')
    expect([refused.status, refused.body.methods]).toEqual([403, ['mail']])
    expect((await browser.act('/api/auth/step-up/mail')).status).toBe(202)
    const { text } = await shared.service.mailTo('ada@example.com', /code/i)
    const [mailedCode] = /\b[A-Z0-9]{4}-[A-Z0-9]{4}\b/.exec(text) ?? []
    expect((await browser.act('/api/auth/step-up', { mailedCode })).status).toBe(200)
    expect((await browser.get('/api/auth/export')).status).toBe(200)
  })

  it('asks for the time, and for no new sign-in at the provider', async () => {
    const { headers } = await shared.service.browser().get('/api/auth/provider-a')
    const asked = new URL(headers.get('location') ?? '').searchParams
    expect([asked.get('max_age'), asked.get('prompt')]).toEqual(['31536000', null])
    expect(JSON.parse(asked.get('claims') ?? '')).toEqual({ id_token: { auth_time: { essential: true } } })
  })
})

describe('what an application is told about the time of the proof', () => {
  const silent = () => shared.providers.issuer.behave({ idToken: ({ auth_time: _, ...claims }) => claims })

  it('gets the time that the provider names, also an old one, and none if nobody knows', async () => {
    const notes = await openidApplication(shared.service, { name: 'Times' })
    const old = secondsAgo(3600)
    shared.providers.issuer.behave({ idToken: (claims) => ({ ...claims, auth_time: old }) })
    const known = shared.service.browser()
    await signInWith(known, 'provider-a')
    expect((await notes.signIn(known)).claims.auth_time).toBe(old)

    silent()
    const unknown = shared.service.browser()
    await signInWith(unknown, 'provider-a')
    const tokens = await notes.signIn(unknown)
    expect(tokens.claims).not.toHaveProperty('auth_time')
    expect((await notes.refresh(tokens)).claims).not.toHaveProperty('auth_time')
    const atGithub = shared.service.browser()
    await signInWith(atGithub, 'provider-b')
    expect((await notes.signIn(atGithub)).claims).not.toHaveProperty('auth_time')
  })

  it.each([
    ['max_age', { max_age: '999999999' }],
    ['essential', { claims: JSON.stringify({ id_token: { auth_time: { essential: true } } }) }],
  ])('is asked for a proof where the application needs the time (%s), and then gets it', async (how, changed) => {
    const notes = await openidApplication(shared.service, { name: `Needs it ${how}` })
    silent()
    shared.providers.issuer.become({ email: `${how}@example.com` })
    const browser = shared.service.browser()
    await signInWith(browser, 'provider-a')
    const asked = await notes.ask(browser, changed)
    expect(asked.state.next).toBe('prove')
    await browser.act('/api/auth/step-up/mail')
    const { text } = await shared.service.mailTo(`${how}@example.com`, /code/i)
    const [mailedCode] = /\b[A-Z0-9]{4}-[A-Z0-9]{4}\b/.exec(text) ?? []
    const before = Math.floor(Date.now() / 1000)
    expect((await browser.act('/api/auth/step-up', { mailedCode })).status).toBe(200)
    const { claims } = await notes.redeem(await notes.resume(browser, asked))
    expect(claims.auth_time).toBeGreaterThanOrEqual(before)
  })
})

describe('where a sign-in begins', () => {
  const from = (site: string) => ({ headers: { 'sec-fetch-site': site, 'sec-fetch-dest': 'document' } })

  it.each(providerNames)('a link on another site to %s leads to the button, and begins nothing', async (provider) => {
    const visitor = shared.service.browser()
    const answer = await visitor.get(
      `/api/auth/${provider}?returnTo=${encodeURIComponent('/notes?id=7')}`,
      from('cross-site'),
    )
    expect([answer.status, answer.headers.get('location')]).toEqual([
      303,
      `/login?provider=${provider}&returnTo=%2Fnotes%3Fid%3D7`,
    ])
    expect(answer.setCookies).toEqual([])
    const evil = await visitor.get(`/api/auth/${provider}?returnTo=//evil.example`, from('cross-site'))
    expect(evil.headers.get('location')).toBe(`/login?provider=${provider}`)
  })

  it.each(['same-origin', 'same-site', 'none'])('a navigation with Sec-Fetch-Site: %s begins it', async (site) => {
    const answer = await shared.service.browser().get('/api/auth/provider-a', from(site))
    expect(answer.headers.get('location')).toMatch(/^http:.*[?&]state=/)
  })

  it('ends the session that the browser had, although it sends no Strict cookie when it comes back', async () => {
    const browser = shared.service.browser()
    await signInWith(browser, 'provider-a')
    const before = browser.copy()
    const callback = await goToProvider(browser, 'provider-a')
    for (const name of ['access_token', 'refresh_token']) browser.jar.delete(name)
    expect((await comeBack(browser, callback)).location).toBe('/dashboard')
    expect((await before.post('/api/auth/refresh')).status).toBe(401)
    expect((await browser.post('/api/auth/refresh')).status).toBe(200)
  })
})

describe('many first sign-ins of one person at once', () => {
  it('make one user, and sign all of them in', async () => {
    const browsers = Array.from({ length: 20 }, () => shared.service.browser())
    const callbacks = await Promise.all(browsers.map((browser) => goToProvider(browser, 'provider-a')))
    const answers = await Promise.all(browsers.map((browser, index) => comeBack(browser, callbacks[index] ?? '')))
    expect(answers.map(({ location }) => location)).toEqual(Array(20).fill('/dashboard'))
    expect(await usersOf(shared.service)).toHaveLength(1)
  })

  it('make one user also through both providers', async () => {
    const browsers = Array.from({ length: 20 }, () => shared.service.browser())
    const sideOf = (index: number): ProviderName => (index % 2 ? 'provider-a' : 'provider-b')
    const callbacks = await Promise.all(browsers.map((browser, index) => goToProvider(browser, sideOf(index))))
    const answers = await Promise.all(browsers.map((browser, index) => comeBack(browser, callbacks[index] ?? '')))
    expect(answers.map(({ location }) => location)).toEqual(Array(20).fill('/dashboard'))
    expect(await usersOf(shared.service)).toMatchObject([{ provider_a_id: 'subject-1', provider_b_id: '583231' }])
  })

  it('give people with one name the smallest free suffixes', async () => {
    let number = 0
    shared.providers.issuer.behave({
      idToken: (claims) => {
        number += 1
        return { ...claims, sub: `subject-${number}`, email: `ada@host${number}.example.com` }
      },
    })
    await Promise.all(Array.from({ length: 8 }, () => signInWith(shared.service.browser(), 'provider-a')))
    const names = (await usersOf(shared.service)).map(({ username }) => username)
    expect(names.sort()).toEqual(['ada', 'ada-2', 'ada-3', 'ada-4', 'ada-5', 'ada-6', 'ada-7', 'ada-8'])
  })
})

describe('when our own side fails', () => {
  it('ends at callback_failed, with no user signed in, and the log says why', async () => {
    const browser = shared.service.browser()
    const callback = await goToProvider(browser, 'provider-a')
    await shared.service.sql.query('alter table sessions rename to records_elsewhere')
    try {
      const answer = await comeBack(browser, callback)
      expect(answer.location).toBe('/login?error=callback_failed')
      expect(sessionCookiesOf(answer)).toEqual([])
    } finally {
      await shared.service.sql.query('alter table records_elsewhere rename to sessions')
    }
    expect(shared.service.logLines.join('')).toContain('a sign-in with a provider could not be completed')
    expect((await signInWith(browser, 'provider-a')).location).toBe('/dashboard')
  })

  it('ends at callback_failed when the attempt cannot be marked as used', async () => {
    const browser = shared.service.browser()
    const callback = await goToProvider(browser, 'provider-b')
    await shared.service.sql.query('alter table one_time_tokens rename to tokens_elsewhere')
    try {
      const answer = await comeBack(browser, callback)
      expect(answer.location).toBe('/login?error=callback_failed')
      await expectNoUserAndNoSession(shared.service, answer)
    } finally {
      await shared.service.sql.query('alter table tokens_elsewhere rename to one_time_tokens')
    }
  })
})

describe('what is written down', () => {
  it('holds no code, state, verifier, token or secret of any sign-in', async () => {
    const browser = shared.service.browser()
    const callbackA = await goToProvider(browser, 'provider-a')
    const callbackB = await goToProvider(browser, 'provider-b')
    const cookies = [...browser.jar.values()]
    await comeBack(browser, callbackA)
    await comeBack(browser, callbackB)
    const secrets = [callbackA, callbackB].flatMap((path) => [...new URLSearchParams(path.split('?')[1]).values()])
    const { clientSecret } = shared.providers.issuer
    const log = shared.service.logLines.join('')
    for (const secret of [...secrets, ...cookies, clientSecret, 'provider-access-token', 'gho_provider_token'])
      expect(log).not.toContain(secret)
  })
})

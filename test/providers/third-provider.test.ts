import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { openRoomsForCommand } from '../../src/commands/open-for-commands.js'
import type { Browser } from '../support/client.js'
import { goodPassword, type Latchkey, startLatchkey } from '../support/latchkey.js'
import { createIssuer, type Issuer } from '../support/providers/issuer.js'
import { answerOf, comeBack } from '../support/providers/test-providers.js'
import { freePort } from '../support/servers/server.js'
import { noStore } from '../support/stores.js'
import { latchkey } from '../support/terminal.js'

// PROVIDERS and the settings of each are all that further OpenID Connect providers take.
describe('a service with two further providers', () => {
  let service: Latchkey
  let issuers: Record<'microsoft' | 'okta2', Issuer>
  let settings: Record<string, string>
  let metricsPort: number

  beforeAll(async () => {
    issuers = {
      microsoft: await createIssuer(),
      okta2: await createIssuer({ clientId: 'client-o', clientSecret: 'client-o-secret-of-many-letters' }),
    }
    metricsPort = await freePort()
    settings = {
      PROVIDERS: 'microsoft, okta2',
      PROVIDER_MICROSOFT_ISSUER: issuers.microsoft.issuer,
      PROVIDER_MICROSOFT_CLIENT_ID: issuers.microsoft.clientId,
      PROVIDER_MICROSOFT_CLIENT_SECRET: issuers.microsoft.clientSecret,
      PROVIDER_MICROSOFT_TRUST_EMAIL: 'true',
      PROVIDER_MICROSOFT_LOGO_URL: '/ms.svg',
      PROVIDER_OKTA2_ISSUER: issuers.okta2.issuer,
      PROVIDER_OKTA2_CLIENT_ID: issuers.okta2.clientId,
      PROVIDER_OKTA2_CLIENT_SECRET: issuers.okta2.clientSecret,
      PROVIDER_OKTA2_NAME: 'Our own',
    }
    service = await startLatchkey({ settings: { ...settings, METRICS_PORT: String(metricsPort) } })
  })
  beforeEach(async () => {
    await service.sql.query('delete from users')
    for (const issuer of Object.values(issuers)) {
      issuer.behave({})
      issuer.become({ email_verified: true })
    }
  })
  afterAll(async () => {
    await service.stop()
    for (const issuer of Object.values(issuers)) await issuer.close()
  })

  const command = (args: string[], input?: string) =>
    latchkey(
      { openRooms: (role) => openRoomsForCommand(service.config, role) },
      args,
      input === undefined ? {} : { input },
    )
  const signIn = async (name: keyof typeof issuers, browser = service.browser()) => {
    const { headers } = await browser.get(`/api/auth/provider-${name}`)
    return { browser, answer: await comeBack(browser, await answerOf(headers.get('location') ?? '')) }
  }
  const accountOf = async (browser: Browser) => (await browser.get('/api/auth/account')).body.user

  it('has a button for each, and signs in by its own address and callback', async () => {
    const page = await (await fetch(`${service.url}/login`)).text()
    const microsoft = {
      id: 'provider_microsoft',
      name: 'Microsoft',
      path: '/api/auth/provider-microsoft',
      logo: '/ms.svg',
    }
    expect(page).toContain(JSON.stringify(microsoft))
    expect(page).toContain('<img class="provider-logo" src="/ms.svg"')
    expect(page).toContain('<span>Continue with Our own</span>')
    expect(page).toContain('{"id":"provider_okta2","name":"Our own","path":"/api/auth/provider-okta2"}')
    const { headers } = await service.browser().get('/api/auth/provider-okta2')
    expect(new URL(headers.get('location') ?? '').searchParams.get('redirect_uri')).toBe(
      `${service.url}/api/auth/provider-okta2/callback`,
    )
    const { browser, answer } = await signIn('okta2')
    expect(answer.location).toBe('/dashboard')
    expect(await accountOf(browser)).toMatchObject({ provider: 'provider_okta2', providers: ['provider_okta2'] })
  })

  it('keeps the same subject at two of them apart, and links them by a verified address', async () => {
    for (const issuer of Object.values(issuers)) issuer.become({ sub: 'same-subject' })
    issuers.microsoft.become({ sub: 'same-subject', email: 'other@example.com' })
    await signIn('okta2')
    await signIn('microsoft')
    expect(await service.sql.query('select 1 from users')).toHaveLength(2)
    await service.sql.query('delete from users')
    issuers.microsoft.become({ sub: 'same-subject' })
    await signIn('okta2')
    const { browser } = await signIn('microsoft')
    expect(await accountOf(browser)).toMatchObject({ providers: ['provider_microsoft', 'provider_okta2'] })
  })

  it('takes an answer of one for no attempt at the other', async () => {
    const browser = service.browser()
    const { headers } = await browser.get('/api/auth/provider-okta2')
    const callback = await answerOf(headers.get('location') ?? '')
    const swapped = callback.replace('provider-okta2', 'provider-microsoft')
    expect((await comeBack(browser, swapped)).location).toBe('/login?error=provider_microsoft_auth_failed')
    expect(browser.jar.has('access_token')).toBe(false)
  })

  it('needs a verified address, unless the issuer is trusted and says nothing about it', async () => {
    const refused = (name: string) => `/login?error=provider_${name}_auth_failed&reason=no_email`
    for (const issuer of Object.values(issuers)) issuer.become({ email_verified: false })
    expect((await signIn('okta2')).answer.location).toBe(refused('okta2'))
    expect((await signIn('microsoft')).answer.location).toBe(refused('microsoft'))
    for (const issuer of Object.values(issuers)) issuer.become({ email_verified: undefined })
    expect((await signIn('okta2')).answer.location).toBe(refused('okta2'))
    expect((await signIn('microsoft')).answer.location).toBe('/dashboard')
  })

  it.each([false, 'false'])('takes no email of a trusted issuer if either document says %j about it', async (no) => {
    const refused = '/login?error=provider_microsoft_auth_failed&reason=no_email'
    const withoutFlag = ({ email_verified: _, ...claims }: Record<string, unknown>) => claims
    const flagAlone = ({ sub }: Record<string, unknown>) => ({ sub, email_verified: no })
    issuers.microsoft.behave({ idToken: withoutFlag, userinfo: flagAlone })
    issuers.microsoft.become({ name: undefined })
    expect((await signIn('microsoft')).answer.location).toBe(refused)
    issuers.microsoft.behave({
      idToken: ({ email: _, ...claims }) => ({ ...claims, email_verified: no }),
      userinfo: withoutFlag,
    })
    expect((await signIn('microsoft')).answer.location).toBe(refused)
  })

  it('is linked and removed from the account page', async () => {
    const browser = await service.signedUp('grace')
    issuers.okta2.become({ sub: 'subject-2', email: 'grace@example.com' })
    const begun = await browser.act('/api/auth/providers/provider-okta2/link', {})
    const { location } = await comeBack(browser, await answerOf(String(begun.body.location)))
    expect(location).toBe('/dashboard?linking=provider_okta2')
    expect((await browser.act('/api/auth/providers/provider-okta2/link/finish', {})).status).toBe(204)
    expect(await accountOf(browser)).toMatchObject({ providers: ['provider_okta2'] })
    expect((await browser.remove('/api/auth/providers/provider-okta2')).status).toBe(204)
    expect(await accountOf(browser)).toMatchObject({ providers: [] })
    expect(await browser.act('/api/auth/providers/provider_okta2/link', {})).toMatchObject({
      status: 400,
      body: { message: 'provider must be provider-a, provider-b, provider-microsoft or provider-okta2' },
    })
    expect((await service.browser().get('/api/auth/provider-unknown')).status).toBe(404)
    expect((await service.browser().post('/login', { username: 'grace', password: goodPassword })).status).toBe(200)
  })

  it('is imported, exported and listed', async () => {
    const edsger = { email: 'edsger@example.com', provider: 'provider_okta2', provider_okta2_id: 'subject-3' }
    expect((await command(['user', 'import', '-'], JSON.stringify(edsger))).code).toBe(0)
    const exported = await command(['user', 'export', '--format', 'csv'])
    expect(exported.out).toMatch(
      /^id,.*,provider,provider_a_id,provider_b_id,provider_okta2_id,groups,created_at,disabled\r?\n/,
    )
    expect(exported.out).toMatch(/,edsger@example\.com,.*,provider_okta2,,,subject-3,/)
    expect((await command(['user', 'list'])).out).toMatch(/edsger@example\.com +provider okta2/)
    expect(JSON.parse((await command(['user', 'list', '--json'])).out)).toMatchObject({
      provider_a: false,
      provider_okta2: true,
    })
    const unknown = { email: 'x@example.com', provider: 'provider_unknown' }
    const { err } = await command(['user', 'import', '-'], JSON.stringify(unknown))
    expect(err).toContain('provider must be provider_a or provider_b or provider_microsoft or provider_okta2')
  })

  it('is looked at by doctor, which hides its secret', async () => {
    const environment = { NODE_ENV: 'test', ...settings, PROVIDER_OKTA_ISSUER: 'https://id.example.com' }
    const { out: text } = await latchkey(noStore, ['doctor'], { environment })
    expect(text).toMatch(/^ok +provider microsoft +\S+ publishes what is needed$/m)
    expect(text).toMatch(/^ok +provider okta2 +\S+ publishes what is needed$/m)
    expect(text).toMatch(/^warning +settings +PROVIDER_OKTA_ISSUER is not/m)
    expect(text).not.toContain(issuers.okta2.clientSecret)
  })

  it('is counted and documented', async () => {
    await signIn('okta2')
    const metrics = await (await fetch(`http://127.0.0.1:${metricsPort}/metrics`)).text()
    expect(metrics).toMatch(/^latchkey_sign_ins_total\{way="provider_okta2"\} [1-9]/m)
    const { body } = await service.browser().get('/api/openapi.json')
    expect(body.paths).toMatchObject({ '/api/auth/provider-okta2': {}, '/api/auth/provider-okta2/callback': {} })
  })
})

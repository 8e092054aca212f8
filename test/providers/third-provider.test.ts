import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { examineSettings } from '../../src/commands/doctor.js'
import { configurationGuide, environmentExample } from '../../src/config/guide.js'
import { createMetrics } from '../../src/platform/metrics/metrics.js'
import { type CommandStore, commandStores } from '../support/command-stores.js'
import { type Latchkey, startLatchkey } from '../support/latchkey.js'
import { createIssuer } from '../support/providers/issuer.js'
import { answerOf, comeBack } from '../support/providers/test-providers.js'
import { latchkey } from '../support/terminal.js'

// One more entry in the table is all that an OpenID Connect provider takes: every expectation below follows from it.
vi.mock('../../src/contract/provider-table.js', async (original) => {
  const { providers } = await original<typeof import('../../src/contract/provider-table.js')>()
  const provider_c = {
    kind: 'openid_connect',
    path: 'provider-c',
    label: 'provider C',
    name: 'Example',
    issuer: 'https://id.example.com',
  }
  return { providers: { ...providers, provider_c } }
})

describe('a third provider in the table', () => {
  let issuer: Awaited<ReturnType<typeof createIssuer>>
  let service: Latchkey
  let store: CommandStore
  let settings: Record<string, string>

  beforeAll(async () => {
    issuer = await createIssuer()
    settings = {
      PROVIDER_C_ISSUER: issuer.issuer,
      PROVIDER_C_CLIENT_ID: issuer.clientId,
      PROVIDER_C_CLIENT_SECRET: issuer.clientSecret,
      PROVIDER_C_NAME: 'Our own',
    }
    service = await startLatchkey({ settings })
    const [postgres] = commandStores
    if (!postgres) throw new Error('There is no store for commands')
    store = await postgres.open()
  })
  afterAll(async () => {
    await store.drop()
    await service.stop()
    await issuer.close()
  })

  const begin = async () => {
    const browser = service.browser()
    const { headers } = await browser.get('/api/auth/provider-c')
    return { browser, location: new URL(headers.get('location') ?? '') }
  }
  const signIn = async () => {
    const { browser, location } = await begin()
    return { browser, answer: await comeBack(browser, await answerOf(location.href)) }
  }

  it('has its settings, in the guide and in the example file', () => {
    expect(configurationGuide()).toContain('| `PROVIDER_C_ISSUER` | `https://id.example.com` | OpenID Connect issuer')
    expect(configurationGuide()).toContain('`PUBLIC_URL/api/auth/provider-c/callback`')
    expect(environmentExample()).toContain('#PROVIDER_C_NAME=Example\n')
    expect(service.config.providers).toMatchObject({ provider_c: { name: 'Our own', clientId: issuer.clientId } })
  })

  it('has a button, and signs in by its own address and callback', async () => {
    const page = await (await fetch(`${service.url}/login`)).text()
    expect(page).toContain('{"id":"provider_c","name":"Our own","path":"/api/auth/provider-c"}')
    const { location } = await begin()
    expect(location.searchParams.get('redirect_uri')).toBe(`${service.url}/api/auth/provider-c/callback`)
    const { browser, answer } = await signIn()
    expect(answer.location).toBe('/dashboard')
    const { body } = await browser.get('/api/auth/account')
    expect(body.user).toMatchObject({ provider: 'provider_c', providers: ['provider_c'] })
  })

  it('fails as the others do', async () => {
    issuer.become({ email_verified: false })
    expect((await signIn()).answer.location).toBe('/login?error=provider_c_auth_failed&reason=no_email')
    issuer.become({})
  })

  it('is linked and removed from the account page', async () => {
    issuer.become({ sub: 'subject-2', email: 'grace@example.com' })
    const browser = await service.signedUp('grace')
    const begun = await browser.act('/api/auth/providers/provider-c/link', {})
    const { location } = await comeBack(browser, await answerOf(String(begun.body.location)))
    expect(location).toBe('/dashboard?linking=provider_c')
    expect((await browser.act('/api/auth/providers/provider-c/link/finish', {})).status).toBe(204)
    expect((await browser.get('/api/auth/account')).body.user).toMatchObject({ providers: ['provider_c'] })
    expect((await browser.remove('/api/auth/providers/provider-c')).status).toBe(204)
    expect((await browser.get('/api/auth/account')).body.user).toMatchObject({ providers: [] })
  })

  it('is imported, exported and listed', async () => {
    const input = '{"email":"ada@example.com","provider":"provider_c","provider_c_id":"subject-1"}'
    expect((await latchkey(store, ['user', 'import', '-'], { input })).code).toBe(0)
    const exported = await latchkey(store, ['user', 'export', '--format', 'csv'])
    expect(exported.out).toMatch(
      /^id,email,.*,provider,provider_a_id,provider_b_id,provider_c_id,created_at,disabled\r?\n/,
    )
    expect(exported.out).toContain(',provider_c,,,subject-1,')
    expect((await latchkey(store, ['user', 'list'])).out).toContain('provider C')
    expect((await latchkey(store, ['user', 'import', '--help'])).out).toContain('provider_c_id')
  })

  it('is looked at by doctor, which hides its secret', async () => {
    let text = ''
    const write = (chunk: string) => {
      text += chunk
      return true
    }
    await examineSettings({ NODE_ENV: 'test', ...settings, PROVIDER_C_CLIENT_SECRET: issuer.issuer }, { write })
    expect(text).toMatch(/^ok +provider C +\[hidden\] publishes what is needed$/m)
  })

  it('is counted and documented', async () => {
    expect(await createMetrics().text()).toContain('latchkey_sign_ins_total{way="provider_c"} 0')
    const { body } = await service.browser().get('/api/openapi.json')
    expect(body.paths).toMatchObject({ '/api/auth/provider-c': {}, '/api/auth/provider-c/callback': {} })
  })
})

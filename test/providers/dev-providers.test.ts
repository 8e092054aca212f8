import { get } from 'node:http'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { systemClock } from '../../src/lib/clock.js'
import { designOf } from '../../src/lib/design.js'
import { randomToken } from '../../src/lib/random.js'

import { createOutbound } from '../../src/platform/outbound/outbound.js'
import { startDevProviders } from '../../src/providers/dev/dev-providers.js'
import { createGitHub } from '../../src/providers/github.js'
import { createOpenIdConnect } from '../../src/providers/openid-connect.js'
import type { Provider } from '../../src/providers/provider.js'

const publicUrl = 'http://localhost:3000'
const accent = '#10204d'
const design = designOf(accent)
const google = { name: 'Google', redirectUri: `${publicUrl}/api/auth/provider-a/callback` }
const github = { name: 'GitHub', redirectUri: `${publicUrl}/api/auth/provider-b/callback` }
const replaced = [
  { id: 'provider_a', kind: 'openid_connect', ...google },
  { id: 'provider_b', kind: 'github', ...github },
] as const
const log = { info: () => undefined, warn: () => undefined }

let devProviders: Awaited<ReturnType<typeof startDevProviders>>
let providers: Record<'provider_a' | 'provider_b', Provider>
const said = [
  vi.spyOn(console, 'warn'),
  vi.spyOn(console, 'info'),
  vi.spyOn(console, 'log'),
  vi.spyOn(console, 'error'),
]

beforeAll(async () => {
  devProviders = await startDevProviders({ publicUrl, design, providers: replaced, log })
  const { provider_a, provider_b } = devProviders.running
  if (provider_a?.kind !== 'openid_connect' || provider_b?.kind !== 'github')
    throw new Error('a development provider is missing')
  const parts = { outbound: createOutbound({ allowLoopbackHttp: true }), clock: systemClock }
  providers = {
    provider_a: createOpenIdConnect('provider_a', { ...google, ...provider_a, production: false }, parts),
    provider_b: createGitHub('provider_b', { ...github, ...provider_b, production: false }, parts),
  }
})

afterAll(() => devProviders.close())

/** A browser that keeps cookies and stops where the service would be called. */
const createVisitor = () => {
  const jar = new Map<string, string>()
  const visit = async (
    url: string,
    init: RequestInit = {},
  ): Promise<{ url: string; page: string; response?: Response }> => {
    if (url.startsWith(publicUrl)) return { url, page: '' }
    const cookie = [...jar].map(([name, value]) => `${name}=${value}`).join('; ')
    const response = await fetch(url, { ...init, headers: { cookie }, redirect: 'manual' })
    for (const line of response.headers.getSetCookie()) {
      const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(line) ?? []
      if (value === '') jar.delete(name)
      else jar.set(name, value)
    }
    const location = response.headers.get('location')
    return location ? visit(new URL(location, url).href) : { url, page: await response.text(), response }
  }
  return visit
}

const choose = async (provider: Provider, person: string, visit = createVisitor()) => {
  const checks = { state: randomToken(), verifier: randomToken(), nonce: randomToken() }
  const chooser = await visit(String(await provider.begin(checks)))
  const [, action = ''] = /action="([^"]+)"/.exec(chooser.page) ?? []
  const hidden = [...chooser.page.matchAll(/type="hidden" name="([^"]+)" value="([^"]*)"/g)]
  const form = new URLSearchParams(hidden.map(([, name = '', value = '']) => [name, value]))
  form.set('person', person)
  const arrived = await visit(new URL(action, chooser.url).href, { method: 'POST', body: form })
  return { chooser, profile: await provider.finish(new URL(arrived.url), checks) }
}

describe.each(['provider_a', 'provider_b'] as const)('the development provider of %s', (id) => {
  it('lets you choose who you are', async () => {
    const { profile } = await choose(providers[id], 'ada')
    expect(profile).toEqual({
      subject: id === 'provider_a' ? 'dev-ada' : '1001',
      email: 'ada@example.com',
      username: 'ada',
      name: 'Ada Example',
      // As with the real ones: GitHub does not say when its user last signed in.
      ...(id === 'provider_a' && { provenAt: expect.any(Date) }),
    })
  })

  it('asks anew each time, also in the same browser', async () => {
    const visitor = createVisitor()
    expect((await choose(providers[id], 'ada', visitor)).profile).toMatchObject({ email: 'ada@example.com' })
    expect((await choose(providers[id], 'ben', visitor)).profile).toMatchObject({ email: 'ben@example.com' })
  })

  it.each(['nomail', 'unverified'])('has a person without a usable email: %s', async (person) => {
    expect((await choose(providers[id], person)).profile).toMatchObject({ refused: 'no_email' })
  })

  it('can be refused', async () => {
    expect((await choose(providers[id], '')).profile).toEqual({ refused: 'cancelled', cause: 'access_denied' })
  })

  it('says plainly what it is, on another site than the service, and lets the form lead back', async () => {
    const { chooser } = await choose(providers[id], 'ada')
    expect(chooser.url).toMatch(/^http:\/\/127\.0\.0\.1:/)
    expect(chooser.page).toContain('Development provider')
    expect(chooser.page).toContain('never in production')
    expect(chooser.response?.headers.get('content-security-policy')).toContain(`form-action 'self' ${publicUrl}`)
    expect(chooser.page).not.toContain('<script')
    expect(chooser.page).toContain(`--accent:${accent};`)
  })

  it('sends no user to an address it does not know', async () => {
    const begun = await providers[id].begin({ state: 's', verifier: randomToken(), nonce: 'n' })
    const address = new URL(String(begun))
    address.searchParams.set('redirect_uri', 'https://evil.example/')
    const answer = await fetch(address, { redirect: 'manual' })
    expect(answer.status).toBe(400)
    expect(await answer.text()).toContain('Development provider')
  })
})

describe('the development providers', () => {
  it('goes to the other name of this machine when the service has taken 127.0.0.1', async () => {
    const other = await startDevProviders({ publicUrl: 'http://127.0.0.1:3000', design, providers: replaced, log })
    const localhost = expect.stringMatching(/^http:\/\/localhost:/)
    expect(other.running.provider_a).toMatchObject({ issuer: localhost })
    expect(other.running.provider_b).toMatchObject({ url: localhost })
    await other.close()
  })

  it('answers only by the names of this machine', async () => {
    const provider = devProviders.running.provider_a
    const { hostname, port } = new URL(provider?.kind === 'openid_connect' ? provider.issuer : '')
    const path = '/.well-known/openid-configuration'
    const statusFor = (host: string) =>
      new Promise<number | undefined>((resolve, reject) => {
        const asked = get({ hostname, port, path, headers: { host } }, (answer) => resolve(answer.resume().statusCode))
        asked.once('error', reject)
      })
    expect([await statusFor('rebind.attacker.example'), await statusFor(`localhost:${port}`)]).toEqual([421, 200])
  })

  it('starts only those that are named', async () => {
    const other = await startDevProviders({ publicUrl, design, providers: replaced.slice(1), log })
    expect(other.running.provider_a).toBeUndefined()
    expect(other.running.provider_b).toBeDefined()
    await other.close()
  })

  it('writes nothing to the console', () => {
    for (const spy of said) expect(spy.mock.calls).toEqual([])
  })
})

import { allowInsecureRequests, discoveryRequest, processDiscoveryResponse } from 'oauth4webapi'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { addApplication } from '../support/applications.js'
import { whileAway } from '../support/databases.js'
import { type Latchkey, startLatchkey } from '../support/latchkey.js'
import { until } from '../support/until.js'

describe('OpenID discovery', () => {
  let latchkey: Latchkey
  beforeAll(async () => {
    latchkey = await startLatchkey()
  })
  afterAll(() => latchkey.stop())

  const configuration = '/api/auth/.well-known/openid-configuration'
  const get = (path: string, headers: Record<string, string> = {}) => fetch(`${latchkey.url}${path}`, { headers })

  it('is unavailable, in the words of the protocol, while it is unknown whether there is an application', async () => {
    await whileAway(latchkey.config.databaseUrl, async () => {
      for (const path of [configuration, '/api/auth/keys']) {
        const answer = await get(path)
        expect([path, answer.status]).toEqual([path, 503])
        expect(await answer.json()).toEqual({
          error: 'temporarily_unavailable',
          error_description: expect.stringMatching(/^[^"\\]+$/),
        })
        expect(Number(answer.headers.get('retry-after'))).toBeGreaterThan(0)
        expect(answer.headers.get('cache-control')).not.toContain('public')
      }
    })
    await until('the database is back', async () => (await get(configuration)).status === 404)
  })

  it('is unknown while there is no application, and opens with the first one', async () => {
    for (const path of [configuration, '/api/auth/keys']) {
      const answer = await get(path)
      expect([path, answer.status, (await answer.json()).code]).toEqual([path, 404, 'not_found'])
    }
    await addApplication(latchkey)
    await until('the provider is open', async () => (await get(configuration)).status === 200)
  })

  it('says exactly what is supported, to every site, for a few minutes', async () => {
    const answer = await get(configuration, { origin: 'https://other.example' })
    expect(answer.headers.get('access-control-allow-origin')).toBe('*')
    expect(answer.headers.get('access-control-allow-credentials')).toBeNull()
    expect(answer.headers.get('cache-control')).toBe('public, max-age=300')
    const issuer = `${latchkey.config.publicUrl}/api/auth`
    expect(await answer.json()).toEqual({
      issuer,
      authorization_endpoint: `${issuer}/authorize`,
      token_endpoint: `${issuer}/token`,
      userinfo_endpoint: `${issuer}/userinfo`,
      jwks_uri: `${issuer}/keys`,
      revocation_endpoint: `${issuer}/revoke`,
      end_session_endpoint: `${issuer}/end-session`,
      scopes_supported: ['openid', 'profile', 'email', 'groups'],
      response_types_supported: ['code'],
      response_modes_supported: ['query'],
      grant_types_supported: ['authorization_code', 'refresh_token'],
      subject_types_supported: ['public'],
      acr_values_supported: ['1', '2'],
      id_token_signing_alg_values_supported: ['RS256', 'ES256'],
      token_endpoint_auth_methods_supported: ['client_secret_basic', 'client_secret_post', 'none'],
      revocation_endpoint_auth_methods_supported: ['client_secret_basic', 'client_secret_post', 'none'],
      code_challenge_methods_supported: ['S256'],
      claim_types_supported: ['normal'],
      claims_supported: expect.arrayContaining(['sub', 'auth_time', 'acr', 'amr', 'sid', 'email_verified', 'groups']),
      prompt_values_supported: ['none', 'login', 'consent', 'select_account'],
      ui_locales_supported: expect.arrayContaining(['en', 'de', 'fr']),
      claims_parameter_supported: true,
      request_parameter_supported: false,
      request_uri_parameter_supported: false,
      authorization_response_iss_parameter_supported: true,
      backchannel_logout_supported: true,
      backchannel_logout_session_supported: true,
    })
  })

  it('is found and taken by an outside library', async () => {
    const issuer = new URL(`${latchkey.config.publicUrl}/api/auth`)
    const answer = await discoveryRequest(issuer, { [allowInsecureRequests]: true })
    const found = await processDiscoveryResponse(issuer, answer)
    expect(found.issuer).toBe(issuer.href)
  })

  it('publishes a key for the algorithm of each application, and no private part', async () => {
    await addApplication(latchkey, { name: 'Other', algorithm: 'ES256' })
    const keySet = async () => (await (await get('/api/auth/keys')).json()) as { keys: Record<string, string>[] }
    await until('both keys are published', async () => (await keySet()).keys.length === 2)
    const answer = await get('/api/auth/keys')
    expect(answer.headers.get('access-control-allow-origin')).toBe('*')
    const { keys } = await keySet()
    expect(keys.map((key) => Object.keys(key).toSorted())).toEqual([
      ['alg', 'e', 'kid', 'kty', 'n', 'use'],
      ['alg', 'crv', 'kid', 'kty', 'use', 'x', 'y'],
    ])
  })

  it('is read by the scripts of every other site, and from memory while the database is away', async () => {
    const headers = {
      host: new URL(latchkey.url).host,
      origin: 'https://other.example',
      'sec-fetch-site': 'cross-site',
      'sec-fetch-mode': 'cors',
      'sec-fetch-dest': 'empty',
    }
    // With `fetch` a test could not say what a browser says about the page that sends it.
    const readByScript = async (url: string) => {
      const { statusCode, headers: answered, body } = await latchkey.app.server.inject({ url, headers })
      return { status: statusCode, allowed: answered['access-control-allow-origin'], body }
    }
    const paths = [configuration, '/api/auth/keys']
    const before = await Promise.all(paths.map(readByScript))
    expect(before).toMatchObject(paths.map(() => ({ status: 200, allowed: '*' })))
    await whileAway(latchkey.config.databaseUrl, async () => {
      expect(await Promise.all(paths.map(readByScript))).toEqual(before)
    })
  })
})

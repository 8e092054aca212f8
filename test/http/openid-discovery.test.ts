import { decodeJwt, decodeProtectedHeader } from 'jose'
import { allowInsecureRequests, discoveryRequest, processDiscoveryResponse } from 'oauth4webapi'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { languages } from '#contract/languages.js'
import { addApplication } from '../support/applications.js'
import { basic, postForm } from '../support/authorizations.js'
import type { Browser } from '../support/client.js'
import { whileAway } from '../support/databases.js'
import { type Latchkey, startLatchkey } from '../support/latchkey.js'
import { type OpenidApplication, openidApplication } from '../support/openid-application.js'
import { until } from '../support/until.js'

const deviceGrant = 'urn:ietf:params:oauth:grant-type:device_code'

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
    await addApplication(latchkey, { algorithm: 'RS256' })
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
      device_authorization_endpoint: `${issuer}/device`,
      end_session_endpoint: `${issuer}/end-session`,
      scopes_supported: ['openid', 'profile', 'email', 'groups', 'offline_access'],
      response_types_supported: ['code'],
      response_modes_supported: ['query'],
      grant_types_supported: ['authorization_code', 'refresh_token', deviceGrant],
      subject_types_supported: ['public'],
      acr_values_supported: ['1', '2'],
      id_token_signing_alg_values_supported: ['RS256', 'ES256'],
      token_endpoint_auth_methods_supported: ['client_secret_basic', 'client_secret_post', 'none'],
      revocation_endpoint_auth_methods_supported: ['client_secret_basic', 'client_secret_post', 'none'],
      code_challenge_methods_supported: ['S256'],
      claim_types_supported: ['normal'],
      claims_supported: expect.arrayContaining(['sub', 'auth_time', 'acr', 'amr', 'sid', 'email_verified', 'groups']),
      prompt_values_supported: ['none', 'login', 'consent', 'select_account'],
      ui_locales_supported: languages,
      claims_parameter_supported: true,
      request_parameter_supported: false,
      request_uri_parameter_supported: false,
      authorization_response_iss_parameter_supported: true,
      backchannel_logout_supported: true,
      backchannel_logout_session_supported: true,
      client_id_metadata_document_supported: false,
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

/* What the module of the conformance suite reads is tried here: each value that is listed works, and others do not. */
describe('oidcc-discovery-endpoint-verification', () => {
  let latchkey: Latchkey
  let notes: OpenidApplication
  let page: OpenidApplication
  let tab: Browser
  let listed: Record<string, string[]>
  beforeAll(async () => {
    latchkey = await startLatchkey()
    notes = await openidApplication(latchkey, { algorithm: 'RS256' })
    page = await openidApplication(latchkey, { name: 'Page', kind: 'browser', algorithm: 'ES256' })
    tab = await latchkey.signedUp('ada')
    await tab.send('PATCH', '/api/auth/account', { name: 'Ada' }, { csrf: true })
    listed = notes.server as unknown as Record<string, string[]>
  })
  afterAll(() => latchkey.stop())

  const errorOf = async (changed: Record<string, string>) => {
    const { state } = await notes.ask(tab, changed)
    return state.location === undefined ? undefined : (new URL(state.location).searchParams.get('error') ?? undefined)
  }
  /** Of the values of a parameter, those that are refused. */
  const refused = async (name: string, values: readonly string[]) => {
    const errors = await Promise.all(values.map(async (value) => [value, await errorOf({ [name]: value })] as const))
    return errors.filter(([, error]) => error?.startsWith('invalid_') || error?.startsWith('unsupported_'))
  }
  const newCode = async (application = notes) => {
    const asked = await application.ask(tab)
    const { code = '' } = application.told(asked)
    const { verifier: code_verifier } = asked.sent
    return { grant_type: 'authorization_code', code, redirect_uri: application.redirectAddress, code_verifier }
  }

  it('names itself, and addresses that answer', async () => {
    const { issuer } = notes.server
    expect(issuer).toBe(`${latchkey.config.publicUrl}/api/auth`)
    const addresses = Object.entries(notes.server).filter(([name]) => /_endpoint$|^jwks_uri$/.test(name))
    expect(addresses).toHaveLength(7)
    for (const [name, address] of addresses) {
      expect(String(address).startsWith(`${issuer}/`), name).toBe(true)
      const answer = await fetch(String(address), { method: /token|revocation/.test(name) ? 'POST' : 'GET' })
      expect([name, answer.status]).not.toEqual([name, 404])
    }
  })

  it.each([
    ['response_types_supported', 'response_type', ['token', 'id_token', 'code id_token', 'code token', 'none']],
    ['response_modes_supported', 'response_mode', ['fragment', 'form_post', 'query.jwt', 'web_message']],
    ['code_challenge_methods_supported', 'code_challenge_method', ['plain', 'S512', 's256']],
    ['prompt_values_supported', 'prompt', ['create', 'None']],
  ])('%s: %s is one of them', async (property, name, others) => {
    expect(await refused(name, listed[property] ?? [])).toEqual([])
    expect((await refused(name, others)).map(([value]) => value)).toEqual(others)
  })

  it('scopes_supported and claims_supported: all of them are given, and no others', async () => {
    const scope = [...(listed.scopes_supported ?? []), 'address', 'phone'].join(' ')
    const tokens = await notes.signIn(tab, { scope })
    // Only native programs get a session of their own, and with it `offline_access`.
    expect([...(tokens.scope?.split(' ') ?? []), 'offline_access']).toEqual(listed.scopes_supported)
    const told = { ...decodeJwt(tokens.id_token), ...(await notes.userInfo(tokens)) }
    expect(Object.keys(told).toSorted()).toEqual(listed.claims_supported?.toSorted())
    const claims = JSON.stringify({ userinfo: { name: null, phone_number: { essential: true } } })
    const asked = await notes.signIn(tab, { claims })
    expect(await notes.userInfo(asked)).toEqual({ sub: asked.claims.sub, name: 'Ada' })
  })

  it('grant_types_supported: others are refused', async () => {
    const { id, secret } = notes.application
    const grant = (form: Record<string, string>) => postForm(latchkey.url, '/api/auth/token', form, basic(id, secret))
    const { body } = await grant(await newCode())
    const refreshed = await grant({ grant_type: 'refresh_token', refresh_token: body.refresh_token ?? '' })
    expect([refreshed.status, listed.grant_types_supported]).toEqual([
      200,
      ['authorization_code', 'refresh_token', deviceGrant],
    ])
    expect((await grant({ grant_type: deviceGrant })).body.error).toBe('unauthorized_client')
    const others = ['password', 'client_credentials', 'implicit', 'urn:ietf:params:oauth:grant-type:token-exchange']
    for (const grant_type of others) expect((await grant({ grant_type })).body.error).toBe('unsupported_grant_type')
  })

  it('token_endpoint_auth_methods_supported and revocation_endpoint_auth_methods_supported: others are refused', async () => {
    const { id: client_id, secret: client_secret } = notes.application
    const withSecret = {
      client_secret_basic: { headers: basic(client_id, client_secret), form: {} },
      client_secret_post: { headers: {}, form: { client_id, client_secret } },
    }
    const none = { headers: {}, form: { client_id: page.application.id } }
    const methods: Record<string, { headers: Record<string, string>; form: Record<string, string> }> = {
      ...withSecret,
      none,
    }
    for (const property of ['token_endpoint_auth_methods_supported', 'revocation_endpoint_auth_methods_supported'])
      expect(listed[property]).toEqual(Object.keys(methods))
    for (const [name, { headers, form }] of Object.entries(methods)) {
      const code = await newCode(name === 'none' ? page : notes)
      const given = await postForm(latchkey.url, '/api/auth/token', { ...code, ...form }, headers)
      expect([name, given.status]).toEqual([name, 200])
      const token = given.body.refresh_token ?? ''
      const revoked = await postForm(latchkey.url, '/api/auth/revoke', { token, ...form }, headers)
      expect([name, revoked.status]).toEqual([name, 200])
    }
    const assertion = {
      client_id,
      client_assertion_type: 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer',
      client_assertion: 'a.b.c',
    }
    for (const path of ['token', 'revoke']) {
      const answer = await postForm(latchkey.url, `/api/auth/${path}`, {
        ...(await newCode()),
        token: 'x',
        ...assertion,
      })
      expect([path, answer.status, answer.body.error]).toEqual([path, 401, 'invalid_client'])
    }
  })

  it('id_token_signing_alg_values_supported: as the application has registered', async () => {
    const algorithms = await Promise.all(
      [notes, page].map(async (each) => decodeProtectedHeader((await each.signIn(tab)).id_token).alg),
    )
    expect(algorithms).toEqual(listed.id_token_signing_alg_values_supported)
  })

  it('ui_locales_supported: each is the language of the page', async () => {
    const languageOf = async (wanted: string) => {
      const html = await (await fetch(`${notes.issuer}/authorize?ui_locales=${wanted}`)).text()
      return /<html lang="(\w+)"/.exec(html)?.[1]
    }
    for (const language of [...(listed.ui_locales_supported ?? [])]) expect(await languageOf(language)).toBe(language)
    expect(await languageOf('tlh')).toBe('en')
  })

  it('what it says false about is refused in the words of the standard', async () => {
    expect(await errorOf({ request: 'a.b.c' })).toBe('request_not_supported')
    expect(await errorOf({ request_uri: 'https://notes.example.com/r' })).toBe('request_uri_not_supported')
  })
})

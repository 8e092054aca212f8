import { createHash } from 'node:crypto'
import { createRemoteJWKSet, decodeJwt, decodeProtectedHeader, jwtVerify, UnsecuredJWT } from 'jose'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { seconds } from '../../src/lib/durations.js'
import type { Browser } from '../support/client.js'
import { goodPassword, type Latchkey, startLatchkey } from '../support/latchkey.js'
import { type Asked, type OpenidApplication, openidApplication } from '../support/openid-application.js'
import type { Changed, Tokens } from '../support/openid-client.js'

/*
 * Our own version of the modules of the OpenID Foundation's conformance suite for the Basic profile: each test has the name of its
 * module. The suite sends no PKCE but in one module, and registers one application for each way of authentication.
 */

let latchkey: Latchkey
/** As the suite registers its first client: without PKCE. */
let notes: OpenidApplication
let other: OpenidApplication
/** Signed in as ada. */
let tab: Browser
beforeAll(async () => {
  latchkey = await startLatchkey()
  notes = await openidApplication(latchkey, { pkce: false, algorithm: 'RS256' })
  other = await openidApplication(latchkey, { name: 'Other' })
  tab = await latchkey.signedUp('ada')
  await tab.send('PATCH', '/api/auth/account', { name: 'Ada Lovelace' }, { csrf: true })
})
afterAll(() => latchkey.stop())

const withoutPkce = { code_challenge: null, code_challenge_method: null }
const ask = (changed: Changed = {}, browser = tab) => notes.ask(browser, { ...withoutPkce, ...changed })
const signIn = async (changed: Changed = {}, browser = tab) => notes.redeem(await ask(changed, browser))
const stepUp = async () => expect((await tab.act('/api/auth/step-up', { password: goodPassword })).status).toBe(200)

const form = (path: string, fields: Record<string, string>) =>
  fetch(`${notes.issuer}/${path}`, { method: 'POST', body: new URLSearchParams(fields) })
const userInfo = (method: string, { access_token }: Tokens) =>
  fetch(`${notes.issuer}/userinfo`, { method, headers: { authorization: `Bearer ${access_token}` } })

/** What every error at the redirect address has in common: `state` and `iss`, no code, and a text in the characters of the standard. */
const expectError = (asked: Asked, ...errors: string[]) => {
  const { error = '', error_description = '', ...rest } = notes.told(asked)
  expect(errors).toContain(error)
  expect(error_description).toMatch(/^[\x20-\x21\x23-\x5b\x5d-\x7e]*$/)
  const { state } = asked.sent
  expect(rest).toEqual(state === '' ? { iss: notes.issuer } : { iss: notes.issuer, state })
}

describe('the code flow', () => {
  it('oidcc-server: a code becomes tokens that hold together, and the ID token says nothing that was not asked for', async () => {
    const asked = await ask()
    const { code = '', ...rest } = notes.told(asked)
    expect(rest).toEqual({ state: asked.sent.state, iss: notes.issuer })
    // 128 bits, in six bits for each character.
    expect(new Set(code).size).toBeGreaterThan(15)
    expect(code.length).toBeGreaterThanOrEqual(22)
    const response = await notes.exchange(asked.sent, asked.state.location ?? '')
    expect(response.headers.get('content-type')).toMatch(/^application\/json/)
    expect([response.headers.get('cache-control'), response.headers.get('pragma')]).toEqual(['no-store', 'no-cache'])
    const tokens = (await response.json()) as Tokens
    expect(tokens).toMatchObject({ token_type: 'Bearer', expires_in: 900, scope: 'openid' })
    const claims = decodeJwt(tokens.id_token)
    const hash = createHash('sha256').update(tokens.access_token).digest().subarray(0, 16).toString('base64url')
    expect(claims).toEqual({
      iss: notes.issuer,
      aud: notes.application.id,
      sub: expect.any(String),
      sid: expect.any(String),
      iat: expect.any(Number),
      exp: Number(claims.iat) + 600,
      auth_time: expect.any(Number),
      acr: '1',
      amr: ['pwd'],
      nonce: asked.sent.nonce,
      at_hash: hash,
    })
  })

  it('oidcc-server-client-secret-post: the same with the secret in the form', async () => {
    const asked = await ask()
    const { code = '' } = notes.told(asked)
    const { id: client_id, secret: client_secret } = notes.application
    const grant = { grant_type: 'authorization_code', code, redirect_uri: notes.redirectAddress }
    const answer = await form('token', { ...grant, client_id, client_secret })
    expect([answer.status, decodeJwt((await answer.json()).id_token).aud]).toEqual([200, client_id])
  })

  it('oidcc-ensure-request-with-valid-pkce-succeeds', async () => {
    expect((await notes.signIn(tab)).claims.aud).toBe(notes.application.id)
    expect((await other.signIn(tab)).claims.aud).toBe(other.application.id)
  })

  it('oidcc-idtoken-signature: RS256 where it was registered, with the id of a published key', async () => {
    const { id_token } = await signIn()
    expect(decodeProtectedHeader(id_token)).toEqual({ alg: 'RS256', kid: expect.any(String), typ: 'JWT' })
    const keys = createRemoteJWKSet(new URL(notes.server.jwks_uri ?? ''))
    const currentDate = latchkey.clock.now()
    const expected = { issuer: notes.issuer, audience: notes.application.id, algorithms: ['RS256'], currentDate }
    expect((await jwtVerify(id_token, keys, expected)).payload.sub).toEqual(expect.any(String))
  })

  it('oidcc-idtoken-unsigned: the suite leaves it out, because discovery offers no unsigned ID tokens', () => {
    expect(notes.server.id_token_signing_alg_values_supported).toEqual(['RS256', 'ES256'])
  })

  it('oidcc-ensure-request-without-nonce-succeeds-for-code-flow', async () => {
    expect((await signIn({ nonce: null })).claims.nonce).toBeUndefined()
  })

  it('oidcc-codereuse: a code works once', async () => {
    const asked = await ask()
    const tokens = await notes.redeem(asked)
    const again = await notes.exchange(asked.sent, asked.state.location ?? '')
    expect([again.status, (await again.json()).error]).toEqual([400, 'invalid_grant'])
    expect((await userInfo('GET', tokens)).status).toBe(401)
  })

  it('oidcc-codereuse-30seconds: a second use later ends what the first one gave, with PKCE too', async () => {
    const asked = await other.ask(tab)
    const tokens = await other.redeem(asked)
    const exchangeAgain = async () => {
      const again = await other.exchange(asked.sent, asked.state.location ?? '')
      return [again.status, (await again.json()).error]
    }
    // A program whose answer was lost: refused, and nothing has ended.
    expect(await exchangeAgain()).toEqual([400, 'invalid_grant'])
    expect((await userInfo('GET', tokens)).status).toBe(200)
    await latchkey.advance(30 * seconds)
    expect(await exchangeAgain()).toEqual([400, 'invalid_grant'])
    expect((await userInfo('GET', tokens)).status).toBe(401)
    await expect(other.refresh(tokens)).rejects.toMatchObject({ error: 'invalid_grant' })
  })

  it('oidcc-refresh-token: new tokens for the same user, and not for another application', async () => {
    // The user is asked, although this application needs no consent.
    const asked = await ask({ scope: 'openid offline_access', prompt: 'consent' })
    expect(asked.state.next).toBe('consent')
    const before = await notes.redeem(await notes.answer(tab, asked, 'continue'))
    expect(before.refresh_token).toMatch(/^[\x20-\x7e]{22,}$/)
    await latchkey.advance(1 * seconds)
    // The suite sends the same scopes again. Unknown scopes are ignored, as before; a scope that was not granted is refused.
    await expect(notes.refresh(before, 'openid email')).rejects.toMatchObject({ status: 400, error: 'invalid_scope' })
    const after = await notes.refresh(before, 'openid offline_access')
    expect(after.scope).toBe('openid')
    expect(after.access_token).not.toBe(before.access_token)
    const { iat, exp, at_hash, nonce, ...same } = before.claims
    expect(after.claims).toMatchObject(same)
    expect(after.claims.iat).toBeGreaterThan(iat)
    expect((await userInfo('GET', after)).status).toBe(200)
    await expect(other.refresh(after)).rejects.toMatchObject({ status: 400, error: 'invalid_grant' })
    // The wrong application has ended nothing.
    expect((await notes.refresh(after)).claims.sub).toBe(same.sub)
  })
})

describe('UserInfo', () => {
  const expectUser = async (answer: Response, { claims: { sub } }: Tokens) => {
    expect(answer.status).toBe(200)
    expect(answer.headers.get('content-type')).toMatch(/^application\/json/)
    expect(await answer.json()).toEqual({ sub })
  }

  it('oidcc-userinfo-get', async () => {
    const tokens = await signIn()
    await expectUser(await userInfo('GET', tokens), tokens)
  })

  it('oidcc-userinfo-post-header', async () => {
    const tokens = await signIn()
    await expectUser(await userInfo('POST', tokens), tokens)
  })

  it('oidcc-userinfo-post-body', async () => {
    const tokens = await signIn()
    await expectUser(await form('userinfo', { access_token: tokens.access_token }), tokens)
  })
})

describe('scopes and claims', () => {
  const profile = { name: 'Ada Lovelace', preferred_username: 'ada' }
  const email = { email: 'ada@example.com', email_verified: true }

  it.each([
    ['oidcc-scope-profile', 'openid profile', profile],
    ['oidcc-scope-email', 'openid email', email],
    ['oidcc-alternate-happy-flow: in another order', 'email openid', email],
    // The suite leaves these three out, because discovery does not offer `address` and `phone`. A request must not fail by them.
    ['oidcc-scope-address', 'openid address', {}],
    ['oidcc-scope-phone', 'openid phone', {}],
    ['oidcc-scope-all', 'openid email phone address profile', { ...email, ...profile }],
  ])('%s', async (_, scope, expected) => {
    const tokens = await signIn({ scope })
    expect(await notes.userInfo(tokens)).toEqual({ sub: tokens.claims.sub, ...expected })
  })

  it('oidcc-alternate-happy-flow: the parameters in another order', async () => {
    const { parameters } = await notes.request(withoutPkce)
    const reversed = new URLSearchParams([...parameters].toReversed()).toString()
    const { body } = await tab.post('/api/auth/authorization', { parameters: reversed })
    expect(body).toMatchObject({ next: 'done', location: expect.stringContaining('code=') })
  })

  it('oidcc-claims-essential: a claim by its name is in UserInfo, and not in the ID token', async () => {
    const tokens = await signIn({ claims: JSON.stringify({ userinfo: { name: { essential: true } } }) })
    expect(await notes.userInfo(tokens)).toEqual({ sub: tokens.claims.sub, name: 'Ada Lovelace' })
    expect(tokens.claims).not.toHaveProperty('name')
  })
})

describe('parameters of the request', () => {
  it('oidcc-response-type-missing', async () => {
    expectError(await ask({ response_type: null }), 'invalid_request', 'unsupported_response_type')
  })

  it.each([
    ['oidcc-display-page', { display: 'page' }],
    ['oidcc-display-popup', { display: 'popup' }],
    ['oidcc-ensure-request-with-unknown-parameter-succeeds', { extra: 'foobar' }],
    ['oidcc-login-hint', { login_hint: 'ada@example.com' }],
    ['oidcc-ui-locales', { ui_locales: 'se' }],
    ['oidcc-claims-locales', { claims_locales: 'se' }],
    ['oidcc-ensure-request-with-acr-values-succeeds', { acr_values: '1 2' }],
  ])('%s', async (_, changed) => {
    expect((await signIn(changed)).claims.acr).toBe('1')
  })

  it('oidcc-ui-locales: the page is in the first language that it has', async () => {
    const page = await latchkey.browser().get('/api/auth/authorize?ui_locales=se%20fr%20de')
    expect(page.text).toContain('<html lang="fr">')
  })

  it('oidcc-ensure-post-request-succeeds: the page posts on what it was sent', async () => {
    const sent = await notes.request(withoutPkce)
    const page = await fetch(`${notes.issuer}/authorize`, { method: 'POST', body: sent.parameters })
    const [, settings = '{}'] = /id="settings">(.*?)<\/script>/s.exec(await page.text()) ?? []
    const { parameters } = JSON.parse(settings) as { parameters: string }
    const { body } = await tab.post('/api/auth/authorization', { parameters })
    expect((await notes.redeem({ sent, state: body as Asked['state'] })).claims.nonce).toBe(sent.nonce)
  })

  it('oidcc-ensure-registered-redirect-uri: only the user is told', async () => {
    const { parameters } = await notes.request({ ...withoutPkce, redirect_uri: `${notes.redirectAddress}/abc` })
    const { status, body } = await tab.post('/api/auth/authorization', { parameters: parameters.toString() })
    expect([status, body.code, body.location]).toEqual([400, 'redirect_not_registered', undefined])
  })

  it('oidcc-unsigned-request-object-supported-correctly-or-rejected-as-unsupported', async () => {
    const request = new UnsecuredJWT({ scope: 'openid' }).setIssuer(notes.application.id).encode()
    expectError(await ask({ request }), 'request_not_supported')
  })

  it('oidcc-request-uri-unsigned-supported-correctly-or-rejected-as-unsupported', async () => {
    // As the suite sends it: everything else is in the object, `state` too.
    const request_uri = 'https://notes.example.com/request.jwt'
    expectError(await ask({ request_uri, state: null, nonce: null }), 'request_uri_not_supported')
  })

  it('oidcc-ensure-request-object-with-redirect-uri: the address in the object does not count', async () => {
    const request = new UnsecuredJWT({ redirect_uri: notes.redirectAddress }).encode()
    const changed = { ...withoutPkce, request, redirect_uri: `${notes.redirectAddress}/abc` }
    const { parameters } = await notes.request(changed)
    const { status, body } = await tab.post('/api/auth/authorization', { parameters: parameters.toString() })
    expect([status, body.code]).toEqual([400, 'redirect_not_registered'])
  })
})

describe('who is signed in, and since when', () => {
  const sameUser = (first: Tokens, second: Tokens) => {
    const { sub, auth_time } = first.claims
    expect(second.claims).toMatchObject({ sub, auth_time })
  }

  it('oidcc-prompt-none-not-logged-in: an error, and a long state comes back as it was', async () => {
    const state = createHash('sha512').update('state').digest('hex')
    const asked = await ask({ prompt: 'none', state }, latchkey.browser())
    expectError(asked, 'login_required', 'interaction_required')
    expect(notes.told(asked).state).toHaveLength(128)
  })

  it('oidcc-prompt-none-logged-in: nothing is asked', async () => {
    sameUser(await signIn(), await signIn({ prompt: 'none' }))
  })

  it('oidcc-id-token-hint: of the signed-in user', async () => {
    const first = await signIn()
    sameUser(first, await signIn({ prompt: 'none', id_token_hint: first.id_token }))
  })

  it('oidcc-max-age-10000: a proof that is young enough is not asked for again', async () => {
    const first = await signIn({ max_age: '15000' })
    expect(first.claims.auth_time).toEqual(expect.any(Number))
    sameUser(first, await signIn({ max_age: '10000' }))
  })

  it.each([
    ['oidcc-prompt-login', { prompt: 'login' }],
    ['oidcc-max-age-1', { max_age: '1' }],
  ])('%s: a new proof is asked for, and its time is in the ID token', async (_, changed) => {
    const first = await signIn()
    await latchkey.advance(2 * seconds)
    const asked = await ask(changed)
    expect(asked.state.next).toBe('prove')
    await latchkey.advance(1 * seconds)
    await stepUp()
    const second = await notes.redeem(await notes.resume(tab, asked))
    expect(second.claims.sub).toBe(first.claims.sub)
    expect(second.claims.auth_time).toBeGreaterThan(Number(first.claims.auth_time))
  })
})

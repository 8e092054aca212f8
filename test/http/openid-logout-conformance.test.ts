import { createHash, generateKeyPairSync } from 'node:crypto'
import { createRemoteJWKSet, decodeJwt, jwtVerify, SignJWT, UnsecuredJWT } from 'jose'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Browser } from '../support/client.js'
import { goodPassword, type Latchkey, startLatchkey } from '../support/latchkey.js'
import { type LogoutReceiver, startLogoutReceiver } from '../support/logout-receiver.js'
import { type OpenidApplication, openidApplication } from '../support/openid-application.js'
import type { Tokens } from '../support/openid-client.js'

/* Our own version of the modules of the OpenID Foundation's conformance suite for logout: each test has the name of its module. */

let latchkey: Latchkey
let receiver: LogoutReceiver
let notes: OpenidApplication
beforeAll(async () => {
  receiver = await startLogoutReceiver()
  latchkey = await startLatchkey()
  notes = await openidApplication(latchkey, { backchannelLogout: receiver.url })
  await latchkey.signedUp('ada')
})
afterAll(async () => {
  await latchkey.stop()
  await receiver.stop()
})

const signIn = async () => {
  const tab = latchkey.browser()
  await tab.post('/login', { username: 'ada', password: goodPassword })
  return { tab, tokens: await notes.signIn(tab) }
}

/** The suite asks the provider in silence whether a user is signed in. */
const isSignedIn = async (tab: Browser) => {
  const { code, error } = notes.told(await notes.ask(tab, { prompt: 'none' }))
  if (code === undefined) expect(error).toBe('login_required')
  return code !== undefined
}

const state = createHash('sha512').update('state').digest('hex')
const usual = ({ id_token }: Tokens) => ({
  id_token_hint: id_token,
  post_logout_redirect_uri: notes.logoutAddress,
  state,
})
const without = (parameters: Record<string, string>, ...names: string[]) =>
  Object.fromEntries(Object.entries(parameters).filter(([name]) => !names.includes(name)))

describe('discovery', () => {
  it.each([
    'oidcc-rp-initiated-logout-discovery-endpoint-verification',
    'oidcc-backchannel-logout-discovery-endpoint-verification',
  ])('%s', () => {
    expect(notes.server).toMatchObject({
      end_session_endpoint: `${notes.issuer}/end-session`,
      backchannel_logout_supported: true,
      backchannel_logout_session_supported: true,
    })
  })
})

describe('an application that signs its user out', () => {
  it.each([
    ['oidcc-rp-initiated-logout', [], `?state=${state}`],
    ['oidcc-rp-initiated-logout-no-state', ['state'], ''],
  ] as const)('%s: the user is back at the application, and signed out', async (_, left, query) => {
    const { tab, tokens } = await signIn()
    const ended = await notes.endSession(tab, without(usual(tokens), ...left))
    expect(ended).toMatchObject({ next: 'done', location: `${notes.logoutAddress}${query}` })
    expect(await isSignedIn(tab)).toBe(false)
  })

  it('oidcc-rp-initiated-logout-no-post-logout-redirect-uri: the user is signed out and stays on our page', async () => {
    const { tab, tokens } = await signIn()
    const ended = await notes.endSession(tab, without(usual(tokens), 'post_logout_redirect_uri'))
    expect([ended.next, ended.location]).toEqual(['done', undefined])
    expect(await isSignedIn(tab)).toBe(false)
  })

  /** Signed by another key, with claims that are right. */
  const foreign = ({ id_token }: Tokens) =>
    new SignJWT(decodeJwt(id_token))
      .setProtectedHeader({ alg: 'ES256' })
      .sign(generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey)

  it.each<[string, (tokens: Tokens) => Record<string, string> | Promise<Record<string, string>>]>([
    ['oidcc-rp-initiated-logout-no-params', () => ({})],
    ['oidcc-rp-initiated-logout-only-state', () => ({ state })],
    ['oidcc-rp-initiated-logout-no-id-token-hint', (tokens) => without(usual(tokens), 'id_token_hint')],
    [
      'oidcc-rp-initiated-logout-bad-post-logout-redirect-uri',
      (tokens) => ({ ...usual(tokens), post_logout_redirect_uri: 'https://notes.example.com/other' }),
    ],
    [
      'oidcc-rp-initiated-logout-query-added-to-post-logout-redirect-uri',
      (tokens) => ({ ...usual(tokens), post_logout_redirect_uri: `${notes.logoutAddress}?foo=bar` }),
    ],
    [
      'oidcc-rp-initiated-logout-modified-id-token-hint',
      (tokens) => ({ ...usual(tokens), id_token_hint: new UnsecuredJWT(decodeJwt(tokens.id_token)).encode() }),
    ],
    [
      'oidcc-rp-initiated-logout-bad-id-token-hint',
      async (tokens) => ({ ...usual(tokens), id_token_hint: await foreign(tokens) }),
    ],
  ])('%s: the user is asked, and does not return to the application', async (_, parametersOf) => {
    const { tab, tokens } = await signIn()
    const parameters = await parametersOf(tokens)
    const asked = await notes.endSession(tab, parameters)
    expect([asked.next, asked.location]).toEqual(['ask', undefined])
    expect(await isSignedIn(tab)).toBe(true)
    const ended = await notes.endSession(tab, parameters, true)
    expect([ended.next, ended.location]).toEqual(['done', undefined])
    expect(await isSignedIn(tab)).toBe(false)
  })

  it('oidcc-backchannel-rp-initiated-logout: the application is told by a token that names the session', async () => {
    const { tab, tokens } = await signIn()
    const { sub, sid } = tokens.claims
    expect(await notes.endSession(tab, usual(tokens))).toMatchObject({ next: 'done', location: expect.any(String) })
    await expect.poll(receiver.sids).toContain(sid)
    const notice = receiver.received.find(({ claims }) => claims.sid === sid)
    expect(notice?.type).toMatch(/^application\/x-www-form-urlencoded\b/)
    const keys = createRemoteJWKSet(new URL(notes.server.jwks_uri ?? ''))
    const { payload, protectedHeader } = await jwtVerify(notice?.token ?? '', keys, {
      issuer: notes.issuer,
      audience: notes.application.id,
      currentDate: latchkey.clock.now(),
      requiredClaims: ['iat', 'exp', 'jti'],
    })
    // OpenID Connect Back-Channel Logout 1.0, 2.4: the type, one event, and never a `nonce`, so that it is no ID token.
    expect(protectedHeader.typ).toBe('logout+jwt')
    expect(payload).toMatchObject({ sub, sid, events: { 'http://schemas.openid.net/event/backchannel-logout': {} } })
    expect(payload).not.toHaveProperty('nonce')
    expect(await isSignedIn(tab)).toBe(false)
  })
})

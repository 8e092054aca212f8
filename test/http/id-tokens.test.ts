import { createHash } from 'node:crypto'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createRemoteJWKSet, decodeProtectedHeader, jwtVerify } from 'jose'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createVerifier } from '#verify/verify.js'
import { applicationIssuer } from '../../src/applications/applications.js'
import { createLoadedApplicationKeys } from '../../src/keys/signed-token.js'
import { createSigningKeys, idTokenKeys } from '../../src/keys/signing-keys.js'
import { days } from '../../src/lib/durations.js'
import { createIdTokens, createLogoutTokens, type TokenContent } from '../../src/openid/token/id-tokens.js'
import { userInfoOf } from '../../src/openid/token/user-claims.js'
import { newServiceKey } from '../../src/programs/service-keys.js'
import { addApplication } from '../support/applications.js'
import { type Latchkey, startLatchkey } from '../support/latchkey.js'
import { until } from '../support/until.js'

const sid = '0190c0de-0000-7000-8000-000000000002'
const subject = {
  id: '0190c0de-0000-7000-8000-000000000001',
  username: 'ada',
  name: 'Ada Lovelace',
  email: 'ada@example.com',
  emailProven: true,
  groups: ['staff', 'admins'],
  fields: {},
}
const content: TokenContent = {
  nonce: 'n-1',
  authTime: 1_700_000_000,
  methods: ['pwd', 'rec'],
  secondFactor: true,
  scopes: ['openid', 'profile', 'email', 'groups'],
}
const accessToken = 'an-opaque-token'
const serviceKey = newServiceKey('billing')

/** Another instance of the service, without HTTP: its tokens are signed with the keys that the service publishes. */
const tokensAt = ({ app, clock, sql: database, config }: Latchkey) => {
  const { sealedValues } = app.rooms
  const applicationKeys = createSigningKeys(idTokenKeys, { database, clock, sealedValues })
  const loaded = createLoadedApplicationKeys({ applicationKeys, clock, log: app.log })
  const signing = { applicationKeys: loaded, clock, issuer: applicationIssuer(config.publicUrl) }
  return { idTokens: createIdTokens(signing), logoutTokens: createLogoutTokens(signing) }
}

describe('ID tokens and logout tokens', () => {
  let latchkey: Latchkey
  let tokens: ReturnType<typeof tokensAt>
  let folder: string
  const applications = {} as Record<'RS256' | 'ES256', Awaited<ReturnType<typeof addApplication>>>
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'latchkey-keys-'))
    const file = join(folder, 'keys')
    await writeFile(file, `${serviceKey.line}\n`)
    latchkey = await startLatchkey({ settings: { ACCESS_TOKEN_ALGORITHM: 'ES256', SERVICE_KEYS_FILE: file } })
    applications.RS256 = await addApplication(latchkey, { algorithm: 'RS256' })
    applications.ES256 = await addApplication(latchkey, { name: 'Other', algorithm: 'ES256' })
    tokens = tokensAt(latchkey)
    await until('the keys are published', async () => (await fetch(`${latchkey.url}/api/auth/keys`)).status === 200)
  })
  afterAll(async () => {
    await latchkey.stop()
    await rm(folder, { recursive: true, force: true })
  })
  const issue = (algorithm: 'RS256' | 'ES256', given: Partial<TokenContent> = {}) =>
    tokens.idTokens.issue({
      client: applications[algorithm],
      subject,
      sid,
      content: { ...content, ...given },
      accessToken,
    })
  /** As an application does it, with the keys that it finds. */
  const readByApplication = (token: string, algorithm: 'RS256' | 'ES256', typ: string) =>
    jwtVerify(token, createRemoteJWKSet(new URL(`${latchkey.url}/api/auth/keys`)), {
      issuer: `${latchkey.url}/api/auth`,
      audience: applications[algorithm].id,
      algorithms: [algorithm],
      typ,
    })

  it.each(['RS256', 'ES256'] as const)('are taken by an outside library, signed with %s', async (algorithm) => {
    const { payload } = await readByApplication(await issue(algorithm), algorithm, 'JWT')
    const half = createHash('sha256').update(accessToken).digest().subarray(0, 16).toString('base64url')
    expect(payload).toEqual({
      iss: `${latchkey.url}/api/auth`,
      aud: applications[algorithm].id,
      sub: subject.id,
      sid,
      iat: expect.any(Number),
      exp: (payload.iat ?? 0) + 600,
      auth_time: 1_700_000_000,
      acr: '2',
      amr: ['pwd', 'otp', 'mfa'],
      nonce: 'n-1',
      at_hash: half,
      name: 'Ada Lovelace',
      preferred_username: 'ada',
      email: 'ada@example.com',
      email_verified: true,
      groups: ['admins', 'staff'],
    })
  })

  it('tell an application only what it has asked for, and UserInfo the same', async () => {
    const { payload } = await readByApplication(
      await issue('ES256', { scopes: ['openid'], methods: ['provider'], secondFactor: false }),
      'ES256',
      'JWT',
    )
    const names = ['acr', 'at_hash', 'aud', 'auth_time', 'exp', 'iat', 'iss', 'nonce', 'sid', 'sub']
    expect(Object.keys(payload).toSorted()).toEqual(names)
    expect(payload.acr).toBe('1')
    const claims = { idToken: ['email'], userinfo: ['groups', 'email_verified'] }
    const asked = { ...content, scopes: ['openid'], claims }
    const byClaims = await readByApplication(await issue('ES256', asked), 'ES256', 'JWT')
    expect(Object.keys(byClaims.payload).filter((name) => !names.includes(name))).toEqual(['email', 'amr'])
    const unproven = { ...subject, name: null, emailProven: false }
    expect(userInfoOf(unproven, asked)).toEqual({
      sub: subject.id,
      email_verified: false,
      groups: ['admins', 'staff'],
    })
    expect(userInfoOf(unproven, { scopes: ['openid', 'profile'] })).toEqual({
      sub: subject.id,
      preferred_username: 'ada',
    })
  })

  it('need the time of a proof', async () => {
    await expect(issue('ES256', { authTime: 0 })).rejects.toThrow('the time of a proof')
  })

  it('tell of a logout', async () => {
    const told = { client: applications.RS256, sid, userId: subject.id }
    const token = await tokens.logoutTokens.issue(told)
    const { payload } = await readByApplication(token, 'RS256', 'logout+jwt')
    expect(payload).toEqual({
      iss: `${latchkey.url}/api/auth`,
      aud: applications.RS256.id,
      sub: subject.id,
      sid,
      iat: expect.any(Number),
      exp: (payload.iat ?? 0) + 120,
      jti: expect.any(String),
      events: { 'http://schemas.openid.net/event/backchannel-logout': {} },
    })
    const again = await readByApplication(await tokens.logoutTokens.issue(told), 'RS256', 'logout+jwt')
    expect(again.payload.jti).not.toBe(payload.jti)
    expect(await tokens.idTokens.readHint(token)).toBeUndefined()
  })

  it('come back as a hint, also after they have expired, and no other token does', async () => {
    const tab = await latchkey.signedUp('bob')
    const token = await issue('RS256')
    await latchkey.advance(1 * days)
    const named = { clientId: applications.RS256.id, userId: subject.id, sid }
    expect(await tokens.idTokens.readHint(token)).toEqual(named)
    for (const cookie of ['access_token', 'refresh_token'])
      expect(await tokens.idTokens.readHint(tab.jar.get(cookie) ?? '')).toBeUndefined()
  })

  it('open no other door', async () => {
    const tab = await latchkey.signedUp('cleo')
    expect(decodeProtectedHeader(tab.jar.get('access_token') ?? '').alg).toBe('ES256')
    const about = { client: applications.ES256, sid, userId: subject.id }
    const foreign = [await issue('RS256'), await issue('ES256'), await tokens.logoutTokens.issue(about)]
    const now = () => latchkey.clock.now().getTime()
    const verifier = createVerifier({ publicUrl: latchkey.url, serviceUrl: latchkey.url, jwks: true, now })
    expect(await verifier.verifyToken(tab.jar.get('access_token') ?? '')).toMatchObject({ ok: true })
    const asService = async (bearer: string) => {
      const headers = { authorization: `Bearer ${bearer}` }
      return (await fetch(`${latchkey.url}/api/service/users/${subject.id}`, { headers })).status
    }
    // There is no such user, and only a program with a key is told so.
    expect(await asService(serviceKey.key)).toBe(404)
    for (const token of foreign) {
      const { typ } = decodeProtectedHeader(token)
      const browser = latchkey.browser()
      browser.jar.set('access_token', token)
      const checks = [(await browser.get('/api/auth/me')).status, (await browser.get('/api/auth/verify')).status]
      browser.jar.set('refresh_token', token)
      const refreshed = (await browser.post('/api/auth/refresh')).status
      expect({ typ, checks, refreshed, bearer: await asService(token) }).toEqual({
        typ,
        checks: [401, 401],
        refreshed: 401,
        bearer: 401,
      })
      expect(await verifier.verifyToken(token)).toMatchObject({ ok: false })
    }
    verifier.close()
  })
})
